"""Reads skills, commands and teams that Claude Code keeps. Bounded, and from regular files only."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import chain, islice

from lockgate.core.lazy import lazy_re
from lockgate.system import caller
from lockgate.system.files import read_regular

MOST_BYTES = 256 * 1024
"""Longest text that is read."""
_MOST_FILES = 2000
_DEEPEST = 4
_MOST_FOLDERS = 20_000
"""So many folders of a project are looked through for skills."""
LONGEST_SECONDS, FOLDERS_AT_ONCE = 0.5, 200
"""Seconds that this may take, where folders lie far away; and after how many of them that is asked."""
_NOT_LOOKED_INTO = frozenset({".git", "node_modules", "site-packages"})
"""No clone brings the first, and whoever installs what lies in the others runs its code."""
_SKILL, _CLIENT = "skill.md", ".claude"
_PLUGIN = "--plugin-dir"
_FLAGS = frozenset({_PLUGIN, "--add-dir"})
_ADMINISTERED = ("/etc/claude-code", "/Library/Application Support/ClaudeCode")
_ANCESTORS = 6
_NAMED = lazy_re(rb"(?m)^name:[ \t]*[\"']?([^\s\"'#]+)")
_HEAD = lazy_re(rb"(?ms)\A(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$")
_PLAIN_HEAD = lazy_re(
    rb"(?:(?:name:[ \t]+(?P<quote>[\"']?)[\w.:-]+(?P=quote)[ \t]*"
    rb"|(?!name:)[A-Za-z][\w-]*:(?:[ \t][^\n\r]*)?"
    rb"|(?:[ \t#]|-[ \t])[^\n\r]*|)\r?\n)*"
)
"""Settings of a skill of which it is plain which key each line sets, and its name plain itself."""
_BREAKS = (b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")
"""What ends a line in YAML 1.1, and in 1.2 does not: U+0085, U+2028 and U+2029."""


def read_skills(name: str, home: str, workspace: str, cwd: str) -> tuple[str | None, ...]:
    """The texts that a name could mean.

    They are those of the project, the user, the administrator, plugins, and folders that the client was told of.

    Args:
        name: ``NAME``, ``FOLDER:NAME`` or ``PLUGIN:NAME``. Of whose it is only the last part is asked.
        home: The user's home folder.
        workspace: The project's root folder, absolute; empty where it is not known.
        cwd: The folder that it is called in; skills lie beside each folder above it.

    Returns:
        One for each file; ``None`` for one that cannot be read, and where a file may have any name or lie anywhere.
    """
    wanted = name.rpartition(":")[2]
    if not wanted:
        return ()
    found: dict[str, None] = {}
    unknown = False
    for number, file in enumerate(_files(home, workspace, cwd)):
        if number >= _MOST_FILES:
            return (*map(_text, found), None)
        meant = None if file is None else _is(file, wanted)
        if file is None or meant is None:
            unknown = True
        elif meant:
            found[file] = None
    texts = tuple(map(_text, found))
    return (*texts, None) if unknown and None not in texts else texts


def read_nested_skills(name: str, workspace: str) -> tuple[str | None, ...] | None:
    """The texts that a name could mean in the folders below a project's root.

    Claude Code adds the skills beside a file that its agent works with, and of which these are nothing tells the gate.

    Args:
        name: As for :func:`read_skills`.
        workspace: The project's root folder, absolute; empty where it is not known.

    Returns:
        As :func:`read_skills`; ``None`` where the project has too many folders or skills to look at each in time.
    """
    wanted = name.rpartition(":")[2]
    if not wanted or not workspace:
        return ()
    beside = _find_skill_folders(workspace)
    files = (
        None
        if beside is None
        else list(islice((file for folder in beside for file in _find_skills_and_commands(folder)), _MOST_FILES))
    )
    if files is None or len(files) == _MOST_FILES:
        return None
    meant = {file: _is(file, wanted) for file in files}
    texts = tuple(_text(file) for file in files if meant[file])
    return (*texts, None) if None in meant.values() and None not in texts else texts


def _find_skill_folders(workspace: str) -> list[str] | None:
    """All folders called ``.claude`` below the root of a project, in a fixed order; no other links are followed.

    ``None`` where there are too many to look at, or looking takes too long.
    """
    found = []
    folders = [workspace]
    until = time.monotonic() + LONGEST_SECONDS
    for number, folder in enumerate(folders, start=1):
        if len(folders) > _MOST_FOLDERS or (number % FOLDERS_AT_ONCE == 0 and time.monotonic() > until):
            return None
        below = sorted(_folders_in(folder))
        found += [os.path.join(folder, name) for name, _ in below if name.lower() == _CLIENT and folder != workspace]
        folders += [os.path.join(folder, name) for name, linked in below if not (linked or name in _NOT_LOOKED_INTO)]
    return found


def _folders_in(folder: str) -> list[tuple[str, bool]]:
    """The names of the folders in a folder, and of what is called ``.claude`` and is a link; whether each is one."""
    try:
        with os.scandir(folder) as entries:
            each = [(entry.name, entry.is_symlink(), entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return []
    return [(name, linked) for name, linked, real in each if real or (linked and name.lower() == _CLIENT)]


def shares_tasks(home: str) -> bool:
    """Whether its list of tasks may be shared with other sessions: by a variable, or by a team, which has a folder."""
    environ = caller.environ()
    folder = os.path.join(environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "teams")
    try:
        return bool(environ.get("CLAUDE_CODE_TASK_LIST_ID") or os.listdir(folder))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _files(home: str, workspace: str, cwd: str) -> Iterator[str | None]:
    """The files of skills; ``None`` for those that lie nobody knows where."""
    for folder in dict.fromkeys((*_folder_and_parents(cwd, workspace), workspace, home)):
        if folder:
            yield from _find_skills_and_commands(os.path.join(folder, ".claude"))
    for folder in _ADMINISTERED:
        yield from _find_skills_and_commands(os.path.join(folder, ".claude"))
    clients = dict.fromkeys((os.path.join(home, ".claude"), caller.environ().get("CLAUDE_CONFIG_DIR", "")))
    for client in filter(None, clients):
        if client != os.path.join(home, ".claude"):
            yield from _find_skills_and_commands(client)
        yield from _find_in_plugins(os.path.join(client, "plugins"))
    for flag, folder in _command_line_folders():
        yield from _find_skills_and_commands(folder if flag == _PLUGIN else os.path.join(folder, ".claude"))


def _find_in_plugins(plugins: str) -> Iterator[str | None]:
    """Files of the plugins in the client's own folder, and of those that it has down as lying elsewhere."""
    cache = os.path.join(plugins, "cache")
    for market in _names(cache):
        for plugin in _names(os.path.join(cache, market)):
            for version in _names(os.path.join(cache, market, plugin)):
                yield from _find_skills_and_commands(os.path.join(cache, market, plugin, version))
    listed = os.path.join(plugins, "installed_plugins.json")
    for folder in _read_installed(listed):
        if folder is None:
            yield None
        elif not folder.startswith(f"{cache}/"):
            yield from _find_skills_and_commands(folder)


