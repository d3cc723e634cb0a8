"""``lockgate audit`` on a real store."""

from __future__ import annotations

import json
import sqlite3
import stat
from functools import partial
from pathlib import Path

import pytest

from lockgate.cli.common.times import clock, iso
from lockgate.store.sqlite.store import SqliteStore
from support.commands import invoked
from support.unguarded import unguarded

COUNT = 1200
"""More than a page."""


@pytest.fixture
def state(home: Path) -> Path:
    folder = home / ".local" / "state" / "lockgate"
    store = SqliteStore.open(str(folder))
    with store.transaction() as tx:
        for number in range(1, COUNT + 1):
            body = {
                "event": "decision",
                "session": "rare" if number == 3 else "usual",
                "tool": "Bash",
                "input": {"command": f"echo {number} \x1b[2J"},
                "verdict": "deny",
                "reasons": [{"rule": "program:x"}],
            }
            tx.append_audit(1_700_000_000.0 + number, body)
    store.close()
    return folder


run = partial(invoked, "audit")


def spoil(state: Path, *statements: str) -> None:
    """As somebody would who can write the file: the triggers are no obstacle."""
    with sqlite3.connect(state / "lockgate.db") as connection, unguarded(connection):
        connection.executescript(";".join(statements))
    connection.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show"], "nothing recorded yet\n"),
        (["show", "--json"], ""),
        (["verify"], "nothing recorded yet\n"),
        (["export"], "nothing recorded yet\n"),
    ],
)
def test_looking_makes_no_state(home: Path, arguments: list[str], says: str) -> None:
    assert run(*arguments).output == says
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"event": "prompt", "human": True, "effects": 0}, "prompt  human"),
        ({"event": "agent", "type": "Explore", "again": False}, "agent  type Explore"),
        ({"event": "delegate", "brief": "b1", "digest": "d1", "call": "c1", "text": "push it"}, "delegate  push it"),
        ({"event": "agent-end"}, "agent-end"),
        ({"event": "policy-pinned", "fleet": "acme", "keys": ["a", "b"]}, "policy-pinned  fleet acme, keys a b"),
        ({"event": "pruned", "archive": {"file": "a.gz", "sha256": "ff"}}, "pruned  archive file a.gz sha256 ff"),
        ({"event": "pruned", "before": 1_700_000_000.0}, f"pruned  before {clock(iso(1_700_000_000.0))}"),
    ],
)
def test_show_other_events_in_words(home: Path, body: dict[str, object], said: str) -> None:
    store = SqliteStore.open(str(home / ".local" / "state" / "lockgate"))
    with store.transaction() as tx:
        tx.append_audit(1_700_000_000.0, {"session": "s", **body})
    store.close()
    assert run("show").output.rstrip().endswith(f"  s         {said}")


JUDGE = {"flagged": True, "reason": "r", "failed": "", "model": "small", "ms": 400.0, "cached": False, "tokens": [9, 1]}


@pytest.mark.parametrize(
    ("cascade", "said"),
    [
        ({"tier": "labels", "ms": 1.23}, "ls by labels in 1.2 ms\n"),
        ({"tier": "judge", "ms": 411.9, "judge": JUDGE}, "ls by judge in 412 ms (small: flagged)\n"),
        (
            {"tier": "judge", "ms": 4.0, "judge": JUDGE | {"flagged": False, "cached": True}},
            "ls by judge in 4.0 ms (small: not flagged, answered before)\n",
        ),
        (
            {"tier": "person", "ms": 9000.0, "judge": JUDGE | {"failed": "no \x1b[2J answer"}, "approval": "k3m"},
            "ls by person in 9000 ms (the judge failed: no \\e[2J answer, approval k3m)\n",
        ),
        ({"tier": "x\x1b[2J", "ms": 1.0}, "ls by x\\e[2J in 1.0 ms\n"),
        ({"tier": "labels", "ms": "1\x1b"}, "ls\n"),
        ("labels", "ls\n"),
        (None, "ls\n"),
    ],
)
def test_show_says_which_tier_decided(home: Path, cascade: object, said: str) -> None:
    store = SqliteStore.open(str(home / ".local" / "state" / "lockgate"))
    with store.transaction() as tx:
        body = {"event": "decision", "session": "s", "tool": "Bash", "input": {"command": "ls"}, "verdict": "allow"}
        tx.append_audit(1_700_000_000.0, body | {"cascade": cascade})
    store.close()
    assert run("show").output.endswith(said)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("used", "ls by person in 300 s (approval k3m)"),
        ("denied", "ls by person in 300 s (approval k3m)"),
        ("expired", "ls nobody answered in 300 s (approval k3m)"),
    ],
)
def test_show_says_what_became_of_a_question(home: Path, state: str, said: str) -> None:
    store = SqliteStore.open(str(home / ".local" / "state" / "lockgate"))
    bodies: list[dict[str, object]] = [
        {"event": "asked", "approval": "k3m", "expires_at": 1_700_000_300.0},
        {"event": "answered", "approval": "k3m", "state": state},
        {"event": "decision", "tool": "Bash", "input": {"command": "ls"},
         "cascade": {"tier": "person", "ms": 300_000.0, "approval": "k3m"}},
    ]  # fmt: skip
    with store.transaction() as tx:
        for body in bodies:
            tx.append_audit(1_700_000_000.0, {"session": "s", **body})
    store.close()
    asked, answered, decided = run("show").output.splitlines()
    assert asked.endswith(f"approval k3m, expires {clock(iso(1_700_000_300.0))}")
    assert answered.endswith(f"approval k3m, {state}")
    assert decided.endswith(said)


