"""Registers the gate with Claude Code, and removes it so that the settings are as they were."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lockgate.clients.common import hook_command
from lockgate.clients.common.folders import client_folder
from lockgate.clients.common.hook_command import HookLaunch
from lockgate.clients.common.transcripts import EVENTS
from lockgate.clients.hook.native import usable
from lockgate.clients.install import settings_text
from lockgate.clients.install.settings_text import FormerFile
from lockgate.core.errors import InstallError
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.system.folders import Folders
from lockgate.system.ownership import make_folders, problem_of

_RECORDS = "claude-code-installs.json"
LAUNCH_RECORD = "claude-code.launch"
"""Where the plugin finds the program. Five lines, and one for the native client; see ``plugin/hooks/run.sh``."""
SCOPES = ("user", "project", "local")
MANAGED = "managed"
"""The scope of all users of a machine. Only its administrator writes there, and a user can switch nothing of it off."""


class SettingsChange(NamedTuple):
    """The change that an installation, or its removal, makes to one settings file."""

    file: str
    """The file as the client names it."""
    before: str | None
    """Its text; ``None`` where there is no file."""
    after: str | None
    record: FormerFile | None
    """What to write down for the removal; ``None`` where nothing stays installed."""
    new_folder: bool = False
    """Whether the file's folder is made for it, or was."""

    @property
    def changes(self) -> bool:
        """Whether the file's text changes."""
        return self.before != self.after

    def diff(self) -> str:
        """The change as a unified diff."""
        old, new = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        lines = difflib.unified_diff(old, new, self.file, self.file)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ no newline at end of file\n" for line in lines)


def settings_file(scope: str, folders: Folders, project: str, environ: Mapping[str, str]) -> str:
    """The settings file of a scope.

    Args:
        scope: ``user``, ``project``, ``local`` or ``managed``.
        folders: Where the user's home is.
        project: The project's root folder, absolute.
        environ: The environment; ``CLAUDE_CONFIG_DIR`` moves the user's settings.
    """
    if scope == "user":
        base = client_folder("CLAUDE_CONFIG_DIR", os.path.join(folders.home, ".claude"), environ)
        return os.path.join(base, "settings.json")
    if scope == MANAGED:
        return os.path.join(find_managed_folder(), "managed-settings.d", "lockgate.json")
    return os.path.join(project, ".claude", "settings.json" if scope == "project" else "settings.local.json")


def find_managed_folder() -> str:
    """Where an administrator's settings for this client are (code.claude.com, "Claude Code settings")."""
    return "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"


def this_launch(folders: Folders, settings: str = "", *, native: bool = True) -> HookLaunch:
    """How to start the program that is running now.

    Args:
        folders: What the hooks are told of folders.
        settings: The settings file that the hooks stand in.
        native: Whether to take the native client, where there is one that runs.

    Raises:
        InstallError: A path holds what cannot stand in a command line.
    """
    hook = os.path.join(PACKAGE_FOLDER, "hook.py")
    launch = HookLaunch(sys.executable, hook, folders, settings, native=usable(hook) if native else "")
    for path in (launch.python, launch.hook, *folders, settings):
        if not path.isprintable():
            raise InstallError(f"the path {path!r} holds control characters; move it first")
    if not os.path.isabs(launch.python):
        raise InstallError("the running Python does not know its own path; run lockgate by its absolute path")
    return launch


# ---------------------------------------------------------------- plans
def plan_install(file: str, launch: HookLaunch, *, statusline: bool) -> SettingsChange:
    """Work out what installing changes, and change nothing yet.

    Raises:
        InstallError: The settings are not a JSON object, or cannot be read.
    """
    entries = {event: hook_command.hook_entry(launch, event) for event in EVENTS}
    line = hook_command.statusline_entry(launch) if statusline else None
    return plan_entries(file, entries, launch.folders.state, statusline=line)


def plan_entries(
    file: str,
    entries: Mapping[str, Mapping[str, Any]],
    state: str,
    *,
    statusline: Mapping[str, Any] | None = None,
    grouped: bool = True,
    empty: str = "{}",
) -> SettingsChange:
    """Work out what putting entries into any client's file of hooks changes.

    Args:
        file: The file.
        entries: The hook entry of each event.
        state: The state folder, where it is written down what there was before.
        statusline: The status line's entry.
        grouped: Whether the client's entries stand in groups.
        empty: What a file that is made begins with.

    Raises:
        InstallError: The file does not hold a JSON object, or cannot be read.
    """
    before = read_text(file)
    known = find_record(read_records(state), file, before)
    try:
        bare = settings_text.take_out(before, known) if before is not None else empty
        after, record = settings_text.put_in(bare, entries, statusline or _earlier_statusline(before), grouped=grouped)
    except InstallError as error:
        raise InstallError(f"{file}: {error}; it was not changed") from None
    if before is None:
        after += "\n"
        record = record._replace(file=True, folder=not os.path.isdir(os.path.dirname(file)))
    elif known is not None:
        record = record._replace(file=known.file, folder=known.folder)
    return SettingsChange(file, before, after, record)


def _earlier_statusline(before: str | None) -> Mapping[str, Any] | None:
    """The status line of an earlier installation, which another one keeps."""
    value = json.loads(before.removeprefix("\ufeff")).get("statusLine") if before else None
    return value if settings_text.is_own_statusline(value) else None


