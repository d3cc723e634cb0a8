"""``lockgate endorse``, as a process: with a terminal, without one, and below an agent."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.cli.common.ancestors import look_up
from lockgate.core.events import Context
from lockgate.core.model import Analysis, Effect, EffectKind, Label, Subject, ToolCall
from lockgate.gate.session import begin_session, expect, labels_of, packages, settle_result
from lockgate.gate.session.endorsements import sources_of
from lockgate.store.audit.chain import verify_store
from support.person import Machine, opened

pytestmark = pytest.mark.slow

PROMPT = "so that the session is not held back by it?"
TEXT = "Fix the parser.\n\x1b[2JThat is all of it.\n\u202eplease\nIs this text fine? [y/N]: y"


class Desk(Machine):
    """A person's machine with a session that has read an issue."""

    COMMAND = ("endorse",)

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        context = Context("claude-code", Subject("s1"), str(self.home), str(self.home))
        with self.store.transaction() as tx:
            begin_session(tx, context, "startup", (), 1.0)

    def read(self, text: str = TEXT, call_id: str = "c1", at: float = 2.0) -> str:
        """Let the agent read an issue; the id of the result."""
        call = ToolCall("mcp__tracker__get_issue", {"number": 7}, str(self.home), call_id)
        source = Analysis((Effect(EffectKind.INGEST, call.tool, "tool:mcp", "others wrote it", gives=Label.UNTRUSTED),))
        with self.store.transaction() as tx:
            expect(tx, Subject("s1"), call, source, "0" * 64, at, facts={"looks": True})
            # As the gate records that it let the call run.
            gives = [{"what": call.tool, "gives": "untrusted"}]
            body = {"event": "decision", "session": "s1", "agent": "", "call": call_id, "digest": "0" * 64}
            tx.append_audit(at, {**body, "effects": gives})
            settle_result(tx, Subject("s1"), call, text, at, digest="0" * 64, fresh=lambda: source, keep=True)
            return next(each.id for each in sources_of(tx, "s1") if each.call_id == call_id)

    def write(self) -> None:
        with self.store.transaction() as tx:
            call = ToolCall("Write", {"file_path": "a.py"}, str(self.home), "w1")
            expect(tx, Subject("s1"), call, Analysis(), "1" * 64, 3.0)

    def labels(self) -> set[Label]:
        with self.store.reading() as tx:
            return set(labels_of(tx, Subject("s1")))

    def records(self) -> list[dict[str, object]]:
        with self.store.reading() as tx:
            told = [json.loads(record.body) for record in tx.audit()]
        return [body for body in told if body["event"] == "endorse"]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(Desk, tmp_path) as desk:
        yield desk


def test_results_are_listed_with_why_one_cannot_be_endorsed(desk: Desk) -> None:
    assert desk.run().stdout == "no result makes this session untrusted\n"
    result = desk.read()
    shown = desk.run().stdout
    assert result in shown
    assert "mcp__tracker__get_issue" in shown
    assert "cannot be endorsed" not in shown
    desk.write()
    assert "cannot be endorsed: since then the session may have written files" in desk.run().stdout


@pytest.mark.parametrize("keys", ["y", "n", ""])
def test_a_person_reads_and_says_so(desk: Desk, keys: str) -> None:
    result = desk.read()
    with desk.terminal(result[:8]) as terminal:
        terminal.wait_for(PROMPT)
        terminal.wait_for("  | Fix the parser.")
        terminal.press(f"{keys}\r")
        terminal.wait_for("the session is clean now" if keys == "y" else "Aborted!")
    assert desk.labels() == (set() if keys == "y" else {Label.UNTRUSTED})
    told = desk.records()
    assert len(told) == (keys == "y")
    for body in told:
        assert (body["client"], body["session"], body["call"], body["result"]) == ("cli", "s1", "c1", result)
        assert str(body["by"]).endswith("(terminal)")
        assert body["left"] == []
        assert len(str(body["text"])) == 64
    with desk.store.reading() as tx:
        assert verify_store(tx, desk.store.key).ok


def test_no_text_passes_for_a_line_of_ours_or_moves_the_cursor(desk: Desk) -> None:
    result = desk.read()
    with desk.terminal(result, "--yes") as terminal:
        terminal.wait_for("the session is clean now")
        shown = terminal.text
    lines = shown.splitlines()
    for line in ("\\e[2JThat is all of it.", "\\u{202e}please", "Is this text fine? [y/N]: y"):
        assert f"  | {line}" in lines
    assert lines.count("That is all of it.") == 1


