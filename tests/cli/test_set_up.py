"""What loosens takes a person at a terminal of their own, once an agent is guarded here; before that a script may."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from adapters.payloads import tool
from hook.process import hook
from lockgate.cli.common import person
from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.store.audit.record import event_record
from lockgate.store.files import DATABASE, KEY
from lockgate.store.sqlite.store import SqliteStore
from support.commands import invoked

TERMINAL = "in a terminal of their own"
HOOKS = [{"hooks": [{"type": "command", "command": "python3 /x/lockgate/hook.py claude-code"}]}]
COMMANDS = [
    ("trust", "--yes"),
    ("policy", "pin", "fleet.pem.pub", "--fleet", "acme", "--yes"),
    ("policy", "unpin", "--all"),
    ("canary", "revoke", "trap"),
    ("store", "use", "sqlite"),
]


@pytest.fixture(autouse=True)
def nobody_sits_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a script, in a command of an agent, and in a service."""
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: -1)


@pytest.fixture
def state(home: Path) -> Path:
    """The folder for the state of a machine on which all of the commands have something to do."""
    (home / "lockgate.yaml").write_text("table: {egress: allow}\n")
    key = invoked("policy", "keygen", "fleet.pem", "--no-passphrase").stdout
    (home / "fleet.pem.pub").write_text(key)
    return home / ".local" / "state" / "lockgate"


def _record(state: Path, client: str = "claude-code") -> None:
    with closing(SqliteStore.open(str(state))) as store, store.transaction() as tx:
        tx.append_audit(store.clock(), event_record(Context(client, Subject("s1")), "decision", {}))


def _install_hooks(state: Path) -> None:
    settings = state.parents[2] / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": {"PreToolUse": HOOKS}}))


def _move_aside(*names: str) -> Callable[[Path], None]:
    def move(state: Path) -> None:
        _record(state)
        (state.parent / "aside").mkdir()
        for name in names:
            for path in state.glob(f"{name}*"):
                path.rename(state.parent / "aside" / path.name)

    return move


def _cut(state: Path) -> None:
    """The records of before were removed after their time."""
    from lockgate.store.audit.pruning import cut

    for _ in range(3):
        _record(state, "cli")
    with closing(SqliteStore.open(str(state))) as store, store.transaction() as tx:
        assert cut(tx, store.key, 2, store.clock(), {"client": "cli"})


IN_USE = {
    "a session is recorded": _record,
    "a client has hooks": _install_hooks,
    "the database is moved aside": _move_aside(DATABASE),
    "the database and the key are moved aside": _move_aside(DATABASE, KEY),
    "the folder is taken away": lambda state: (_record(state), shutil.rmtree(state))[0],
    "the first records were removed": _cut,
}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("how", IN_USE)
def test_nobody_without_a_terminal_loosens(state: Path, how: str, words: tuple[str, ...]) -> None:
    IN_USE[how](state)
    before = {path: path.read_bytes() for path in state.glob("*.json")}
    told = invoked(*words, code=1)
    assert TERMINAL in told.output
    assert {path: path.read_bytes() for path in state.glob("*.json")} == before


@pytest.mark.parametrize("words", COMMANDS[:-1], ids=" ".join)
def test_a_person_at_a_terminal_does(state: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    invoked(*COMMANDS[1])
    invoked("canary", "new", "--name", "trap")
    _record(state)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())
    invoked(*words)


def test_a_script_that_sets_a_machine_up_needs_none(state: Path) -> None:
    invoked("store", "use", "sqlite")
    for words in (
        COMMANDS[1],
        ("trust", "--yes"),
        ("canary", "new", "--name", "trap"),
        *COMMANDS[2:4],
        ("trust", "--yes"),
    ):
        invoked(*words)
    _record(state)
    assert TERMINAL in invoked("trust", "--yes", code=1).output


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("guarded", [True, False])
def test_an_agents_shell_may_not_even_in_a_terminal(
    state: Path, monkeypatch: pytest.MonkeyPatch, guarded: bool, words: tuple[str, ...]
) -> None:
    if guarded:
        _record(state)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "CLAUDECODE is set" in invoked(*words, code=1).output


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nobody_below_a_client_may(state: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    _record(state)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())
    monkeypatch.setattr("lockgate.cli.common.ancestors.agent_above", lambda _: "claude, process 7")
    assert person.inside_agent(os.environ) == ""
    assert "below an agent (claude, process 7)" in invoked(*words, code=1).output


@pytest.mark.parametrize(
    "command",
    [
        "lockgate trust --yes",
        "XDG_STATE_HOME=/tmp/x lockgate trust --yes",
        "python3 -m lockgate trust --yes",
        "bash -c 'lockgate trust --yes'",
        "script -qec 'lockgate trust --yes' /dev/null",
        "env -u CLAUDECODE setsid lockgate trust --yes",
        "expect -c 'spawn lockgate trust --yes; interact'",
        "tmux new -d 'lockgate trust --yes'",
        "systemd-run --user lockgate trust --yes",
        "sudo -E lockgate store use sqlite",
        "uvx lockgate store use postgresql:///x",
        "mv ~/.local/state/lockgate/lockgate.db /tmp/x && lockgate store use sqlite",
        "lockgate canary revoke trap",
        "lockgate policy unpin --all",
    ],
)
def test_a_call_of_an_agent_is_denied_in_a_clean_session(tmp_path: Path, command: str) -> None:
    told = hook(tmp_path, tool("PreToolUse", "Bash", {"command": command}))
    decided = json.loads(told.stdout)["hookSpecificOutput"]
    assert decided["permissionDecision"] == "deny"
    assert "No agent may do this, in any session" in decided["permissionDecisionReason"], decided
