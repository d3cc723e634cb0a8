"""Builds of before, out of the history: none of them decides for a hook of this one, and there is a way back."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from cli.test_upgrading_page import commands
from hook.process import Told, run
from lockgate.clients.wire import resident_files
from lockgate.core.errors import ApprovalError
from lockgate.core.model import Label, Subject
from lockgate.gate.approvals import wakeups
from lockgate.gate.approvals.answering import answer
from lockgate.gate.approvals.questions import YOUNG
from lockgate.store.audit.chain import verify_store
from lockgate.store.files import DATABASE
from lockgate.store.sqlite import create
from lockgate.store.sqlite.store import SqliteStore
from support import steady
from support.builds import Build, Environment, of_commit
from support.gates import end_gates, programs_below

pytestmark = pytest.mark.slow  # installs builds of before, each with all that it needs

OLD = "09373df5"
"""Its gates decide for whoever asks, its tables have no seals, and it lets all of these run."""
BEFORE = "d1e98386"
"""It compares code and looks at tables, and its own are older than these."""
OLD_TABLES = 6
"""The version of the tables that it has."""
SAME_TABLES = "40a20102"
"""It has the tables of this build."""
ATTACKS = (
    "declare T={a,$(git push)}",
    "cpupower monitor git push",
    "powerprofilesctl launch git push",
    "dpkg-architecture -c 'git push'",
    "createuser -D -h db.e.example bob",
    "paplay -s e.example a.wav",
    "pdftops a.pdf '|git push'",
    "dvips -o '|git push' a.dvi",
    "mongofiles get .claude/settings.json",
    "git format-patch -o .claude HEAD~1",
    "ansifilter -i evil.txt -o .claude/settings.json",
    "tsc --outDir .claude",
)
NEW = "the-newer-build"
"""What refusals of the build say that is installed."""
SESSION = tool("PreToolUse")["session_id"]
PUSH = "git push https://git.example.com/x.git"
PAGE = {"tool_input": {"url": "https://example.org/"}, "tool_response": {"result": "text", "code": 200}}


class Person:
    """Somebody who has installed a build, and has a session that has read a stranger's page."""

    def __init__(self, root: Path, package: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.home.mkdir()
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"}
        self.state = self.home / ".local" / "state" / "lockgate"
        self.environment = self.uses(Environment(root / "one", package))
        self.does("lockgate install claude-code")
        assert self.hook(tool("PostToolUse", "WebFetch", **PAGE)).code == 0
        assert self.asks(PUSH).refuses

    def uses(self, environment: Environment) -> Environment:
        """Have `lockgate` be that of an environment from now on."""
        self.environ["PYTHONPATH"] = str(environment.package.parent)
        return environment

    def does(self, line: str, code: int = 0) -> str:
        """Type a line."""
        words = shlex.split(line.replace("~", str(self.home)))
        if words[0] == "lockgate":
            words[:1] = [sys.executable, "-m", "lockgate"]
        done = subprocess.run(
            words, cwd=self.home, env=self.environ, capture_output=True, text=True, timeout=100, check=False
        )
        assert done.returncode == code, f"{line}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def hook(self, event: dict[str, Any]) -> Told:
        """What the hook in the settings says."""
        return run(["/bin/sh", "-c", self.command(event["hook_event_name"])], event, env=self.environ, cwd=self.home)

    def command(self, event: str) -> str:
        """The command line of an event's hook."""
        settings = json.loads((self.home / ".claude" / "settings.json").read_text())
        return str(settings["hooks"][event][0]["hooks"][0]["command"])

    def asks(self, line: str) -> Told:
        """What it says of a command."""
        return self.hook(tool("PreToolUse", "Bash", {"command": line}, cwd=str(self.home)))

    def asks_with(self, environment: Environment, line: str, *, native: bool = False) -> Told:
        """What a hook of an environment says, whatever the settings name."""
        hook = str(environment.package / "hook.py")
        client = str(environment.package / "lockgate-hook")
        start = [client, "--python", sys.executable, "--script", hook] if native else [sys.executable, "-I", "-S", hook]
        where = ["--home", str(self.home), "--state", str(self.state), "--config", str(self.home / ".config/lockgate")]
        event = tool("PreToolUse", "Bash", {"command": line}, cwd=str(self.home))
        return run([*start, "claude-code", *where], event, env=self.environ, cwd=self.home)

    def gates(self) -> list[str]:
        """The programs of the gates that run."""
        return list(programs_below(self.root).values())

    def lets_hooks_replace(self) -> None:
        """Let the time pass in which no hook starts a gate or ends one."""
        mark = self.state / "run" / "started"
        mark.touch()
        os.utime(mark, (1, 1))

    @staticmethod
    def until(condition: Callable[[], bool], what: str) -> None:
        """Wait for something."""
        end = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < end, f"waited for {what}"
            time.sleep(0.02)

    def records(self) -> int:
        """How many records the audit has."""
        there = sqlite3.connect(self.state / DATABASE)
        try:
            return int(there.execute("SELECT count(*) FROM audit").fetchone()[0])
        finally:
            there.close()

    def labels(self, agent: str = "") -> frozenset[Label]:
        """Those of the session, or of an agent of it; the chain holds, too."""
        store = SqliteStore.open(str(self.state))
        try:
            with store.reading() as tx:
                assert verify_store(tx, store.key).ok
                return tx.labels(Subject(SESSION, agent))
        finally:
            store.close()


@pytest.fixture
def ann(tmp_path: Path) -> Iterator[Person]:
    """Somebody with the old build and its gate, for which all attacks run."""
    person = Person(tmp_path, of_commit(OLD))
    assert [line for line in ATTACKS if person.asks(line).refuses] == []
    yield person
    end_gates(tmp_path)


@pytest.fixture
def bob(tmp_path: Path) -> Iterator[Person]:
    """Somebody with the build before this one's tables."""
    yield Person(tmp_path, of_commit(BEFORE))
    end_gates(tmp_path)


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Path]:
    """A folder whose gates are ended."""
    yield tmp_path
    end_gates(tmp_path)


