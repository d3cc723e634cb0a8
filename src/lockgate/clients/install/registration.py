"""Registers the gate with any client: finds clients, checks their guard, and shows the changes."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping
from enum import StrEnum

from lockgate.clients.adapter import CLIENTS
from lockgate.clients.common.abilities import ABILITIES, Ability
from lockgate.clients.common.folders import client_folder
from lockgate.clients.common.hook_command import HookLaunch, either_client
from lockgate.clients.install import claude, codex_trust, other_checks, others
from lockgate.clients.install.claude import SettingsChange
from lockgate.clients.install.claude_settings_view import CheckContext, find_enabled_plugins, hook_commands
from lockgate.core.errors import InstallError
from lockgate.core.record import Record
from lockgate.store.files import KEY, KEY_BYTES
from lockgate.system.files import read_regular
from lockgate.system.folders import Folders

_CLAUDE = "claude-code"
_REMOTE = re.compile(r"lockgate/hook\.py.*--remote\b")
"""A hook that asks a gate outside of this container. Only a person knows its words: see ``remote_words``."""


_STATE_OF_HOOKS = re.compile(r"""--state(?: '((?:[^']|'\\?"'\\?"')+)'|", ?"((?:[^"\\]|\\.)+)")""")
"""The state folder that a hook names, in a command line or in a list of words; either may stand in JSON."""


class GuardState(StrEnum):
    """Whether a client's own files hold the gate's hooks."""

    GUARDED = "guarded"
    BY_PLUGIN = "guarded by its plugin"
    MANAGED = "guarded by the settings of this machine's administrator"
    RENEW = "guarded, by entries of another version or installation"
    NOT = "not guarded"
    REMOTE = "guarded by a gate outside of this container"
    UNREADABLE = "its settings cannot be read"


class ClientHere(Record):
    """A client of this machine."""

    client: str
    program: str
    """Where its program lies in PATH; empty where only its folder is there, as with an editor's extension."""
    file: str
    """The user's file that its hooks stand in, or would stand in."""
    state: GuardState
    holds: Ability
    """What it can hold of what the gate answers."""
    problem: str = ""
    """Why its settings cannot be read."""

    @property
    def may_have_hooks(self) -> bool:
        """Whether its own files hold hooks of the gate, or may hold them."""
        return self.state in (GuardState.GUARDED, GuardState.RENEW, GuardState.REMOTE, GuardState.UNREADABLE)

    @property
    def is_guarded_otherwise(self) -> bool:
        """Whether hooks guard it that an installation without more words would double or replace."""
        return self.state in (GuardState.BY_PLUGIN, GuardState.REMOTE, GuardState.MANAGED)

    @property
    def lacks_hooks(self) -> bool:
        """Whether an installation would guard it, or renew its hooks."""
        return self.state in (GuardState.NOT, GuardState.RENEW)


def clients_here(seen: CheckContext) -> list[ClientHere]:
    """The clients whose program is in PATH or whose folder is in the person's home, in the order of the adapters."""
    found = []
    for client in CLIENTS:
        program = shutil.which(_program(client), path=seen.environ.get("PATH")) or ""
        if program or os.path.isdir(_folder(client, seen)):
            found.append(_find_registration(client, program, seen))
    return found


def _find_registration(client: str, program: str, seen: CheckContext) -> ClientHere:
    file = _user_file(client, seen)
    try:
        state, problem = _state(client, file, seen), ""
    except InstallError as error:
        state, problem = GuardState.UNREADABLE, str(error)
    return ClientHere(client, program, file, state, ABILITIES[client], problem)


def hooks_file(client: str, scope: str, where: Folders, project: str, environ: Mapping[str, str]) -> str:
    """The file that a client's hooks stand in.

    Raises:
        InstallError: The client has no such scope.
    """
    own = claude.settings_file if client == _CLAUDE else functools.partial(others.hooks_file, client)
    return own(scope, where, project, environ)


def plan_install(client: str, launch: HookLaunch, *, statusline: bool = False) -> SettingsChange:
    """Work out what installing changes, and change nothing yet.

    Raises:
        InstallError: The file cannot be read, or holds something else.
    """
    if client == _CLAUDE:
        return claude.plan_install(launch.settings, launch, statusline=statusline)
    return others.plan_install(client, launch.settings, launch)


