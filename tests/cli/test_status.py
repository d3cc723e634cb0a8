"""``lockgate status`` and ``lockgate sessions`` on a real store."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lockgate.cli.main import cli
from lockgate.configuration.pause import begin
from lockgate.core.display_text import visible
from lockgate.core.events import Context
from lockgate.core.model import Analysis, Effect, EffectKind, Label, Subject, ToolCall
from lockgate.gate.session import begin_agent, begin_session, end_session, expect, expose, settle_result
from lockgate.store.files import PUT_BACK
from lockgate.store.rows import BriefRow
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.uptime import instant

EVIL = "https://evil/\x1b[2J\u202eignore\n"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder, not there yet; the project is the current folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    monkeypatch.chdir(project)
    return tmp_path / ".local" / "state" / "lockgate"


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == code, (result.output, result.exception)
    return result


def effects(label: Label, what: str) -> tuple[Effect, ...]:
    return (Effect(EffectKind.INGEST, what, "r", "b", gives=label),)


@pytest.fixture
def full(state: Path) -> Path:
    """One session of the project with everything, one of another project, one that has ended."""
    store = SqliteStore.open(str(state))
    here = os.getcwd()
    main = Context("claude-code", Subject("5ca1ab1e-0001"), cwd=here + "/sub", workspace=here, process="1:2")
    with store.transaction() as tx:
        begin_session(tx, main, "startup", (), 1_700_000_000.0)
        expose(tx, main.subject, "WebFetch", effects(Label.UNTRUSTED, EVIL), 1_700_000_001.0)
        waiting = ToolCall("Read", {}, call_id="c1")
        expect(tx, main.subject, waiting, Analysis(effects(Label.SECRET, ".env")), "0" * 64, 1_700_000_002.0)
        tx.put_brief(
            BriefRow("b1", "5ca1ab1e-0001", "", "c9", "0" * 64, "push\x07 it", "running", "d1", 1_700_000_003.0)
        )
        child = main._replace(subject=Subject("5ca1ab1e-0001", "d1"), agent_type="lockgate:delegate")
        begin_agent(tx, child, 1_700_000_003.0, delegate="b1")
        tx.block("5ca1ab1e-0001", "", "Bash: git push \x1b]0;x\x07", 1_700_000_004.0)
        ended = Context("claude-code", Subject("0ther-ended"), cwd="/elsewhere", workspace="/elsewhere")
        begin_session(tx, ended, "startup", (), 1_600_000_000.0)
        end_session(tx, ended, "clear", 1_600_000_001.0)
        other = Context("claude-code", Subject("0ther-2"), cwd="/elsewhere")
        begin_session(tx, other, "startup", (), 1_750_000_000.0)
    store.close()
    return state


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["status"], "nothing recorded yet"),
        (["status", "--json"], "null"),
        (["sessions"], "nothing recorded yet"),
        (["sessions", "--json"], "[]"),
    ],
)
def test_looking_makes_no_state(state: Path, arguments: list[str], says: str) -> None:
    assert says in run(*arguments).output
    assert not state.exists()


def test_status_shows_the_projects_last_session(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (".", "sub"):
        monkeypatch.chdir(folder)
        output = run("status").output
        lines = output.splitlines()
        assert lines[0].startswith("both: ")
        assert "session  5ca1ab1e-0001 (claude-code)" in lines
        assert re.search(r"untrusted  WebFetch: https://evil/\\e\[2J\\u\{202e\}ignore\\n$", output, re.M)
        assert re.search(r"secret     Read: \.env \(no result yet\)$", output, re.M)
        assert re.search(r"d1  lockgate:delegate  running  delegate, clean$", output, re.M)
        assert "running   push\\x07 it" in output
        assert "Bash: git push \\e]0;x\\x07" in output
        assert "lockgate:escape" in output
        assert "/clear" in output


@pytest.mark.parametrize(
    ("asked", "ended", "says"),
    [
        (False, False, "no result yet"),
        (False, True, "no result came"),
        (True, False, "you were asked; if you said no, nothing comes"),
        (True, True, "you were asked; if you said no, nothing comes"),
    ],
)
def test_a_call_of_which_nothing_was_heard(state: Path, asked: bool, ended: bool, says: str) -> None:
    """A headless client refuses what it should have asked a person about, and tells nobody."""
    context = Context("claude-code", Subject("one"), cwd=os.getcwd(), workspace=os.getcwd())
    analysis = Analysis(effects(Label.SECRET, ".env"))
    store = SqliteStore.open(str(state))
    with store.transaction() as tx:
        begin_session(tx, context, "startup", (), 1_700_000_000.0)
        expect(tx, context.subject, ToolCall("Read", {}, call_id="c1"), analysis, "0" * 64, 1.0, asked=asked)
        if ended:
            end_session(tx, context, "other", 1_700_000_003.0)
    store.close()
    output = run("status").output
    assert f"Read: .env ({says})\n" in output
    assert "where its labels come from" not in output
    (pending,) = json.loads(run("status", "--json").output)["pending"]
    assert pending["asked"] is asked


def test_nothing_untrusted_reaches_the_terminal_raw(full: Path) -> None:
    for arguments in (["status"], ["sessions", "--all"]):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", run(*arguments).output)


def test_status_json_is_whole_and_stable(full: Path) -> None:
    told: dict[str, Any] = json.loads(run("status", "--json").output)
    assert list(told) == [
        "session", "client", "cwd", "workspace", "parent", "how", "started_at", "seen_at", "ended_at", "why", "state",
        "labels", "locked", "locked_by", "locked_at", "blocked_tools", "provenance", "pending", "agents", "delegates",
        "blocked", "profiles", "paused_until", "elsewhere",
    ]  # fmt: skip
    assert (told["state"], told["labels"]) == ("both", ["secret", "untrusted"])
    assert (told["locked"], told["locked_by"]) == (True, f"WebFetch: {visible(EVIL)}")
    assert told["locked_at"] == "2023-11-14T22:13:21+00:00"
    assert (told["started_at"], told["ended_at"], told["parent"]) == ("2023-11-14T22:13:20.000+00:00", None, None)
    assert [(one["label"], one["state"], one["call"]) for one in told["pending"]] == [("secret", "pending", "c1")]
    assert [(one["agent"], one["delegate"], one["labels"]) for one in told["agents"]] == [("d1", "b1", [])]
    assert [(one["brief"], one["state"]) for one in told["delegates"]] == [("b1", "running")]
    assert [one["what"] for one in told["blocked"]] == told["blocked_tools"] == ["Bash: git push \x1b]0;x\x07"]


@pytest.mark.parametrize("wanted", ["5ca1ab1e-0001", "5ca", "0ther-e"])
def test_a_session_by_the_beginning_of_its_id(full: Path, wanted: str) -> None:
    assert json.loads(run("status", "--session", wanted, "--json").output)["session"].startswith(wanted)


@pytest.mark.parametrize(("wanted", "says"), [("none\x1b", "no session begins with none\\e"), ("0ther", "2 sessions")])
def test_a_session_that_is_not_one(full: Path, wanted: str, says: str) -> None:
    assert says in run("status", "--session", wanted, code=1).stderr


def test_a_clean_session_has_no_way_out_to_show(full: Path) -> None:
    output = run("status", "--session", "0ther-2").output
    assert output.startswith("clean: ")
    assert "to act outside" not in output


@pytest.mark.parametrize(
    ("arguments", "listed"),
    [
        ([], ["0ther-2", "5ca1ab1e-0001"]),
        (["--all"], ["0ther-2", "5ca1ab1e-0001", "0ther-ended"]),
        (["--all", "--limit", "1"], ["0ther-2"]),
    ],
)
def test_sessions_are_listed_last_seen_first(full: Path, arguments: list[str], listed: list[str]) -> None:
    told = json.loads(run("sessions", *arguments, "--json").output)
    assert [one["session"] for one in told] == listed
    lines = run("sessions", *arguments).output.splitlines()
    assert [line.split()[0] for line in lines] == listed
    assert [line.split()[1] for line in lines] == [one["state"] for one in told]


def test_only_ended_sessions(state: Path) -> None:
    store = SqliteStore.open(str(state))
    with store.transaction() as tx:
        begin_session(tx, Context("x", Subject("s")), "startup", (), 1.0)
        end_session(tx, Context("x", Subject("s")), "logout", 2.0)
    store.close()
    assert run("sessions").output == "no session is running; --all lists ended ones\n"


@pytest.mark.parametrize(
    "command", [["status"], ["sessions"], ["audit", "show"], ["audit", "verify"], ["audit", "export"]]
)
def test_a_state_that_cannot_be_read_is_status_3(full: Path, command: list[str]) -> None:
    (full / "lockgate.db").write_bytes(b"nonsense" * 1000)
    result = run(*command, code=3)
    assert result.stdout == ""
    assert re.match(r"lockgate: the state in .* is damaged .*: begin anew: mv ", result.stderr)


@pytest.mark.parametrize(
    "arguments", [["status", "x"], ["sessions", "--limit", "0"], ["audit", "show", "--limit", "x"]]
)
def test_usage_errors_are_status_2(state: Path, arguments: list[str]) -> None:
    run(*arguments, code=2)


@pytest.mark.parametrize(
    ("terminal", "no_color", "coloured"), [(True, "", True), (True, "1", False), (False, "", False)]
)
def test_colour_only_on_a_terminal(full, monkeypatch, capsys, terminal: bool, no_color: str, coloured: bool) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("NO_COLOR", no_color)
    from lockgate.cli.common.colour import paint

    assert ("\x1b[" in paint("x", "red")) == coloured


DOCS = Path(__file__).parents[2] / "docs"


def test_every_field_is_documented(full: Path) -> None:
    text = (DOCS / "sessions.md").read_text()
    told = json.loads(run("status", "--json").output)
    inner = [one for name in ("provenance", "agents", "delegates", "blocked") for one in told[name]]
    assert {name for fields in (told, *inner) for name in fields if f"`{name}`" not in text} == set()


@pytest.mark.parametrize(
    ("config", "paused", "says"),
    [
        (
            "profile: quarantine\n",
            False,
            "wrote: external actions are closed",
        ),
        ("profile: quarantine\n", True, "wrote; the gate is paused, and lets external actions run"),
        ("profile: observe\n", False, "wrote; profile observe lets external actions run"),
        ("profile: trifecta\n", False, "wrote: external actions are closed"),
    ],
)
def test_status_says_what_is_true_of_external_actions(
    full: Path, tmp_path: Path, config: str, paused: bool, says: str
) -> None:
    folder = tmp_path / ".config" / "lockgate"
    folder.mkdir(parents=True)
    (folder / "lockgate.yaml").write_text(config)
    if paused:
        store = SqliteStore.open(str(full))
        with store.transaction() as tx:
            begin(tx, str(full), instant(), 60.0)
        store.close()
    output = run("status").output
    assert says in output.splitlines()[0]
    assert ("to act outside all the same" in output) is ("closed" in output.splitlines()[0])


@pytest.mark.parametrize("since", ["", "Write"])
def test_endorsing_is_offered_only_where_it_is_possible(state: Path, since: str) -> None:
    subject, read = Subject("one"), ToolCall("mcp__tracker__get_issue", {}, call_id="c1")
    store = SqliteStore.open(str(state))
    with store.transaction() as tx:
        begin_session(tx, Context("claude-code", subject, cwd=os.getcwd(), workspace=os.getcwd()), "startup", (), 1.0)
        analysis = Analysis(effects(Label.UNTRUSTED, "an issue"))
        expect(tx, subject, read, analysis, "0" * 64, 2.0, facts={"looks": True})
        settle_result(tx, subject, read, "Fix it.", 2.0, digest="0" * 64, fresh=lambda: analysis, keep=True)
        if since:
            expect(tx, subject, ToolCall(since, {}, call_id="c2"), Analysis(), "1" * 64, 3.0)
    store.close()
    output = run("status").output
    assert "to act outside all the same" in output
    assert ("lockgate endorse" in output) is not bool(since)


def test_ways_out_are_those_of_the_client(state: Path) -> None:
    """Delegates and plans are Claude Code's; whoever uses another client is not sent after them."""
    store = SqliteStore.open(str(state))
    with store.transaction() as tx:
        context = Context("codex", Subject("c0dex"), cwd=os.getcwd(), workspace=os.getcwd())
        begin_session(tx, context, "startup", (), 1_700_000_000.0)
        expose(tx, context.subject, "WebFetch", effects(Label.UNTRUSTED, EVIL), 1_700_000_001.0)
    store.close()
    output = run("status").output
    assert "to act outside all the same" in output
    assert "a new session that has not read this" in output
    assert not any(word in output for word in ("plugin", "/clear", "plan mode"))


