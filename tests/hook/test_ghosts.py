"""Hooks whose client was killed while a person was asked: they use up nobody's word, and the word is not lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adapters.payloads import tool
from lockgate.cli.main import cli
from lockgate.configuration import load as configuration
from lockgate.gate.approvals import wakeups
from lockgate.gate.approvals.answering import answer
from lockgate.gate.approvals.questions import YOUNG, settle
from lockgate.store.rows import ApprovalRow
from resident.machine import Machine
from support import steady
from support.builds import Build

pytestmark = pytest.mark.slow

PUSH = "git push origin main"
HOW = pytest.mark.parametrize("how", ["alone", "python", "native"])
"""A hook that decides by itself, and one of either client that asks a gate."""


class Asking(Machine):
    """A machine on which a push waits for a person elsewhere."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.how = "alone"
        self._hooks: list[subprocess.Popen[bytes]] = []
        (self.config / "lockgate.yaml").write_text("table: {egress: ask}\napprovals: {headless: wait}\n")
        with self.store() as store:
            where = {"home": str(self.home), "config_dir": str(self.config), "workspace": str(self.project)}
            assert configuration.load(store, state=self.state, **where).problems == ()

    def command(self, client: str, *options: str, hook: str = "") -> list[str]:
        """The command line of a hook."""
        hook = hook or steady.hook()
        start = [sys.executable, "-I", "-S", hook]
        if self.how == "native":
            native = os.path.join(os.path.dirname(hook), "lockgate-hook")
            start = [native, "--python", sys.executable, "--script", hook]
        return [*start, *self.words(client), "--event", "PreToolUse", *options]

    def ask(
        self, call: str, *, shell: bool = False, hook: str = "", out: Any = subprocess.PIPE
    ) -> subprocess.Popen[bytes]:
        """Begin the hook of a push, as a client does."""
        off = {"LOCKGATE_RESIDENT": "off"} if self.how == "alone" else {}
        command = self.command("claude-code", hook=hook)
        if shell:
            command = ["/bin/sh", "-c", '"$@" || exit 2', "sh", *command]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env={**self.environment, **off, "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"},
            cwd=self.project,
        )
        assert process.stdin
        event = tool("PreToolUse", "Bash", {"command": PUSH}, cwd=str(self.project), tool_use_id=call)
        process.stdin.write(json.dumps(event).encode())
        process.stdin.close()
        process.stdin = None
        self._hooks.append(process)
        return process

    def end(self) -> None:
        """End everything that was started."""
        for process in self._hooks:
            process.kill()
            process.communicate()
        super().end()

    def rows(self) -> list[ApprovalRow]:
        """All questions."""
        with self.store() as store, store.reading() as tx:
            return tx.approvals()

    def waited(self, but: str = "") -> str:
        """The id of a question that somebody waits for, once there is one."""

        def found() -> list[str]:
            return [
                row.approval
                for row in self.rows()
                if row.approval != but and wakeups.is_waited_for(self.state, row.approval)
            ]

        self.until(lambda: bool(found()), "a hook to wait")
        return found()[0]

    def nobody_waits(self, approval: str) -> None:
        """Wait until nobody waits."""
        began = time.monotonic()
        self.until(lambda: not wakeups.is_waited_for(self.state, approval), "the ghost to end")
        assert time.monotonic() - began < 10
        (row,) = (row for row in self.rows() if row.approval == approval)
        time.sleep(max(row.asked_at + YOUNG + 0.1 - time.time(), 0))  # before, somebody may be about to wait

    def say_yes(self, approval: str) -> None:
        """What a person does."""
        with self.store() as store:
            answer(store, self.state, approval, approve=True, by="ann", reason="")

    def verdicts(self) -> list[str]:
        """What was decided."""
        return [record["verdict"] for record in self.audit() if "verdict" in record]


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    """A machine without a gate."""
    machine = Asking(tmp_path)
    yield machine
    machine.end()


def _told(process: subprocess.Popen[bytes]) -> str:
    """What a hook answers."""
    out, _ = process.communicate(timeout=40)
    return str(json.loads(out or b"{}").get("hookSpecificOutput", {}).get("permissionDecision", ""))