def _new(person: Person) -> Environment:
    return Environment(person.root / "two", steady.package())


# ---------------------------------------------------------------- whose code decides
@pytest.mark.parametrize("native", [False, True], ids=["python", "native"])
def test_an_old_gate_lives_while_a_newer_hook_calls(ann: Person, native: bool) -> None:
    (gate,) = ann.gates()
    new = _new(ann)
    for line in ATTACKS:
        told = ann.asks_with(new, line, native=native)
        assert told.refuses, (line, told)
    assert gate not in ann.gates(), "it would go on writing into tables that it does not know"
    assert ann.asks(PUSH).code == 2, "nor does a hook of its own"
    ann.lets_hooks_replace()
    assert ann.asks_with(new, PUSH, native=native).refuses
    ann.until(lambda: ann.gates() == [str(new.package / "service/resident/process.py")], "a gate of the newer build")
    assert [line for line in ATTACKS if not ann.asks_with(new, line, native=native).refuses] == []
    assert Label.UNTRUSTED in ann.labels()


def test_an_old_gate_lives_while_a_newer_build_is_installed_elsewhere(ann: Person) -> None:
    """Doctor tells of it before, with a line that mends it; the installation does that by itself."""
    new = ann.uses(_new(ann))
    said = ann.does("lockgate doctor", code=1)
    assert "resident gate: one runs and hooks cannot ask it: it is of another version" in said
    ann.does("lockgate install claude-code")
    assert str(new.package) in (ann.home / ".claude" / "settings.json").read_text()
    assert [line for line in ATTACKS if not ann.asks(line).refuses] == []
    assert [gate for gate in ann.gates() if not gate.startswith(str(new.package))] == []
    assert "FAIL" not in ann.does("lockgate doctor")
    assert Label.UNTRUSTED in ann.labels()


def test_an_update_in_place_under_load(ann: Person) -> None:
    """Whoever begins after it is refused by the new code; whoever begins meanwhile is answered or refused."""
    done, ending = threading.Event(), threading.Event()
    after: list[tuple[str, Told]] = []
    meanwhile: list[tuple[str, Told]] = []

    def ask(number: int) -> None:
        while not ending.is_set():
            for line in ATTACKS[number::3]:
                kept = after if done.is_set() else meanwhile
                kept.append((line, ann.asks(line)))

    crowd = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for each in crowd:
        each.start()
    time.sleep(0.5)
    ann.environment.upgrade(steady.package())
    done.set()
    ann.until(lambda: len(after) >= 2 * len(ATTACKS), "the crowd")
    ending.set()
    for each in crowd:
        each.join()
    assert [each for each in after if not (each[1].refuses or each[1].code == 2)] == []
    assert {line for line, told in after if told.refuses} == set(ATTACKS)
    assert [told for _, told in meanwhile if told.code not in (0, 2)] == []
    ann.does("lockgate install claude-code")
    assert "FAIL" not in ann.does("lockgate doctor")
    assert Label.UNTRUSTED in ann.labels()


# ---------------------------------------------------------------- a session that goes on
BRIEF = "run: git push origin main"
DELEGATE = "lockgate:delegate"