@pytest.mark.parametrize(
    "change",
    [
        "at = 'yesterday'",
        "at = 9e999",
        "at = -1e300",
        "digest = 'gone'",
        "body = x'ff00'",
        f"body = '{'[' * 100_000}'",
        """body = '{"event": "outcome", "outcome": "finished", "gave": 5}'""",
        """body = '{"event": {"a": 1}, "session": [2], "verdict": {"b": 3}, "tool": 4, "reasons": [5]}'""",
    ],
    ids=lambda change: change[:30],
)
def test_a_record_that_somebody_changed_is_shown_and_exported_with_the_others(state: Path, change: str) -> None:
    """What the chain does not hold any more must still be seen."""
    spoil(state, f"UPDATE audit SET {change} WHERE seq = {COUNT - 1}")
    for words in (["show"], ["show", "--json"], ["show", "--session", ""], ["verify"]):
        assert run(*words, code=int(words == ["verify"])).output
    for form in ("jsonl", "cef", "ocsf"):
        lines = run("export", "--format", form, "--after", str(COUNT - 3)).output.splitlines()
        assert len(lines) == 3
    assert len(run("export").output.splitlines()) == COUNT + 1


def test_show_the_newest_records_oldest_of_them_first(state: Path) -> None:
    lines = run("show", "--limit", "3").output.splitlines()
    assert [line.split()[0] for line in lines] == [str(COUNT - 2), str(COUNT - 1), str(COUNT)]
    assert lines[-1].endswith(f"usual     decision  deny  Bash: echo {COUNT} \\e[2J [program:x]")
    assert len(run("show").output.splitlines()) == 20
    assert len(run("show", "--limit", str(COUNT * 2)).output.splitlines()) == COUNT


def test_show_of_one_session_reads_back_as_far_as_needed(state: Path) -> None:
    (line,) = run("show", "--session", "ra", "--json").output.splitlines()
    told = json.loads(line)
    assert list(told) == ["seq", "at", "body", "previous", "digest"]
    assert (told["seq"], told["at"]) == (3, "2023-11-14T22:13:23.000+00:00")
    assert told["body"]["input"] == {"command": "echo 3 \x1b[2J"}
    assert run("show", "--session", "none").output == "nothing recorded of such a session\n"


def test_verify_prints_the_head(state: Path) -> None:
    first, second = run("verify").output.splitlines()
    assert first == f"the audit chain holds: {COUNT} records"
    told = json.loads(run("verify", "--json").output)
    assert second == f"head {COUNT}:{told['head']['digest']}"
    assert told == {
        "ok": True,
        "records": COUNT,
        "problem": None,
        "seq": None,
        "head": {"seq": COUNT, "digest": told["head"]["digest"]},
        "begins_after": 0,
        "seal_checked": True,
        "against": [],
    }