def anchored(state: Path, remote: Path) -> None:
    """Have the head kept in a git repository, too."""
    folder = state.parents[2] / ".config" / "lockgate"
    folder.mkdir(parents=True)
    (folder / "lockgate.yaml").write_text(f"audit: {{anchors: [{{kind: git, remote: 'file://{remote}'}}]}}\n")


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True)


@pytest.mark.parametrize("arguments", [(), ("--json",), ("--session", "5ca1ab1e")], ids=" ".join)
def test_a_place_that_was_never_reached_is_told_with_the_command_that_mends_it(
    full: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    remote = tmp_path / "remote.git"
    anchored(full, remote)
    run("audit", "verify")
    told = run("status", *arguments)
    (line,) = told.stderr.splitlines()
    assert line.startswith(f"Lockgate: an older state that is put back may not be noticed: git file://{remote}: git: ")
    assert line.endswith("; once you have seen to it, run: lockgate doctor")
    if arguments == ("--json",):
        (entry,) = json.loads(told.stdout)["elsewhere"]
        assert entry["mend"] == "lockgate doctor"
    git("init", "-q", "--bare", str(remote))
    CliRunner().invoke(cli, ["doctor"])
    assert run("status", *arguments).stderr == ""


def test_a_place_that_was_rewound_is_told_until_a_person_has_looked(
    full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = tmp_path / "remote.git"
    git("init", "-q", "--bare", str(remote))
    anchored(full, remote)
    store = SqliteStore.open(str(full))
    with store.transaction() as tx:
        tx.append_audit(1.0, {"event": "x", "session": ""})
    store.close()
    run("audit", "verify")
    git("-C", str(remote), "update-ref", "-d", "refs/heads/lockgate-anchor")
    run("audit", "verify")
    (entry,) = json.loads(run("status", "--json").stdout)["elsewhere"]
    assert "emptied" in entry["says"]
    assert entry["mend"] == "lockgate audit accept"
    monkeypatch.setattr("lockgate.cli.audit.require_approver", lambda *_: None)
    assert "emptied" in run("audit", "accept", "--yes").stdout
    assert json.loads(run("status", "--json").stdout)["elsewhere"] == []


def test_a_head_that_contradicts_is_told_in_the_object_too(full: Path) -> None:
    store = SqliteStore.open(str(full))
    with store.transaction() as tx:
        tx.put_setting(PUT_BACK, "the state is older than what is kept of it elsewhere")
    store.close()
    told = run("status", "--json")
    assert "lockgate audit accept" in told.stderr
    says = "the state is older than what is kept of it elsewhere"
    assert json.loads(told.stdout)["elsewhere"] == [{"says": says, "mend": "lockgate audit accept"}]


def test_a_place_of_this_machine_that_cannot_be_written(full: Path) -> None:
    beside = full.parent / ".lockgate"
    shutil.rmtree(beside)
    beside.write_text("no folder")
    line = run("status").stderr.splitlines()[-1]
    assert f"cannot be kept in {beside}/" in line
    assert line.endswith("run: lockgate doctor")