def _kill_client(process: subprocess.Popen[bytes]) -> None:
    """What is left of a client that was killed: nobody reads."""
    assert process.stdout
    process.stdout.close()
    process.stdout = None


@HOW
@pytest.mark.parametrize("shell", [False, True], ids=["", "in a shell"])
def test_a_yes_after_the_client_was_killed_is_kept_for_the_same_call(asking: Asking, how: str, shell: bool) -> None:
    asking.how = how
    if how != "alone":
        asking.start()
    ghost = asking.ask("toolu_1", shell=shell)
    approval = asking.waited()
    _kill_client(ghost)
    asking.nobody_waits(approval)
    assert ghost.wait(20) == 2
    asking.say_yes(approval)
    time.sleep(0.3)
    assert [row.state for row in asking.rows()] == ["approved"], "nobody has used it"
    assert "allow" not in asking.verdicts()
    assert _told(asking.ask("toolu_2")) == "allow", "the client has gone on, and names the call anew"
    assert [(row.approval, row.state) for row in asking.rows()] == [(approval, "used")]
    assert asking.verdicts().count("allow") == 1


@HOW
def test_a_yes_that_comes_while_the_same_call_is_made_again(asking: Asking, how: str) -> None:
    asking.how = how
    if how != "alone":
        asking.start()
    ghost = asking.ask("toolu_1")
    approval = asking.waited()
    _kill_client(ghost)
    asking.nobody_waits(approval)
    again = asking.ask("toolu_2")
    assert asking.waited() == approval
    asking.say_yes(approval)
    assert _told(again) == "allow"
    assert len(asking.rows()) == 1


@HOW
def test_a_parent_that_is_gone(asking: Asking, how: str, tmp_path: Path) -> None:
    """Where the output is a file nobody can tell who reads it."""
    asking.how = how
    if how != "alone":
        asking.start()
    with (tmp_path / "out").open("wb") as out:
        shell = asking.ask("toolu_1", shell=True, out=out)
    approval = asking.waited()
    shell.send_signal(signal.SIGKILL)
    shell.wait()
    asking.nobody_waits(approval)
    asking.say_yes(approval)
    assert "allow" not in asking.verdicts()


@HOW
def test_the_same_call_twice_at_once_takes_two_answers(asking: Asking, how: str) -> None:
    """As long as both wait: one yes lets one of them run."""
    asking.how = how
    if how != "alone":
        asking.start()
    first = asking.ask("toolu_1")
    one = asking.waited()
    second = asking.ask("toolu_2")
    other = asking.waited(but=one)
    asking.say_yes(one)
    assert _told(first) == "allow"
    assert second.poll() is None
    asking.say_yes(other)
    time.sleep(1.5)
    if second.poll() is None:  # the first call has changed what the session is: the question is put anew
        asking.say_yes(asking.waited(but=other))
    assert _told(second) == "allow"
    assert asking.verdicts().count("allow") == 2
    assert [row.state for row in asking.rows()].count("used") == 2


def test_who_lost_the_question_cannot_use_it(asking: Asking) -> None:
    ghost = asking.ask("toolu_1")
    approval = asking.waited()
    _kill_client(ghost)
    ghost.wait(20)
    asking.say_yes(approval)
    with asking.store() as store, store.transaction() as tx:
        row = tx.approval(approval)
        assert row is not None
        subject = (row.session, row.agent)
        given: dict[str, Any] = {"digest": row.digest, "basis": row.basis, "now": row.asked_at + 1}
        from lockgate.core.model import Subject

        lost = settle(tx, approval, subject=Subject(*subject), call_id="toolu_0", approvers=None, **given)
        assert lost.state == "changed"
        assert tx.approval(approval) == row, "and it stays for the other"


