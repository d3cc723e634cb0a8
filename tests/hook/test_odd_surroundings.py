"""Surroundings in which a client may start a hook: it decides in each of them, or says in one line what to do."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from adapters.payloads import tool
from hook.process import HOOK, SOURCE, Told, folders, run
from lockgate.clients.hook.start_resident import OFF
from support.gates import end_gates, programs_below

pytestmark = pytest.mark.slow

LS, PUSH = "ls", "git push https://git.example.com/x.git"
PAGE = {"tool_input": {"url": "https://example.org/"}, "tool_response": {"result": "text", "code": 200}}
LONGEST = 5.0
"""Seconds that a hook may take beside other work: the next step of one that stalls comes later."""
UNWRITTEN = "Lockgate blocks to be safe: the answer could not be written\n"
_IGNORING = (
    "import os, signal, sys\n"
    "for name in 'SIGPIPE SIGCHLD SIGALRM SIGTERM SIGHUP'.split():\n"
    "    signal.signal(getattr(signal, name), signal.SIG_IGN)\n"
    "os.execv(sys.argv[1], sys.argv[1:])\n"
)


class Surroundings(NamedTuple):
    """What a client gives to a hook."""

    environ: Mapping[str, str] = {}
    """Variables, of which an empty name stands for none at all."""
    shell: str = ""
    """What a shell does before."""
    before: tuple[str, ...] = ()
    """Words before the command."""


DECIDES = {
    "nothing odd": Surroundings(),
    "an empty PATH": Surroundings({"PATH": ""}),
    "no variables": Surroundings({"": ""}),
    "Turkish": Surroundings({"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}),
    "the C locale": Surroundings({"LC_ALL": "C", "LANG": "C"}),
    "a locale that there is not": Surroundings({"LC_ALL": "xx_YY.bogus\xe9", "LANG": "!!"}),
    "another HOME": Surroundings({"HOME": "/nonexistent"}),
    "an empty HOME": Surroundings({"HOME": ""}),
    "no TMPDIR": Surroundings({"TMPDIR": "/nonexistent"}),
    "20 files": Surroundings(shell="ulimit -n 20"),
    "a small stack": Surroundings(shell="ulimit -s 256"),
    "a umask that takes all": Surroundings(shell="umask 777"),
    "a working folder that is gone": Surroundings(shell="mkdir gone && cd gone && rmdir ../gone"),
    "no stderr": Surroundings(shell="exec 2>&-"),
    "signals that are ignored": Surroundings(before=(sys.executable, "-c", _IGNORING)),
}
BLOCKS = {
    "no stdin": ("exec <&-", "stdin was empty"),
    "no stdout": ("exec >&-", UNWRITTEN),
    "a stdout that is full": ("exec >/dev/full", UNWRITTEN),
    "no streams": ("exec <&- >&- 2>&-", ""),
}


class Hooks:
    """Hooks of a session that has read a stranger's page."""

    def __init__(self, home: Path, client: str, asks: bool) -> None:
        self.home = home
        native = [f"{SOURCE}/lockgate/lockgate-hook", "--python", sys.executable, "--script", HOOK]
        start = native if client == "native" else [sys.executable, "-I", "-S", HOOK]
        self.command = [*start, "claude-code", *folders(home)]
        self.environ = {"HOME": str(home), "PATH": os.environ["PATH"]} | ({} if asks else {OFF: "off"})
        assert self.says(tool("PostToolUse", "WebFetch", **PAGE)).code == 0
        while asks and not programs_below(home):
            self.asks(LS)

    def asks(self, line: str, given: Surroundings | None = None) -> Told:
        return self.says(tool("PreToolUse", "Bash", {"command": line}, cwd=str(self.home)), given)

    def says(self, event: dict[str, object], given: Surroundings | None = None) -> Told:
        given = given or Surroundings()
        kept = {OFF: "off"} if OFF in self.environ else {}
        environ = kept if "" in given.environ else {**self.environ, **given.environ}
        script = f'{given.shell or ":"}; exec "$@"'
        words = [*given.before, "/bin/sh", "-c", script, "sh", *self.command]
        began = time.monotonic()
        told = run(words, json.dumps(event).encode(), env=environ, cwd=self.home)
        assert time.monotonic() - began < LONGEST, (event, told)
        return told


@pytest.fixture(params=["native, gate", "native, no gate", "python, gate", "python, no gate"], scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Hooks]:
    """Hooks by either client, with and without a gate."""
    client, _, gate = request.param.partition(", ")
    home = tmp_path_factory.mktemp("home")
    yield Hooks(home, client, gate == "gate")
    end_gates(home)


@pytest.mark.parametrize("name", DECIDES)
def test_it_decides(hooks: Hooks, name: str) -> None:
    given = DECIDES[name]
    told = hooks.asks(LS, given)
    assert (told.code, told.stdout) == (0, "")
    told = hooks.asks(PUSH, given)
    assert (told.code, told.refuses) == (0, True)
    assert "can send data to another machine" in told.stdout


@pytest.mark.parametrize("name", BLOCKS)
def test_it_blocks_and_says_why(hooks: Hooks, name: str) -> None:
    shell, says = BLOCKS[name]
    told = hooks.asks(PUSH, Surroundings(shell=shell))
    assert told.code == 2
    assert says in told.stderr


@pytest.mark.parametrize("line", [LS, PUSH])
@pytest.mark.parametrize("closed", [False, True])
def test_a_state_on_a_read_only_mount(tmp_path: Path, line: str, closed: bool) -> None:
    """SQLite says something else of a database that the last process has closed: it has no log then."""
    bwrap = shutil.which("bwrap")
    assert bwrap, "bubblewrap is needed: make system"
    hooks = Hooks(tmp_path, "python", asks=False)
    state = str(tmp_path / "state")
    log = Path(state, "lockgate.db-wal")
    if closed:
        with closing(sqlite3.connect(log.with_name("lockgate.db"))) as database:
            database.execute("PRAGMA journal_mode=WAL").fetchone()
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    assert log.exists() is not closed
    told = hooks.asks(line, Surroundings(before=(bwrap, "--dev-bind", "/", "/", "--ro-bind", state, state, "--")))
    assert told.code == 2
    assert f"the file system of {state} is mounted read-only: mount it for writing, or set XDG_STATE" in told.stderr
