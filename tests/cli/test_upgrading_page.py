"""The page "Upgrade, move, back up, take out": each command on it is run, in the order of the page's sections."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from e2e.harness.terminal import Terminal
from hook.process import Told, run
from lockgate.core.model import Label, Subject
from lockgate.gate.contradictions import accept_contradictions, contradictions
from lockgate.store.files import VERSION
from lockgate.store.sqlite.store import SqliteStore
from support.builds import Build
from support.gates import end_gates
from support.prepared import give_state

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[2] / "docs" / "upgrading.md"
PUSH = tool("PreToolUse", "Bash", {"command": "git push https://git.example.com/x.git"})
CLIENT = "import subprocess, sys; sys.exit(subprocess.call(['/bin/sh', '-c', sys.argv[1]]))"
"""A client of its own, which is no process above the person's terminal."""
PAGE_READ = {"tool_input": {"url": "https://example.org/"}, "tool_response": {"result": "text", "code": 200}}


def commands(section: str) -> list[str]:
    """The commands of a section."""
    text = PAGE.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found = [line.removeprefix("$ ") for line in re.findall(r"^\$ .*$", text, re.MULTILINE)]
    assert found
    return found


class Person:
    """Somebody with a home folder, an installation and a session that has read a stranger's page."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.home.mkdir()
        self.build = Build(root / "one", "one")
        self.environ = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "HOME": str(self.home),
            "PYTHONPATH": str(self.build.package.parent),
        }
        give_state(self.home / ".local" / "state" / "lockgate")
        self.does("lockgate install claude-code")
        told = self.hook(tool("PostToolUse", "WebFetch", **PAGE_READ))
        assert told.code == 0, told
        assert self.hook(PUSH).refuses

    def does(self, line: str, code: int = 0) -> str:
        """Type a line."""
        line = line.replace("~", str(self.home)).replace("/srv/ann", str(self.home / "srv"))
        words = shlex.split(line)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self.environ[name] = value
            return ""
        if words[0] == "lockgate":
            words[:1] = [sys.executable, "-m", "lockgate"]
        if line.startswith("lockgate store restore ") and code == 0:  # only a person may, at a terminal
            with Terminal(words, self.environ, self.home) as terminal:
                terminal.wait_for("Start new ones.")
                return terminal.text
        done = subprocess.run(
            words, cwd=self.home, env=self.environ, capture_output=True, text=True, timeout=100, check=False
        )
        assert done.returncode == code, (line, done)
        return done.stdout + done.stderr

    def hook(self, event: dict[str, Any]) -> Told:
        """What the hook in the settings says."""
        settings = json.loads((self.home / ".claude" / "settings.json").read_text())
        command = settings["hooks"][event["hook_event_name"]][0]["hooks"][0]["command"]
        return run([sys.executable, "-c", CLIENT, command], event, env=self.environ, cwd=self.home)

    @property
    def state(self) -> Path:
        """The state folder."""
        below = self.environ.get("XDG_STATE_HOME", str(self.home / ".local" / "state"))
        return Path(below) / "lockgate"

    def labels(self) -> frozenset[Label]:
        """Those of the session."""
        store = SqliteStore.open(str(self.state))
        try:
            with store.reading() as tx:
                return tx.labels(Subject(PUSH["session_id"]))
        finally:
            store.close()


@pytest.fixture
def ann(tmp_path: Path) -> Iterator[Person]:
    """A person."""
    person = Person(tmp_path)
    yield person
    end_gates(tmp_path)


def test_upgrade(ann: Person) -> None:
    pip, *rest = commands("Upgrade")
    assert pip.startswith("pip install")
    ann.build.change("two")
    told = ann.hook(PUSH)
    assert told.refuses
    assert '"two' in told.stdout, "the new code has decided"
    for line in rest:
        said = ann.does(line)
        assert "FAIL" not in said
    assert ann.labels() == {Label.UNTRUSTED}
    assert ann.hook(PUSH).refuses


def test_go_back(ann: Person) -> None:
    ann.build.schema("CREATE TABLE more (a)")
    ann.build.change("two")
    assert ann.hook(PUSH).refuses
    end_gates(ann.home)
    old = Build(ann.home / "old", "one")
    ann.environ["PYTHONPATH"] = str(old.package.parent)
    ann.does("lockgate install claude-code", code=1)
    blocked = ann.hook(PUSH)
    assert blocked.code == 2
    listing, restoring = commands("Go back to an older version")
    restoring = restoring.replace("lockgate.db.5", f"lockgate.db.{VERSION}")
    assert restoring.replace("~", str(ann.home)) in blocked.stderr
    assert f"lockgate.db.{VERSION} (schema {VERSION})" in ann.does(listing)
    assert "sessions that have both labels now: " in ann.does(restoring)
    ann.does("lockgate install claude-code")
    assert ann.labels() == frozenset(Label)
    assert ann.hook(PUSH).refuses


def test_move(ann: Person) -> None:
    (ann.home / "srv").mkdir()
    for line in commands("Move, or rename the home folder"):
        ann.does(line)
    assert ann.state == ann.home / "srv" / "lockgate"
    assert ann.labels() == {Label.UNTRUSTED}
    assert ann.hook(PUSH).refuses
    assert not (ann.home / ".local" / "state" / "lockgate").exists()
    assert "audit accept" not in ann.does("lockgate status")
    assert ann.does("lockgate audit show").count("put-back") == 1


def test_another_terminal_after_a_move(ann: Person) -> None:
    """It lacks the variable. What it is told names both folders, and leads to the labels and not to an empty state."""
    (ann.home / "srv").mkdir()
    for line in commands("Move, or rename the home folder"):
        ann.does(line)
    where = ann.environ.pop("XDG_STATE_HOME")
    old, new = ann.state, Path(where) / "lockgate"
    said = ann.does("lockgate doctor", code=1)
    assert not old.exists(), "a look begins no state"
    assert f"have their labels in {new}, and this terminal names {old}" in said
    assert f"-> run: XDG_STATE_HOME={where} lockgate doctor" in said
    refused = ann.does("lockgate install claude-code", code=1)
    assert f"To keep these labels, run: XDG_STATE_HOME={where} lockgate install claude-code" in refused
    assert not old.exists(), "nor does an installation that is refused"
    assert ann.hook(PUSH).refuses
    ann.does(f"env XDG_STATE_HOME={where} {sys.executable} -m lockgate install claude-code")
    ann.does(f"env XDG_STATE_HOME={where} {sys.executable} -m lockgate doctor")
    assert ann.hook(PUSH).refuses


def test_a_session_goes_on_between_the_move_and_the_installation(ann: Person) -> None:
    """Its hook begins an empty state in the old place. The person is told which folder has the labels, and is held."""
    (ann.home / "srv").mkdir()
    stop, move, export, install = commands("Move, or rename the home folder")
    ann.does(stop)
    ann.does(move)
    old = ann.state
    ann.hook(PUSH)
    assert (old / "lockgate.db").exists()
    ann.does(export)
    refused = ann.does(install, code=1)
    assert f"Where the labels are in {ann.state}, as after a move, run: mv {old} {old}.aside && {install}" in refused
    ann.does("lockgate gate stop")
    ann.does(f"mv {old} {old}.aside")
    ann.does(install)
    assert Label.UNTRUSTED in ann.labels()
    assert ann.hook(PUSH).refuses


def test_copy_and_not_move(ann: Person) -> None:
    """Who copies the folder is told, and the page says so."""
    assert "move, and do not copy" in PAGE.read_text()
    (ann.home / "srv").mkdir()
    for line in commands("Move, or rename the home folder"):
        ann.does(line.replace("mv ", "cp -a "))
    assert ann.labels() == frozenset(Label)
    assert "lockgate audit accept" in ann.does("lockgate status")


def test_back_up(ann: Person) -> None:
    for line in commands("Back up")[:-2]:
        ann.does(line)
    assert ann.labels() == {Label.UNTRUSTED}
    assert "restored" in ann.does("lockgate store restore ~/backup/lockgate.db")
    assert ann.labels() == frozenset(Label)
    assert ann.hook(PUSH).refuses


def _of(event: dict[str, Any], session: str) -> dict[str, Any]:
    return {**event, "session_id": session}


def _status_line(ann: Person, session: str) -> str:
    script = str(ann.build.package / "statusline.py")
    told = run([sys.executable, script, "--state", str(ann.state)], {"session_id": session}, env=ann.environ)
    return told.stdout


@pytest.mark.parametrize("gate", [True, False], ids=["with a gate", "without a gate"])
def test_put_back_by_hand(ann: Person, gate: bool) -> None:
    """The state is copied, a page is read, the copy is put back: the session is not clean, and the person is told."""
    start = {"hook_event_name": "SessionStart", "source": "startup", "cwd": str(ann.home)}
    assert not ann.hook(_of(start, "s2")).refuses
    assert not ann.hook(_of(PUSH, "s2")).refuses
    *saving, verify, accept = commands("Back up")
    for line in saving:
        ann.does(line)
    assert ann.hook(_of(tool("PostToolUse", "WebFetch", **PAGE_READ), "s2")).code == 0
    assert ann.hook(_of(PUSH, "s2")).refuses
    if not gate:
        ann.does("lockgate gate stop")
    shutil.rmtree(ann.state)
    shutil.copytree(ann.home / "backup", ann.state)
    told = ann.hook(_of(PUSH, "s2"))
    assert told.refuses
    assert "STATE PUT BACK" in _status_line(ann, "s2")
    assert "lockgate audit accept" in ann.hook(_of(start, "s3")).stdout
    assert "lockgate audit accept" in ann.does("lockgate status --session s2")
    assert "older than what is kept of it elsewhere" in ann.does("lockgate doctor", code=1)
    assert "older than what is kept of it elsewhere" in ann.does(verify, code=1)
    ann.does(f"{accept} --yes", code=1)  # no terminal, no person
    # What a person then says at a terminal: below this process nobody is one, since it has run hooks as a client does.
    store = SqliteStore.open(str(ann.state))
    with store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann (terminal)", now=store.clock())
    store.close()
    ann.does(verify)
    assert "STATE PUT BACK" not in _status_line(ann, "s2")
    assert ann.hook(_of(PUSH, "s2")).refuses, "its labels stay"
    assert not ann.hook(_of(start, "s4")).refuses
    assert not ann.hook(_of(PUSH, "s4")).refuses, "a new one is clean"


def test_take_out_after_the_home_folder_was_renamed(ann: Person) -> None:
    """The settings file was not there before, so it is not there afterwards."""
    ann.does("lockgate gate stop")
    ann.home = ann.home.rename(ann.home.with_name("new"))
    ann.environ["HOME"] = str(ann.home)
    ann.does("lockgate uninstall claude-code")
    assert not (ann.home / ".claude" / "settings.json").exists()
    assert json.loads((ann.state / "claude-code-installs.json").read_text()) == {}


def test_take_out(ann: Person) -> None:
    *lines, pip = commands("Take out")
    assert pip.startswith("pip uninstall")
    for line in lines:
        ann.does(line)
    settings = ann.home / ".claude" / "settings.json"
    assert not settings.exists()
    assert ann.labels() == {Label.UNTRUSTED}, "labels stay"


def test_what_a_block_says_is_what_the_page_lists() -> None:
    """Each line of the table stands in a message of the package."""
    rows = re.findall(r"^\| (.+?) \| .+ \|$", PAGE.read_text().partition("## What a block says")[2], re.MULTILINE)[1:]
    package = Path(__file__).resolve().parents[2] / "src" / "lockgate"
    text = " ".join(path.read_text() for path in package.rglob("*.py"))
    said = re.sub(r"\{[^{}]*\}", "X", text)
    for row in rows:
        parts = re.split(r"FILE|ANN|NAME|HOME", row)
        assert all(part.strip() in said for part in parts), row