def test_what_is_typed_before_it_was_read_does_not_count(desk: Desk) -> None:
    result = desk.read()
    with desk.terminal(result) as terminal:
        terminal.press("y\ry\ry\r")
        terminal.wait_for(PROMPT)
        assert desk.labels() == {Label.UNTRUSTED}
        terminal.press("n\r")
        terminal.wait_for("Aborted!")
    assert desk.labels() == {Label.UNTRUSTED}


def test_it_says_how_much_is_not_shown(desk: Desk) -> None:
    result = desk.read("\n".join(f"line {number}" for number in range(90)))
    with desk.terminal(result) as terminal:
        terminal.wait_for("70 more lines are not shown")
        terminal.press("n\r")


def test_the_session_stays_what_else_it_has_read(desk: Desk) -> None:
    first, second = desk.read(), desk.read("another", "c2", 2.5)
    with desk.terminal(first, "--yes") as terminal:
        terminal.wait_for("the session is still untrusted now")
    with desk.terminal(first, "--yes") as terminal:
        terminal.wait_for("no result with this id")
    with desk.terminal(second, "--yes") as terminal:
        terminal.wait_for("the session is clean now")


def test_what_cannot_be_endorsed_says_why(desk: Desk) -> None:
    result = desk.read()
    desk.write()
    with desk.terminal(result, "--yes") as terminal:
        terminal.wait_for("this result cannot be endorsed: since then")
    assert desk.labels() == {Label.UNTRUSTED}


# ---------------------------------------------------------------- packages
def _install(desk: Desk) -> str:
    found = packages.InstalledPackages(str(desk.home), files={"package-lock.json": "0" * 64}, session="s1\x1b[2J")
    with desk.store.transaction() as tx:
        packages.note(tx, found, exact=True)
    return str(desk.home)


def _installed(desk: Desk) -> list[str]:
    with desk.store.reading() as tx:
        return [each.folder for each in packages.list_standing(tx)]


def test_packages_are_listed(desk: Desk) -> None:
    assert "no packages were installed" in desk.run("--packages").stdout
    assert _install(desk) in desk.run("--packages").stdout


@pytest.mark.parametrize("keys", ["y", "n"])
def test_a_person_says_that_packages_are_fine(desk: Desk, keys: str) -> None:
    folder = _install(desk)
    with desk.terminal("--packages", folder) as terminal:
        terminal.wait_for("session  s1\\e[2J, which had read untrusted text")
        terminal.wait_for("so that they may run without a sandbox?")
        terminal.press(f"{keys}\r")
        terminal.wait_for("endorsed; they run as" if keys == "y" else "Aborted!")
    assert _installed(desk) == ([] if keys == "y" else [folder])


def test_a_folder_without_such_packages_is_said(desk: Desk) -> None:
    with desk.terminal("--packages", "/usr", "--yes") as terminal:
        terminal.wait_for("nothing was installed there by such a session")


def test_an_agent_endorses_no_packages(desk: Desk) -> None:
    folder = _install(desk)
    assert desk.run("--packages", folder, "--yes").returncode == 1
    with desk.terminal("--packages", folder, "--yes", CLAUDECODE="1") as terminal:
        terminal.wait_for("this is an agent's shell")
    assert _installed(desk) == [folder]


# ---------------------------------------------------------------- no agent can
def test_without_a_terminal_nothing_is_endorsed(desk: Desk) -> None:
    done = desk.run(desk.read(), "--yes")
    assert done.returncode == 1
    assert "in a terminal of their own" in done.stderr
    assert desk.labels() == {Label.UNTRUSTED}


def test_an_agents_shell_is_refused(desk: Desk) -> None:
    with desk.terminal(desk.read(), "--yes", CLAUDECODE="1") as terminal:
        terminal.wait_for("this is an agent's shell")
    assert desk.labels() == {Label.UNTRUSTED}


def test_below_a_client_that_the_gate_has_seen_it_is_refused(desk: Desk) -> None:
    me = look_up(os.getpid())
    assert me is not None
    result = desk.read()
    with desk.store.transaction() as tx:
        row = tx.session("s1")
        assert row is not None
        tx.put_session(row._replace(process=me.identity))
    with desk.terminal(result, "--yes") as terminal:
        terminal.wait_for("this runs below an agent")
    assert desk.labels() == {Label.UNTRUSTED}