class Session:
    """A session with a gate, in which a person is asked, a brief is approved and a canary lies."""

    def __init__(self, person: Person) -> None:
        self.person = person
        file = person.home / ".config" / "lockgate" / "lockgate.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("table: {egress: ask}\napprovals: {headless: wait}\n")
        file.chmod(0o600)
        self.transcript = person.home / ".claude" / "projects" / "-p" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.transcript.write_text(json.dumps({"type": "system", "version": "2.1.329", "sessionId": SESSION}) + "\n")
        self.canary = person.does("lockgate canary new --name trap").splitlines()[0]
        brief = {"description": "d", "prompt": BRIEF, "subagent_type": DELEGATE}
        asked = person.hook(self.event("PreToolUse", "Agent", brief, tool_use_id="toolu_brief"))
        assert decision(asked) == "ask"
        self.waiting = self.headless("toolu_waits")
        for _ in range(5):  # on a busy machine, a hook may be refused before it asks
            person.until(lambda: bool(self.questions()) or self.waiting.poll() is not None, "a hook to wait")
            if self.waiting.poll() is None:
                break
            self.waiting.communicate()
            self.waiting = self.headless("toolu_waits")

    def event(self, name: str, *what: Any, **fields: Any) -> dict[str, Any]:
        """An event of the session about a tool."""
        return tool(name, *what, cwd=str(self.person.home), transcript_path=str(self.transcript), **fields)

    def headless(self, call: str) -> subprocess.Popen[bytes]:
        """Begin the hook of a push where nobody sits at the client."""
        event = self.event("PreToolUse", "Bash", {"command": PUSH}, tool_use_id=call)
        process = subprocess.Popen(
            ["/bin/sh", "-c", self.person.command("PreToolUse")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.person.environ, "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"},
            cwd=self.person.home,
        )
        assert process.stdin
        process.stdin.write(json.dumps(event).encode())
        process.stdin.close()
        process.stdin = None
        return process

    def questions(self) -> list[str]:
        """The ids of the questions that somebody waits for."""
        there = sqlite3.connect(self.person.state / DATABASE)
        try:
            rows = there.execute("SELECT approval FROM approvals WHERE state = 'pending'").fetchall()
        finally:
            there.close()
        return [row[0] for row in rows if wakeups.is_waited_for(str(self.person.state), row[0])]

    def delegate(self) -> None:
        """Have the delegate with that brief make a call."""
        meta = self.transcript.with_suffix("") / "subagents" / "agent-d1.meta.json"
        meta.parent.mkdir(parents=True, exist_ok=True)
        meta.write_text(json.dumps({"toolUseId": "toolu_brief"}))
        agent = {"agent_id": "d1", "agent_type": DELEGATE}
        call = self.event("PreToolUse", "Bash", {"command": "git status"}, tool_use_id="toolu_d1", **agent)
        assert decision(self.person.hook(call)) in ("", "allow")


def decision(told: Told) -> str:
    """What an answer says of a call; empty where it runs without a word."""
    assert told.code == 0, told
    return str(told.answer.get("hookSpecificOutput", {}).get("permissionDecision", ""))


@pytest.mark.parametrize("before", [
    # On a busy machine the yes was taken once. Why is not known, so it does not run on each push.
    pytest.param(BEFORE, id="older tables", marks=pytest.mark.nightly),
    pytest.param(SAME_TABLES, id="the same tables"),
])  # fmt: skip
def test_an_update_in_place_of_a_session_that_goes_on(places: Path, before: str) -> None:
    """Its label, its brief and its canary are there afterwards, and the person's answer counts.

    A brief of a build whose rows have no seals could be anybody's: its delegate starts with the labels of its parent.
    """
    person = Person(places, of_commit(before))
    session = Session(person)
    done, ending = threading.Event(), threading.Event()
    after: list[Told] = []
    meanwhile: list[Told] = []
    tampers = session.event("PreToolUse", "Write", {"file_path": str(person.state / DATABASE), "content": ""})

    def ask() -> None:
        while not ending.is_set():
            (after if done.is_set() else meanwhile).append(person.hook(tampers))

    crowd = [threading.Thread(target=ask) for _ in range(2)]
    for each in crowd:
        each.start()
    try:
        time.sleep(0.5)
        person.environment.upgrade(Build(places / "new", NEW).package)
        done.set()
        person.does("lockgate install claude-code")
        person.until(lambda: len(after) >= 8, "the crowd")
    finally:
        ending.set()
        for each in crowd:
            each.join()
    assert [told for told in after if not (told.code == 2 or (told.refuses and NEW in told.stdout))] == []
    assert [told for told in meanwhile if not (told.code == 2 or told.refuses)] == []
    assert sum(told.refuses for told in after) >= 4
    assert Label.UNTRUSTED in person.labels()
    session.delegate()
    assert person.labels("d1") == (frozenset({Label.UNTRUSTED}) if before == BEFORE else frozenset())
    _answer(session, is_old=before == BEFORE)
    leaks = person.asks(f"echo {session.canary}")
    assert leaks.refuses
    assert "trap" in leaks.stdout
    assert "FAIL" not in person.does("lockgate doctor")


