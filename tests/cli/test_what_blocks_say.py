"""Each block over a state that is not as it was says what to do, in a line that works; and nothing that does not."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from hook.process import HOOK, Told, run
from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.store.files import DATABASE, KEY, VERSION
from lockgate.store.sqlite.store import SqliteStore
from support import steady
from support.gates import end_gates
from support.prepared import give_state
from support.unguarded import unguarded

pytestmark = pytest.mark.slow

CLIENT = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
"""A client of its own, which is no process above the person's terminal."""
FETCH = {"tool_input": {"url": "https://example.org/", "prompt": "x"}}
RESULT = {"tool_response": {"result": "text", "code": 200}}
PUSH = {"command": "git push https://git.example.com/x.git"}
COMMAND = re.compile(r"(?<!/)lockgate (?:[a-z]+ ?)+(?:--[a-z]+ \S+|/\S+)?|(?:mv|chmod) \S+ \S+")
"""What a person would type, in a text."""
STATUS = ("lockgate status --session s1", 0, "this session has read")
ENDORSE = ("lockgate endorse --session s1", 0, "WebFetch: https://example.org/")
VERIFY = ("lockgate audit verify", 1, "lockgate audit accept")
HOLDS = ("lockgate audit verify", 0, "the audit chain holds")
ACCEPT = ("lockgate audit accept", 0, "mended, and recorded")
CHOOSE = ("lockgate store use sqlite", 0, "")
MEND = ("lockgate store mend", 0, "")
ASIDE = ("mv STATE STATE.aside", 0, "")

Command = tuple[str, int, str]
"""A line, its exit status, and what it says."""


class Person:
    """Somebody with a session that has read a stranger's page."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.home.mkdir()
        self.state = self.home / ".local" / "state" / "lockgate"
        give_state(self.state)
        (root / "bin").mkdir()
        program = root / "bin" / "lockgate"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m lockgate "$@"\n')
        program.chmod(0o755)
        self.environ = {
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "PYTHONPATH": steady.path(),
            "LOCKGATE_RESIDENT": "off",
            "TERM": "dumb",
        }
        self.begins("s1")
        self.calls("Bash", {"command": "ls"})

    def hook(self, event: dict[str, Any], session: str = "s1") -> Told:
        words = ["claude-code", "--home", str(self.home), "--state", str(self.state)]
        command = [sys.executable, "-I", "-S", HOOK, *words, "--config", str(self.home / ".config" / "lockgate")]
        event = {**event, "session_id": session, "cwd": str(self.home), "transcript_path": ""}
        return run([sys.executable, "-c", CLIENT, *command], event, env=self.environ, cwd=self.home)

    def begins(self, session: str) -> Told:
        return self.hook({"hook_event_name": "SessionStart", "source": "startup"}, session)

    def calls(self, name: str, given: dict[str, Any], session: str = "s1") -> Told:
        return self.hook(
            {**tool("PreToolUse", name), "tool_input": given, "tool_use_id": f"c{time.time_ns()}"}, session
        )

    def reads(self, session: str = "s1") -> None:
        self.hook({**tool("PreToolUse", "WebFetch", **FETCH), "tool_use_id": "f1"}, session)
        self.hook({**tool("PostToolUse", "WebFetch", **FETCH, **RESULT), "tool_use_id": "f1"}, session)

    def types(self, line: str) -> tuple[int, str]:
        """Type a line in a terminal of one's own, and say yes to what it asks."""
        process, terminal = pty.fork()
        if not process:  # pragma: no cover - the child
            os.chdir(self.home)
            os.execve("/bin/sh", ["/bin/sh", "-c", line], self.environ)
        told = b""
        with contextlib.suppress(OSError):  # Linux says so at the end
            while part := os.read(terminal, 4096):
                told += part
                if part.rstrip().endswith(b"[y/N]:"):
                    os.write(terminal, b"y\n")
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), told.decode()

    @contextlib.contextmanager
    def database(self) -> Iterator[sqlite3.Connection]:
        """The database, open to whoever may write the file."""
        connection = sqlite3.connect(self.state / DATABASE, isolation_level=None)
        with unguarded(connection):
            yield connection
        connection.close()


def _sql(*statements: str) -> Callable[[Person], None]:
    def change(ann: Person) -> None:
        ann.reads()
        with ann.database() as database:
            for statement in statements:
                database.execute(statement)

    return change


def _write(name: str, data: bytes | None) -> Callable[[Person], None]:
    def change(ann: Person) -> None:
        ann.reads()
        for each in ann.state.glob(f"{name}-*"):
            each.unlink()
        if data is None:
            (ann.state / name).unlink()
        else:
            (ann.state / name).write_bytes(data)
            (ann.state / name).chmod(0o600)

    return change


def _read(ann: Person) -> None:
    ann.reads()


def _write_on(ann: Person) -> None:
    ann.reads()
    ann.calls("Write", {"file_path": str(ann.home / "x"), "content": "a"})


def _put_back(ann: Person) -> None:
    shutil.copytree(ann.state, ann.home / "copy")
    ann.reads()
    shutil.rmtree(ann.state)
    shutil.copytree(ann.home / "copy", ann.state)


def _put_back_and_accept(ann: Person) -> None:
    _put_back(ann)
    ann.calls("Bash", {"command": "ls"})
    assert ann.types("lockgate audit accept")[0] == 0


def _lose_outside(ann: Person) -> None:
    shutil.rmtree(ann.state.parent / ".lockgate")


def _copy(ann: Person) -> None:
    """The folder is copied, and hooks use the copy."""
    moved = ann.home / "srv" / "lockgate"
    shutil.copytree(ann.state, moved)
    ann.state = moved
    ann.environ["XDG_STATE_HOME"] = str(moved.parent)