def test_a_question_of_a_ghost_says_so(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("lockgate.cli.common.state", "lockgate.cli.approvals.find"):
        monkeypatch.setattr(f"{module}.state_dir", lambda: asking.state, raising=False)
    monkeypatch.setattr("lockgate.system.folders.folders", lambda *_: asking.where)
    ghost = asking.ask("toolu_1")
    approval = asking.waited()

    def said(*words: str) -> str:
        return CliRunner().invoke(cli, ["approvals", *words]).output

    assert "its agent is gone" not in said("list")
    _kill_client(ghost)
    asking.nobody_waits(approval)
    assert "its agent is gone: a yes counts if the same call is made again in time" in said("list")
    assert "its agent is gone" in said("show", approval)
    (told,) = json.loads(said("list", "--json"))
    assert told["waited"] is False


def test_clients_that_have_gone_hold_no_threads(asking: Asking) -> None:
    asking.how = "native"
    asking.start()
    ghosts = [asking.ask(f"toolu_{number}") for number in range(12)]
    asking.until(lambda: asking.facts["waiting_for_others"] == 12, "all to wait")
    for ghost in ghosts:
        _kill_client(ghost)
    began = time.monotonic()
    asking.until(lambda: asking.facts["waiting_for_others"] == 0, "the threads to end")
    assert time.monotonic() - began < 10
    for ghost in ghosts:
        ghost.wait(20)


# ---------------------------------------------------------------- upgrades
def _spoil(build: Build) -> None:
    """Replace all files by those of a version that has none of what is loaded."""
    for path in build.package.rglob("*.py"):
        path.write_text("raise SystemExit('another version')\n")


def test_a_hook_that_waits_survives_an_upgrade(asking: Asking, tmp_path: Path) -> None:
    """It has loaded what it needs for its answer."""
    build = Build(tmp_path / "one", "one")
    process = asking.ask("toolu_1", hook=build.hook)
    approval = asking.waited()
    _spoil(build)
    asking.say_yes(approval)
    assert _told(process) == "allow"


def test_so_does_one_whose_call_is_denied(asking: Asking, tmp_path: Path) -> None:
    build = Build(tmp_path / "one", "one")
    process = asking.ask("toolu_1", hook=build.hook)
    approval = asking.waited()
    _spoil(build)
    with asking.store() as store:
        answer(store, asking.state, approval, approve=False, by="ann", reason="not today")
    out, _ = process.communicate(timeout=40)
    assert b"not today" in out


@pytest.mark.parametrize("how", ["python", "native"])
def test_a_hook_whose_gate_is_upgraded_asks_again(asking: Asking, tmp_path: Path, how: str) -> None:
    """The gate ends, and the hook goes on with the new code: the question is the same."""
    asking.how = how
    build = Build(tmp_path / "one", "one")
    gate = asking.start(program=build.gate)
    process = asking.ask("toolu_1", hook=build.hook)
    approval = asking.waited()
    build.change("two")
    assert gate.wait(30) == 75
    assert asking.waited() == approval
    asking.say_yes(approval)
    assert _told(process) == "allow"
    assert [row.state for row in asking.rows()] == ["used"]


_SAY_YES = """
import sys
from lockgate.gate.approvals.answering import answer
from lockgate.store.sqlite.store import SqliteStore
store = SqliteStore.open(sys.argv[1])
answer(store, sys.argv[1], sys.argv[2], approve=True, by="ann", reason="")
"""


@HOW
def test_a_yes_survives_an_upgrade_of_the_tables(asking: Asking, tmp_path: Path, how: str) -> None:
    """Who has waited cannot read the newer ones, and is refused; the same call, made again, finds the answer."""
    asking.how = how
    one, two = Build(tmp_path / "one", "one"), Build(tmp_path / "two", "two")
    two.schema("CREATE TABLE more (a)")
    if how != "alone":
        asking.start(program=one.gate)
    process = asking.ask("toolu_1", hook=one.hook)
    approval = asking.waited()
    words = [sys.executable, "-c", _SAY_YES, asking.state, approval]
    subprocess.run(words, env={**asking.environment, "PYTHONPATH": str(two.package.parent)}, check=True, timeout=60)
    out, _ = process.communicate(timeout=40)
    assert process.returncode == 2
    assert b"allow" not in out
    time.sleep(YOUNG + 0.5)
    assert _told(asking.ask("toolu_2", hook=two.hook)) == "allow"