def _read_installed(file: str) -> Iterator[str | None]:
    """Where plugins lie, by the client's list of them: ``{"plugins": {NAME: [{"installPath": FOLDER}]}}``.

    ``None`` for each entry, and for a list, that cannot be understood. In its first version a list has no array there.
    """
    import json

    try:
        plugins = json.loads(read_regular(file, MOST_BYTES))["plugins"]
        each = [entries if isinstance(entries, list) else [entries] for entries in plugins.values()]
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        yield None
        return
    for entry in chain.from_iterable(each):
        folder = entry.get("installPath") if isinstance(entry, dict) else None
        yield folder if isinstance(folder, str) and os.path.isabs(folder) else None


def _command_line_folders() -> Iterator[tuple[str, str]]:
    """Folders on the command line of the processes around this one, each with its flag: one of them is the client."""
    pid = caller.parent()
    for _ in range(_ANCESTORS):
        process = caller.process(pid)
        if process is None or pid <= 1:
            return
        try:
            folder = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return
        for flag, value in _flag_values(caller.words(pid)):
            yield flag, os.path.join(folder, value)
        pid = process.parent


def _flag_values(words: list[str]) -> Iterator[tuple[str, str]]:
    """The values of the flags that name folders with skills: in one word with it, or in those that follow."""
    flag = ""
    for word in words:
        if word.startswith("-"):
            flag, _, value = word.partition("=")
        else:
            value = word
        if flag in _FLAGS and value:
            yield flag, value


def _folder_and_parents(cwd: str, workspace: str) -> Iterator[str]:
    """A folder and those around it, up to the project's root."""
    while workspace and (cwd + "/").startswith(workspace.rstrip("/") + "/") and len(cwd) > len(workspace):
        yield cwd
        cwd = os.path.dirname(cwd)


def _find_skills_and_commands(folder: str) -> Iterator[str]:
    yield from _find_below(os.path.join(folder, "skills"), _SKILL)
    yield from _find_below(os.path.join(folder, "commands"), ".md")


def _find_below(folder: str, ending: str, depth: int = 0) -> Iterator[str]:
    for name in _names(folder):
        path = os.path.join(folder, name)
        if name.lower().endswith(ending):
            yield path
        elif depth < _DEEPEST and os.path.isdir(path):
            yield from _find_below(path, ending, depth + 1)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:_MOST_FILES]
    except (OSError, ValueError):
        return []


def _is(file: str, wanted: str) -> bool | None:
    """Whether a file is that of a skill: by the name of its folder, its own, or the one that it gives itself.

    ``None`` where it gives itself a name that cannot be told.
    """
    folder, name = os.path.split(file)
    stem = os.path.basename(folder) if name.lower() == _SKILL else os.path.splitext(name)[0]
    if stem == wanted:
        return True
    try:
        given = _names_given(read_regular(file, MOST_BYTES))
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return None
    return None if given is None else any(name.rpartition(":")[2] == wanted for name in given)


def _names_given(text: bytes) -> list[str] | None:
    """The names that a skill may give itself in the YAML at its beginning; ``None`` where that cannot be told."""
    found = [match[1].decode("utf-8", "surrogateescape") for match in _NAMED.finditer(text)]
    if not text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"---"):
        return found
    head = _HEAD.match(text)
    if head is None:
        return None
    if _PLAIN_HEAD.fullmatch(head[1]) and not any(mark in head[1] for mark in _BREAKS):
        return found
    from lockgate.core.errors import ConfigError
    from lockgate.system.documents.yaml import read_yaml
    from lockgate.system.libraries import library

    try:
        library("yaml")
        root = read_yaml(head[1].decode("utf-8"), "SKILL.md").value
    except (ImportError, ConfigError, ValueError):
        return None
    if not isinstance(root, dict) or "<<" in root:
        return None
    name = root.get("name", "")
    return [*found, name] if isinstance(name, str) else None


def _text(file: str) -> str | None:
    try:
        return read_regular(file, MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