def plan_uninstall(client: str, file: str, where: Folders) -> SettingsChange:
    """Work out what uninstalling changes, and change nothing yet.

    Raises:
        InstallError: The file cannot be read, or holds something else.
    """
    return claude.plan_uninstall(file, where) if client == _CLAUDE else others.plan_uninstall(client, file, where)


def find_named_states(text: str) -> list[str]:
    """The state folders that hooks name.

    Args:
        text: What has the hooks: a file, or a command line.
    """
    return list(dict.fromkeys(_path_in(first or second) for first, second in _STATE_OF_HOOKS.findall(text)))


def is_another_installation(state: str, here: str) -> bool:
    """Whether a state folder is there, and is not the one that the terminal names, nor a copy of it.

    A copy has the same key. Whose labels count where there is one is found when the state is opened.
    """
    key = _key_of(state)
    return bool(key) and os.path.realpath(state) != os.path.realpath(here) and key != _key_of(here)


def has_key(state: str) -> bool:
    """Whether a folder is the state of an installation, and this user's alone."""
    return bool(_key_of(state))


def _path_in(written: str) -> str:
    """A path as it stands in quotes of a shell, of JSON, or of both."""
    try:
        text = str(json.loads(f'"{written}"'))
    except ValueError:
        text = written
    return text.replace("'\"'\"'", "'")


def use_that_state(state: str, command: str) -> str:
    """The line that a person types to have a command use a state folder."""
    return f"XDG_STATE_HOME={shlex.quote(os.path.dirname(state))} {command}"


def _key_of(state: str) -> bytes:
    """The key of a state folder; nothing where that is no folder as Lockgate makes it: a clone can bring one."""
    path = os.path.join(state, KEY)
    try:
        found = os.lstat(path)
        is_private = found.st_uid == os.geteuid() and not found.st_mode & 0o077
        return read_regular(path, KEY_BYTES + 1) if is_private else b""
    except (OSError, ValueError):
        return b""


def describe_next_step(client: str) -> str:
    """What a person must still do after an installation; empty where that is nothing."""
    return "" if client == _CLAUDE else others.WAYS[client].then


def trust_hooks(file: str, project: str, home: str) -> int:
    """Trust the gate's hooks that stand in a file of Codex, which runs no others. Returns how many there are.

    Raises:
        InstallError: Codex does not answer, or finds no hook of the gate there.
    """
    return codex_trust.trust(file, project, home)


def find_trusted_hooks(client: str, file: str) -> list[str]:
    """The names under which a client keeps its trust in the gate's hooks of a file; only Codex does.

    Raises:
        InstallError: The file holds something else than hooks.
    """
    return codex_trust.own_keys(file) if client == "codex" else []


def forget_trust(keys: Iterable[str], home: str) -> None:
    """Take the trust in hooks out of the person's settings of Codex.

    Raises:
        InstallError: The file cannot be written.
    """
    codex_trust.forget(keys, home)


def _user_file(client: str, seen: CheckContext) -> str:
    return hooks_file(client, "user", seen.folders, seen.project, seen.environ)


def _state(client: str, file: str, seen: CheckContext) -> GuardState:
    text = claude.read_text(file) or ""
    if "lockgate/hook.py" not in text:
        return _other_guard_state(seen) if client == _CLAUDE else GuardState.NOT
    if _REMOTE.search(text):
        return GuardState.REMOTE
    plans = (plan_install(client, launch) for launch in either_client(claude.this_launch(seen.folders, file)))
    return GuardState.RENEW if all(plan.changes for plan in plans) else GuardState.GUARDED


def _other_guard_state(seen: CheckContext) -> GuardState:
    """Whether Claude Code is guarded by hooks that stand in none of the user's files."""
    if any(layer.scope == claude.MANAGED for layer, _ in hook_commands(seen, "PreToolUse")):
        return GuardState.MANAGED
    return GuardState.BY_PLUGIN if find_enabled_plugins(seen) else GuardState.NOT


def _program(client: str) -> str:
    return "claude" if client == _CLAUDE else other_checks.PROGRAMS[client]


def _folder(client: str, seen: CheckContext) -> str:
    """The client's own folder in the person's home."""
    if client == _CLAUDE:
        return os.path.dirname(_user_file(client, seen))
    way = others.WAYS[client]
    base = client_folder(way.moved_by, os.path.join(seen.folders.home, way.user[0]), seen.environ)
    return os.path.join(base, *way.user[1 : way.own])