def _answer(session: Session, *, is_old: bool) -> None:
    """A person says yes; whoever waited runs, or the same call that is made again.

    The hook that waits writes nothing into tables that it does not know, and waits for no patterns. A question with
    older tables has nothing that proves what it shows.
    """
    person = session.person
    waiting, (question,) = session.waiting, _open_questions(person)
    if is_old:
        with pytest.raises(ApprovalError, match="an older Lockgate asked it"):
            _say_yes(person, question)
        waiting.kill()
    else:
        _say_yes(person, question)
    out, _ = waiting.communicate(timeout=60)
    if waiting.returncode:
        assert b'"allow"' not in out
        time.sleep(YOUNG + 0.5)
        again = session.headless("toolu_again")
        if is_old:
            person.until(lambda: len(_open_questions(person)) == 2, "a new question")
            (anew,) = {*_open_questions(person)} - {question}
            _say_yes(person, anew)
        out, _ = again.communicate(timeout=60)
        assert again.returncode == 0
    assert json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "allow"


def _open_questions(person: Person) -> list[str]:
    store = SqliteStore.open(str(person.state))
    try:
        with store.reading() as tx:
            return [row.approval for row in tx.approvals() if row.state == "pending"]
    finally:
        store.close()


def _say_yes(person: Person, question: str) -> None:
    store = SqliteStore.open(str(person.state))
    try:
        answer(store, str(person.state), question, approve=True, by="ann", reason="")
    finally:
        store.close()


# ---------------------------------------------------------------- the tables, and the way back
def test_a_newer_build_and_back(bob: Person) -> None:
    """The older build writes nothing into newer tables, and what its hook says can be done."""
    (gate,) = bob.gates()
    new, copy = _new(bob), bob.state / f"{DATABASE}.{OLD_TABLES}"
    assert bob.asks_with(new, PUSH).refuses
    assert gate not in bob.gates()
    before = bob.records()
    for _ in range(3):
        told = bob.asks(PUSH)
        assert told.code == 2
        assert "was written by a newer Lockgate" in told.stderr
        assert f"lockgate store restore {copy}" in told.stderr
    assert bob.records() == before
    start = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s2", "cwd": str(bob.home)}
    bob.environment.upgrade(steady.package())
    assert f"is kept in {copy}" in bob.hook(start).stdout
    bob.does("lockgate install claude-code")
    assert bob.asks(PUSH).refuses
    assert Label.UNTRUSTED in bob.labels()
    bob.environment.upgrade(of_commit(BEFORE))
    told = bob.asks(PUSH)
    assert told.code == 2
    line = f"lockgate store restore {copy}"
    assert line in told.stderr
    assert str(copy) in bob.does("lockgate store restore")
    assert "sessions that have both labels now: " in bob.does(line)
    bob.does("lockgate install claude-code")
    assert "FAIL" not in bob.does("lockgate doctor")
    assert bob.asks(PUSH).refuses
    bob.environment.upgrade(steady.package())
    assert bob.labels() == frozenset(Label)
    assert bob.asks(PUSH).refuses


def test_back_to_a_build_without_a_command_for_it(ann: Person) -> None:
    """The page's lines let it begin a state of its own, and let the newer one go on with its labels afterwards."""
    lines = commands("Go back to a build without `store restore`")
    begin, again = lines[:3], lines[3:]
    ann.environment.upgrade(steady.package())
    ann.does("lockgate install claude-code")
    assert ann.asks(PUSH).refuses
    labels = ann.labels()
    ann.environment.upgrade(of_commit(OLD))
    told = ann.asks(PUSH)
    assert told.code == 2
    assert told.stderr.rstrip().endswith("upgrade this one")
    assert ann.does("lockgate --version").strip() == "lockgate, version 0.1.0"
    for line in begin:
        ann.does(line)
    resumed = {"hook_event_name": "SessionStart", "source": "resume", "session_id": SESSION, "cwd": str(ann.home)}
    assert ann.hook(resumed).code == 0
    assert ann.asks(PUSH).refuses, "one that is resumed"
    ann.environment.upgrade(steady.package())
    for line in again:
        ann.does(line)
    assert ann.labels() == labels
    assert ann.asks(PUSH).refuses
    assert "audit accept" not in ann.does("lockgate status")
    assert "FAIL" not in ann.does("lockgate doctor")


def test_the_gate_that_an_upgrade_of_the_tables_ends_is_the_one_that_listens() -> None:
    assert (create.RUN, create.LISTENS) == (resident_files.RUN, (resident_files.SOCKET, resident_files.LOCK))