HARM = [
    pytest.param(
        "UPDATE audit SET body = replace(body, 'deny', 'allow') WHERE seq = 700", "record 700 was changed", id="changed"
    ),
    pytest.param("DELETE FROM audit WHERE seq = 700", "record 700 is missing", id="removed"),
    pytest.param("DELETE FROM audit WHERE seq > 1100", "the last 100 records are missing", id="tail"),
    pytest.param("DELETE FROM audit", "the last 1200 records are missing", id="all"),
    pytest.param(
        "DELETE FROM audit WHERE seq > 1100;"
        "UPDATE audit_head SET seq = 1100, digest = (SELECT digest FROM audit WHERE seq = 1100)",
        "seal does not hold",
        id="tail and head",
    ),
    pytest.param("DELETE FROM audit; DELETE FROM audit_head", "the head is missing", id="all and head"),
    pytest.param(
        "INSERT INTO audit SELECT -7, at, body, previous, digest FROM audit WHERE seq = 1",
        "record -7 is not in its place",
        id="before the first",
    ),
    pytest.param(
        "UPDATE audit SET seq = -1 WHERE seq = 5; UPDATE audit SET seq = 5 WHERE seq = 6;"
        "UPDATE audit SET seq = 6 WHERE seq = -1",
        "record 5 does not follow",
        id="exchanged",
    ),
]


BEHIND_THE_GAP = {
    "the last 100 records are missing": "record 1101 is missing",
    "the last 1200 records are missing": "record 1 is missing",
}
"""What is found at the second look: the first one has recorded that the state is an older one."""


@pytest.mark.parametrize(("statements", "problem"), HARM)
def test_verify_finds_what_was_done_to_the_state_and_to_an_export_of_it(
    state: Path, tmp_path: Path, statements: str, problem: str
) -> None:
    spoil(state, statements)
    assert problem in run("verify", code=1).output
    told = json.loads(run("verify", "--json", code=1).output)
    assert not told["ok"]
    problem = BEHIND_THE_GAP.get(problem, problem)
    assert problem in told["problem"]
    file = tmp_path / "export.jsonl"
    run("export", "--output", str(file))
    assert problem in run("verify", str(file), code=1).output


def test_an_export_verifies_and_any_change_of_it_does_not(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    run("export", "--output", str(file))
    text = file.read_text()
    assert text == run("export").output
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "cannot write" in run("export", "--output", str(tmp_path / "none" / "x"), code=1).output
    assert run("verify", str(file)).output.startswith(f"the audit chain holds: {COUNT} records\n")
    for spoilt, problem in (
        (text.replace('"deny"', '"allow"', 1), "record 1 was changed"),
        (text[: text.rindex("\n{") + 1], "the file was cut"),
        ("\n".join(text.splitlines()[1:]), "record 1 is missing"),
        (text[:1000], "line"),
        ("", "the file was cut"),
    ):
        file.write_text(spoilt)
        assert problem in run("verify", str(file), code=1).output
    file.write_bytes(b"\xff\xfe\x00")
    assert "line 1: this is no record" in run("verify", str(file), code=1).output


def test_an_export_of_another_installation(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "export.jsonl"
    run("export", "--output", str(file))
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    assert "--foreign" in run("verify", str(file), code=2).output
    assert "its seals were not checked" in run("verify", "--foreign", str(file)).output
    assert json.loads(run("verify", "--foreign", "--json", str(file)).output)["seal_checked"] is False
    SqliteStore.open(str(tmp_path / "elsewhere" / ".local" / "state" / "lockgate")).close()
    assert "another installation" in run("verify", str(file), code=1).output


@pytest.mark.parametrize("arguments", [["verify", "--foreign"], ["verify", "/not/there"], ["nonsense"]])
def test_usage_errors_are_status_2(state: Path, arguments: list[str]) -> None:
    run(*arguments, code=2)


def test_verify_tells_what_the_state_says_against_the_audit(state: Path) -> None:
    forged = ", ".join(["'k2v7m9qxwp'", *["''"] * 6, "'{}'", "'approved'", "1", "2", "1", "'ann'", "''", "''"])
    spoil(state, f"INSERT INTO approvals VALUES (1, {forged})")
    said = run("verify", code=1).output
    assert said.startswith("the audit chain holds")
    assert "lockgate audit accept" in said
    assert "question k2v7m9qxwp: it is approved, and the audit has no such answer" in said
    told = json.loads(run("verify", "--json", code=1).output)
    assert (told["ok"], len(told["against"])) == (False, 1)
