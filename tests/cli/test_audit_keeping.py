"""``lockgate audit prune`` and ``archive``, and verifying what they leave."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockgate.cli.main import cli
from lockgate.store.rows import SessionRow
from lockgate.store.sqlite.store import SqliteStore
from support.commands import invoked
from support.unguarded import unguarded

DAY = 86400.0
OLD, YOUNG = 2500, 7


@pytest.fixture
def state(home: Path) -> Path:
    """More old records than one transaction removes, and a few young ones."""
    folder = home / ".local" / "state" / "lockgate"
    store = SqliteStore.open(str(folder))
    now = time.time()
    with store.transaction() as tx:
        for number in range(OLD):
            tx.append_audit(now - 40 * DAY + number, {"event": "prompt", "session": "old", "n": number})
        for number in range(YOUNG):
            tx.append_audit(now - 10 * DAY + number, {"event": "prompt", "session": "young", "n": number})
    store.close()
    return folder


run = partial(invoked, "audit")


def verified(*arguments: str, code: int = 0) -> dict[str, object]:
    told: dict[str, object] = json.loads(run("verify", "--json", *arguments, code=code).output)
    return told


def test_pruning_leaves_a_chain_that_verifies_and_tells_of_it(state: Path) -> None:
    assert run("prune", "--keep-days", "50").output == "nothing is old enough to be removed\n"
    told = run("prune", "--keep-days", "30").output
    assert told == f"removed records 1 to {OLD}; the chain begins with a checkpoint now\n"
    found = verified()
    # Each transaction that removed something has left a record.
    assert (found["ok"], found["records"], found["begins_after"]) == (True, YOUNG + 2, OLD)
    assert run("verify").output.startswith(f"the audit chain holds: {YOUNG + 2} records, from {OLD + 1} on")
    shown = [json.loads(line) for line in run("show", "--json", "--limit", "99").output.splitlines()]
    assert [row["body"]["event"] for row in shown] == ["prompt"] * YOUNG + ["pruned"] * 2
    assert shown[-1]["body"]["checkpoint"]["seq"] == OLD
    assert f"by command, up to {OLD}\n" in run("show").output
    assert run("prune", "--keep-days", "30").output == "nothing is old enough to be removed\n"


@pytest.mark.parametrize("command", ["prune", "archive"])
def test_a_chain_that_the_state_contradicts_is_not_shortened(state: Path, command: str) -> None:
    """Its records are all that tells of a person's no which somebody has deleted."""
    now = time.time()
    with closing(SqliteStore.open(str(state))) as store, store.transaction() as tx:
        tx.put_session(SessionRow("old", started_at=now - 40 * DAY))
        tx.append_audit(now - 39 * DAY, {"event": "deny", "approval": "k2v7m9qxwp", "session": "old", "digest": "d"})
    before = verified(code=1)
    said = run(command, "--keep-days", "0", code=1).output
    assert "nothing was removed: the state is not what the audit tells" in said
    assert verified(code=1) == before


def test_archives_verify_alone_and_with_the_rest_as_one_chain(state: Path, tmp_path: Path) -> None:
    first = json.loads(run("archive", "--keep-days", "30", "--json").output)
    assert (first["removed"], first["first"], first["last"]) == (OLD, 1, OLD)
    second = json.loads(run("archive", "--keep-days", "0", "--json").output)
    assert second["first"] == OLD + 1
    archives = [first["archive"], second["archive"]]
    assert sorted(path.name for path in (state / "archive").iterdir()) == [Path(path).name for path in archives]
    assert (state / "archive").stat().st_mode & 0o777 == 0o700
    assert {Path(path).stat().st_mode & 0o777 for path in archives} == {0o600}
    rest = tmp_path / "rest.jsonl"
    run("export", "--output", str(rest))
    whole = verified(*archives, str(rest))
    head = json.loads(rest.read_text().splitlines()[-1])["head"]["seq"]
    assert (whole["ok"], whole["records"], whole["seal_checked"]) == (True, head, True)
    assert verified(*archives, "--then-state") == whole
    assert run("verify", archives[0]).output.endswith(f"{OLD} records\nthis is an archive: the chain goes on\n")
    assert verified(archives[1], "--then-state")["ok"]
    assert "does not begin there" in str(verified(archives[0], "--then-state", code=1)["problem"])
    assert "does not begin there" in str(verified(*reversed(archives), code=1)["problem"])
    # The chain itself says which file the records went to.
    rows = [json.loads(line) for line in rest.read_text().splitlines()[1:-1]]
    assert rows[-1]["body"]["archive"] == {"file": Path(archives[1]).name, "sha256": second["sha256"]}


def test_a_pruned_archive_file_of_ones_own(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "kept.gz"
    day = time.strftime("%Y-%m-%d", time.localtime(time.time() - 20 * DAY))
    told = run("prune", "--before", day, "--archive", str(file)).output
    assert f"they are kept in {file}\nsha256 " in told
    assert verified(str(file), "--then-state")["ok"]
    assert "is there already" in run("prune", "--keep-days", "0", "--archive", str(file), code=1).output
    assert verified()["begins_after"] == OLD


def test_a_chain_that_does_not_hold_is_not_shortened(state: Path, tmp_path: Path) -> None:
    store = SqliteStore.open(str(state))
    with unguarded(store._connection) as connection:
        connection.execute("UPDATE audit SET body = '{}' WHERE seq = 2503")
    store.close()
    for command in (["prune"], ["prune", "--archive", str(tmp_path / "a")], ["archive"]):
        said = run(*command, "--keep-days", "30", code=1).output
        assert "nothing was removed: the audit chain does not hold: record 2503 was changed" in said
    assert not (state / "archive").exists()
    assert verified(code=1)["records"] == 2502


def test_an_agent_may_not_shorten_it(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    for command in ("prune", "archive"):
        assert "only a person may shorten the audit" in run(command, "--keep-days", "0", code=1).output
    assert verified()["records"] == OLD + YOUNG


@pytest.mark.parametrize(
    "arguments",
    [
        ["prune"],
        ["archive"],
        ["prune", "--keep-days", "1", "--before", "2026-01-01"],
        ["prune", "--before", "yesterday"],
        ["prune", "--before", "0001-01-01"],
        ["prune", "--keep-days", "-1"],
        ["verify", "--then-state"],
        ["verify", "--foreign", "--then-state", "FILE"],
    ],
)
def test_usage_errors_are_status_2_and_remove_nothing(state: Path, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "file").write_text("")
    run(*(str(tmp_path / "file") if word == "FILE" else word for word in arguments), code=2)
    assert verified()["records"] == OLD + YOUNG


@pytest.mark.parametrize("command", ["prune", "archive"])
def test_where_nothing_was_recorded_nothing_is_made(home: Path, command: str) -> None:
    assert run(command, "--keep-days", "0").output == "nothing is old enough to be removed\n"
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("packed", [True, False], ids=["archive", "export"])
def test_a_pipe_is_read_too(state: Path, tmp_path: Path, packed: bool) -> None:
    file = tmp_path / "out"
    if packed:
        run("prune", "--keep-days", "0", "--archive", str(file))
    else:
        run("export", "--output", str(file))
    found = CliRunner().invoke(cli, ["audit", "verify", "-"], input=file.read_bytes())
    assert (found.exit_code, found.output.split(":")[0]) == (0, "the audit chain holds")
    with subprocess.Popen(["cat", str(file)], stdout=subprocess.PIPE) as cat:
        assert cat.stdout is not None
        assert verified(f"/dev/fd/{cat.stdout.fileno()}")["records"] == OLD + YOUNG