def _replace(ann: Person) -> None:
    ann.state.rename(ann.home / "aside")
    ann.begins("other")
    shutil.rmtree(ann.state)
    (ann.home / "aside").rename(ann.state)


def _kill(ann: Person) -> None:
    """A process ends between what it announces and its commit."""
    store = SqliteStore.open(str(ann.state))
    tx = store.begin(writable=True)
    taint = Taint(Label.UNTRUSTED, "a page", "WebFetch", "f9", time.time(), TaintState.PENDING)
    tx.add_taints(Subject("s1"), [taint])
    tx.append_audit(time.time(), {"event": "outcome", "client": "", "session": "", "agent": ""})
    assert store._outside is not None
    store._outside.announce(store._connection, tx.gains)
    store.roll_back()
    store.close()


def _open_to_others(ann: Person) -> None:
    ann.reads()
    ann.state.chmod(0o777)


def _drop_index(ann: Person) -> None:
    with ann.database() as database:
        (name,) = database.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql != ''").fetchone()
        database.execute(f"DROP INDEX {name}")


def _keep_a_copy(ann: Person) -> None:
    """As before an upgrade, whose database is damaged then."""
    ann.reads()
    store = SqliteStore.open(str(ann.state))
    store._connection.execute(f"VACUUM INTO '{ann.state}/{DATABASE}.{VERSION}'")
    store.close()
    (ann.state / f"{DATABASE}.{VERSION}").chmod(0o600)
    _write(DATABASE, b"x" * 9000)(ann)


STATES: dict[str, tuple[Callable[[Person], None], list[Command], bool]] = {
    "a page was read": (_read, [ENDORSE, STATUS], True),
    "a page was read, and a file written since": (_write_on, [STATUS], True),
    "an older state": (_put_back, [VERIFY, ACCEPT, STATUS], True),
    "an older state, which was accepted": (_put_back_and_accept, [HOLDS, STATUS], True),
    "what is kept outside is gone": (_lose_outside, [VERIFY, ACCEPT, STATUS], True),
    "a copy": (_copy, [VERIFY, ACCEPT, STATUS], True),
    "another state was here": (_replace, [VERIFY, ACCEPT, STATUS], True),
    "a process was killed": (_kill, [STATUS], True),
    "sources are deleted": (_sql("DELETE FROM taints"), [VERIFY, STATUS], True),
    "seals are deleted": (_sql("DELETE FROM label_seals"), [VERIFY, STATUS], True),
    "the head is changed": (
        _sql("UPDATE audit_head SET digest = '00'"),
        [("lockgate audit verify", 1, "lockgate store restore")],
        False,
    ),
    "the key is gone": (_write(KEY, None), [ASIDE], True),
    "the key is cut": (_write(KEY, b"x"), [ASIDE], True),
    "another key": (_write(KEY, b"x" * 32), [("lockgate audit verify", 1, "mv STATE STATE.aside")], False),
    "the database is damaged": (_write(DATABASE, b"x" * 9000), [ASIDE], True),
    "the database is damaged, and there is a copy": (
        _keep_a_copy,
        [("lockgate store restore STATE/lockgate.db.VERSION", 0, "Start new ones")],
        True,
    ),
    "the database is empty": (_write(DATABASE, b""), [ASIDE], True),
    "the database is gone": (_write(DATABASE, None), [VERIFY, ACCEPT, STATUS], True),
    "a trigger": (_sql("CREATE TRIGGER t AFTER INSERT ON taints BEGIN SELECT 1; END"), [MEND], True),
    "no index": (_drop_index, [MEND], True),
    "a smaller version": (_sql("PRAGMA user_version = 3"), [MEND], True),
    "no version": (_sql("PRAGMA user_version = 0"), [MEND], True),
    "no choice of a store": (_write("store.json", b"{}"), [CHOOSE], True),
    "a choice of another's": (_write("store.json", b'{"url": "postgresql:///x"}'), [CHOOSE], True),
    "others can write there": (_open_to_others, [("chmod 700 STATE", 0, "")], True),
}
"""How a state comes about, what is said to be typed there, in its order, and whether a new session works then."""


def _texts(told: Told) -> str:
    try:
        said = json.loads(told.stdout or "{}")
    except ValueError:
        return told.stdout + told.stderr
    inner = said.get("hookSpecificOutput", {})
    return "\n".join(map(str, (said.get("systemMessage", ""), inner.get("permissionDecisionReason", ""), told.stderr)))


@pytest.mark.parametrize("name", STATES)
def test_each_line_of_a_block_works(tmp_path: Path, name: str) -> None:
    make, commands, works = STATES[name]
    ann = Person(tmp_path)
    try:
        make(ann)
        commands = [
            tuple(str(part).replace("STATE", str(ann.state)).replace("VERSION", str(VERSION)) for part in each)
            for each in commands
        ]  # type: ignore[misc]
        blocked = ann.calls("Bash", PUSH)
        said = f"{_texts(blocked)}\n{_texts(ann.begins('s2'))}"
        assert "deny" in blocked.stdout, "it is a block"
        found = {line.strip() for line in COMMAND.findall(said)}
        assert found == {line for line, _, _ in commands}, said
        for line, code, says in commands:
            ended, told = ann.types(line)
            assert (ended, says in told) == (int(code), True), (line, told)
        ann.begins("s3")
        new = ann.calls("Bash", PUSH, "s3")
        assert (new == (0, "", "")) is works, new
    finally:
        end_gates(tmp_path)
