"""Compares the state folder that a terminal names with the one that the clients' hooks use.

A hook has its folders in its command line, and a terminal finds them by a variable. Where these differ, a command would
tell of a state that no hook looks at: that nothing was recorded, or that the gate is paused.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from enum import StrEnum

import click

from lockgate.clients.install import claude, claude_checks, other_checks, registration
from lockgate.clients.install.claude_settings_view import CheckContext, find_enabled_plugins, hook_commands, look
from lockgate.core.display_text import visible
from lockgate.core.errors import InstallError
from lockgate.core.record import Record
from lockgate.system.folders import folders


class StateUse(StrEnum):
    """What a command does with the state."""

    READS = "reads"
    ACTS = "acts"
    """It changes what hooks decide, or says so."""


_READS = """
    approvals, audit, canary list, files, gate, needless, policy status, rooms, sessions, status, store status,
    store verify, telemetry
"""
_ACTS = """
    approvals forget, approvals remember, approvals retract, approvals watch, approve, audit accept, audit archive,
    audit prune, brief, canary, dashboard, deny, endorse, files endorse, gate restart, gate start, pause,
    policy install, policy pin, policy publish, policy unpin, prompt, question, resume, rooms end, rooms forward,
    service, store, trust, untrust
"""
_USES = {
    name.strip(): use for use, names in ((StateUse.READS, _READS), (StateUse.ACTS, _ACTS)) for name in names.split(",")
}
"""Of commands, and of groups where the command has none of its own. What is not here does not look at the state."""


class StateOfHooks(Record):
    """The state folder that the hooks of a client use, and the one that the terminal names."""

    client: str
    state: str
    """The folder that the hooks use."""
    here: str
    """The folder that the terminal names."""
    install: str
    """What `lockgate install` is given to have them use it; empty where they use the other one for all users."""

    @property
    def is_here(self) -> bool:
        """Whether both are the same folder."""
        return os.path.realpath(self.state) == os.path.realpath(self.here)

    @property
    def is_there(self) -> bool:
        """Whether their folder is there, and another installation's than the terminal's."""
        return registration.is_another_installation(self.state, self.here)

    @property
    def says(self) -> str:
        """What a person is told."""
        verb = "have their labels in" if self.is_there else "name"
        return f"the hooks of {self.client} {verb} {self.state}, and this terminal names {self.here}"

    def mend(self, command: str) -> str:
        """The line to type, so that a command and the hooks use the same folder."""
        if self.is_there or not self.install:
            return registration.use_that_state(self.state, command)
        return f"lockgate install {self.install}"


def find_hooks_elsewhere(seen: CheckContext, *, own: bool = False) -> list[StateOfHooks]:
    """The clients whose hooks use another state folder than this terminal names.

    Args:
        seen: The settings.
        own: Whether only hooks in the person's own files count. Those of a project are anybody's text.
    """
    found = [each for each in _hooks(seen, own=own) if not each.is_here]
    return list({each.client: each for each in found}.values())


def check_state(words: Sequence[str]) -> None:
    """Say where hooks use another state than a command would, and refuse what would be said in vain.

    Args:
        words: The command line, without the program.

    Raises:
        click.ClickException: The command would act on a state that no hook uses.
    """
    use = _USES.get(" ".join(words[:2]), _USES.get(words[0]) if words else None)
    if use is None or {"-h", "--help"} & set(words):
        return
    seen = look(folders(), os.getcwd(), os.environ, "")
    elsewhere = find_hooks_elsewhere(seen, own=True)
    if not elsewhere:
        return
    first, command = elsewhere[0], shlex.join(["lockgate", *words])
    told = f"{visible(first.says, 2000)}; run: {visible(first.mend(command), 4000)}"
    if use is StateUse.ACTS and not _has_other_users(seen):
        raise click.ClickException(told)
    click.echo(f"Note: {told}", err=True)


def _has_other_users(seen: CheckContext) -> bool:
    """Whether something else than the hooks that are elsewhere decides by the terminal's state.

    Hooks of another client do, and so does what serves containers or is built with the SDK: its folder is there, and no
    client was ever installed with it.
    """
    here = seen.folders.state
    if any(each.is_here for each in _hooks(seen, own=True)):
        return True
    return registration.has_key(here) and not claude.has_installs(here)


def _hooks(seen: CheckContext, *, own: bool) -> Iterator[StateOfHooks]:
    """The hooks of each client, by the state folder that they use."""
    here = seen.folders.state
    for layer, command in hook_commands(seen, "PreToolUse"):
        if layer.scope == claude.MANAGED:
            yield StateOfHooks("claude-code", folders({}).state, here, "")
        elif claude_checks.may_be_tried(seen, layer, command):
            yield from _find_named("claude-code", command, here)
    if find_enabled_plugins(seen) and (state := _state_of_plugin(seen)):
        yield StateOfHooks("claude-code", state, here, "claude-code --plugin")
    for client, file in other_checks.find_guarded(seen):
        if not own or file == registration.hooks_file(client, "user", seen.folders, seen.project, seen.environ):
            yield from _find_named(client, _text(file), here)


def _find_named(client: str, text: str, here: str) -> Iterator[StateOfHooks]:
    for state in registration.find_named_states(text):
        yield StateOfHooks(client, state, here, client)


def _state_of_plugin(seen: CheckContext) -> str:
    lines = _text(claude.launch_record(seen.folders)).splitlines()
    return lines[3] if len(lines) > 3 else ""


def _text(file: str) -> str:
    try:
        return claude.read_text(file) or ""
    except InstallError:
        return ""