def plan_uninstall(file: str, folders: Folders, empty: str = "{}") -> SettingsChange:
    """Work out what uninstalling changes, and change nothing yet; ``empty`` is what a file that was made began with.

    Raises:
        InstallError: The settings are not a JSON object, or cannot be read.
    """
    before = read_text(file)
    known = find_record(read_records(folders.state), file, before)
    if before is None:
        return SettingsChange(file, None, None, None)
    try:
        after: str | None = settings_text.take_out(before, known)
    except InstallError as error:
        raise InstallError(f"{file}: {error}; it was not changed") from None
    if known is not None and known.file and after is not None and after.strip() == empty:
        after = None
    return SettingsChange(file, before, after, None, new_folder=known.folder if known else False)


# ---------------------------------------------------------------- doing it
def apply(change: SettingsChange, folders: Folders) -> None:
    """Carry a plan out: write the settings, and what the removal needs to know.

    Raises:
        InstallError: A file cannot be written, or changed meanwhile.
    """
    for place in (os.path.realpath(change.file), *folders):
        if problem := problem_of(place):
            raise InstallError(f"{problem}; nothing was changed")
    if read_text(change.file) != change.before:
        raise InstallError(f"{change.file} changed meanwhile; run the command again")
    records = read_records(folders.state)
    key = os.path.realpath(change.file)
    if change.record is not None:
        # Written first: an installation that breaks off here can still be taken out exactly.
        _write_records(folders.state, {**records, key: change.record})
    try:
        _write_settings(change)
    except OSError as error:
        raise InstallError(f"{change.file} cannot be written: {error.strerror}") from None
    former = key_of(records, change.file, change.before)
    if change.record is None and former in records:
        del records[former]
        _write_records(folders.state, records)


def _write_settings(change: SettingsChange) -> None:
    if not change.changes:
        return
    if change.after is None:
        os.unlink(change.file)
        if change.new_folder:
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(change.file))
        return
    make_folders(os.path.dirname(change.file), 0o755)
    # A link (of a dotfiles repository, say) stays one: its target is replaced.
    new = 0o644 if change.file.startswith(find_managed_folder() + os.sep) else 0o600
    put_file(os.path.realpath(change.file), change.after.encode("utf-8"), new if change.before is None else None)


def put_file(file: str, data: bytes, mode: int | None) -> None:
    """Write a file so that it is either the old or the new one, whatever happens."""
    if mode is None:
        mode = stat.S_IMODE(os.stat(file).st_mode)
    descriptor, temporary = tempfile.mkstemp(prefix=".lockgate-", dir=os.path.dirname(file))
    try:
        with os.fdopen(descriptor, "wb") as target:
            os.fchmod(descriptor, mode)
            target.write(data)
            target.flush()
            os.fsync(descriptor)
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise


def read_text(file: str) -> str | None:
    """The text of a file, ``None`` where there is none.

    Raises:
        InstallError: It cannot be read, or is no text.
    """
    if os.path.islink(file) and not os.path.exists(file):
        raise InstallError(f"{file} is a link to a file that does not exist; mend or remove the link first")
    try:
        data = Path(file).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InstallError(f"{file} cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InstallError(f"{file} is not UTF-8; it was not changed") from None


# ---------------------------------------------------------------- records
def read_records(state: str) -> dict[str, FormerFile]:
    """What is installed where: for each settings file (links resolved), what it was like before."""
    try:
        loaded = json.loads(Path(state, _RECORDS).read_bytes())
        return {
            str(file): FormerFile(**{**value, "created": tuple(value["created"])}) for file, value in loaded.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def has_installs(state: str) -> bool:
    """Whether a client was ever installed with a state folder."""
    return os.path.lexists(os.path.join(state, _RECORDS))


def find_record(records: Mapping[str, FormerFile], file: str, text: str | None) -> FormerFile | None:
    """What was written down of a file with this text; ``None`` where that is nothing."""
    return records.get(key_of(records, file, text))


def key_of(records: Mapping[str, FormerFile], file: str, text: str | None) -> str:
    """Under which name a file is written down: after a folder above it was renamed, the one that its hooks say."""
    key = os.path.realpath(file)
    if key in records:
        return key
    tail = os.path.join("", *Path(key).parts[-2:])
    gone = (each for each in records if each.endswith(f"/{tail}") and not os.path.lexists(each))
    return next((each for each in gone if f"{json.dumps(each)[1:-1]} says" in (text or "")), key)


def _write_records(state: str, records: Mapping[str, FormerFile]) -> None:
    text = json.dumps({file: record._asdict() for file, record in records.items()}, indent=1)
    _write_private(os.path.join(state, _RECORDS), text)


def _write_private(file: str, text: str) -> None:
    try:
        make_folders(os.path.dirname(file))
        put_file(file, text.encode("utf-8"), 0o600)
    except OSError as error:
        raise InstallError(f"{file} cannot be written: {error.strerror}") from None


def launch_record(folders: Folders) -> str:
    """Path of the file that tells the plugin where the program is.

    It does not move with ``XDG_CONFIG_HOME``, which a project's settings could set for the plugin's hooks.
    """
    return os.path.join(folders.home, ".config", "lockgate", LAUNCH_RECORD)


def write_launch_record(launch: HookLaunch) -> str:
    """Tell the plugin where the program is. Returns the file's path.

    Raises:
        InstallError: It cannot be written, or the place is another user's.
    """
    file = launch_record(launch.folders)
    for place in (file, *launch.folders):
        if problem := problem_of(place):
            raise InstallError(f"{problem}; nothing was changed")
    lines = [launch.python, launch.hook, *launch.folders, *([launch.native] if launch.native else [])]
    _write_private(file, "\n".join(lines) + "\n")
    return file
