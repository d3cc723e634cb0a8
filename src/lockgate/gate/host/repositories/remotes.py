"""Finds the addresses that ``git push`` sends to, in the settings of repository, user and system.

What names another file of settings, another program or another way to a server makes that unknown: for an act it is
asked whether everybody who can answer is known. So a name too many does no harm, and one too few does.
"""

from __future__ import annotations

import os

from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.host.repositories.settings import settings_in
from lockgate.system import caller
from lockgate.system.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockgate.gate.host.repositories.settings import GitSetting

_MOST_BYTES = 256 * 1024
_SYSTEM = ("/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig", "/opt/local/etc/gitconfig")
_VARIABLES = frozenset(
    {"GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}
    | {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_EXEC_PATH", "GIT_SSL_NO_VERIFY"}
)
"""Variables by which git reads other settings, or reaches a server through another program."""
_FILES = frozenset({"include", "includeif"})
_MOST_FILES = 20
"""Most files of settings that are read, those included in others among them."""
_LEADING = frozenset({("core", "sshcommand"), ("core", "gitproxy"), ("core", "askpass"), ("core", "hookspath"),
                      ("core", "alternaterefscommand"), ("push", "gpgsign")})  # fmt: skip
"""Settings by which another program speaks; a person's own may say so, a repository's may not."""
_LEADING_SECTIONS = frozenset({"credential", "hook", "http", *_FILES})
_ELSEWHERE = frozenset({("push", "recursesubmodules"), ("submodule", "recurse"), ("remote", "vcs"),
                        ("remote", "receivepack"), ("remote", "proxy")})  # fmt: skip
"""Settings by which a push goes to others too, or through another program, whoever says so."""
_OLD = ("remotes", "branches")
"""Folders of a repository whose files name remotes, too, as they did before there were settings for it."""
_NOT_AT_PUSH = frozenset(
    {"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"}
    | {"commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "post-rewrite", "pre-auto-gc"}
    | {"sendemail-validate", "post-index-change"}
)
"""Hooks that no push runs."""


def find_push_addresses(root: str, git: str, common: str, home: str, remote: str) -> tuple[str, ...] | None:
    """All addresses that a push may go to; ``None`` where that is not known, or where something else runs on the way.

    Args:
        root: The work tree.
        git: The folder of the repository.
        common: The folder that it shares with its other work trees.
        home: The user's home folder.
        remote: The first operand of ``git push``; empty where there is none. Then every remote counts, and every
            branch's: the branch may be changed by the same command.
    """
    if not _VARIABLES.isdisjoint(caller.environ()):
        return None
    try:
        users = _read_user_settings(home, root)
        repositorys = [each for path in (f"{common}/config", f"{git}/config.worktree") for each in _read(path)]
    except (OSError, ValueError):
        return None
    settings = [*users, *repositorys]
    if any(map(_leads_elsewhere, settings)) or any(map(_is_led, repositorys)):
        return None
    hooks = [each.value for each in users if (each.section, each.key) == ("core", "hookspath")]
    if any(_runs_hooks(folder, home) for folder in (f"{common}/hooks", *hooks)):
        return None
    if any(_names(os.path.join(common, name)) for name in _OLD):
        return None
    names = [remote] if remote else _list_named_remotes(settings)
    found = [address for name in names for address in _addresses(name, settings)]
    # What is rewritten begins with one of these instead. Where each of them is known too, so is what comes of it.
    found += [each.subsection for each in settings if each.section == "url"]
    return None if not names or "" in found else tuple(dict.fromkeys(found))


def _user_settings_files(home: str) -> tuple[str, str]:
    folder = caller.environ().get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(folder, "git", "config"), os.path.join(home, ".gitconfig")


def _read_user_settings(home: str, root: str) -> list[GitSetting]:
    """The settings of the system and of the user, with those of all files that they include, on whatever condition."""
    found: list[GitSetting] = []
    paths = [*_SYSTEM, *_user_settings_files(home)]
    for path in paths:  # grows on the way
        more = _read(path)
        found += more
        paths += [
            _read_included(each.value, path, home) for each in more if each.section in _FILES and each.key == "path"
        ]
        if len(paths) > _MOST_FILES or os.path.realpath(path).startswith(root + os.sep):
            raise ValueError("too many files, or one of the project")
    return found


def _read_included(value: str | None, path: str, home: str) -> str:
    named = home + value[1:] if value and value.startswith("~/") else value or ""
    if not named or named[0] in "~%":
        raise ValueError("a path that only git knows")
    return os.path.join(os.path.dirname(path), named)


def _read(path: str) -> list[GitSetting]:
    try:
        data = read_regular(path, _MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return settings_in(data.decode("utf-8"))


def _leads_elsewhere(setting: GitSetting) -> bool:
    return setting.section == "remotes" or (setting.section, setting.key) in _ELSEWHERE


def _is_led(setting: GitSetting) -> bool:
    return setting.section in _LEADING_SECTIONS or (setting.section, setting.key) in _LEADING


def _runs_hooks(folder: str | None, home: str) -> bool:
    """Whether there is, or may be, a hook that a push runs, whoever put it there: it prints what the project says."""
    full = home + folder[1:] if folder and folder.startswith("~/") else folder or ""
    return not os.path.isabs(full) or any("." not in name and name not in _NOT_AT_PUSH for name in _names(full))


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError:
        return ["?"]


def _list_named_remotes(settings: Sequence[GitSetting]) -> list[str]:
    """Every remote that a push without a name may mean."""
    chosen = [
        each.value
        for each in settings
        if (each.section, each.key) in {("branch", "remote"), ("branch", "pushremote"), ("remote", "pushdefault")}
    ]
    remotes = [each.subsection for each in settings if each.section == "remote" and each.key in ("url", "pushurl")]
    # A branch that follows one of this repository is pushed to this repository, whose hooks were looked at.
    return [name for name in dict.fromkeys((*remotes, *(name or "" for name in chosen))) if name != "."]


def _addresses(name: str, settings: Sequence[GitSetting]) -> list[str]:
    """The addresses of a remote; of one that is not configured, its name."""
    own = [each for each in settings if (each.section, each.subsection) == ("remote", name)]
    return [each.value or "" for each in own if each.key in ("pushurl", "url")] or [name]
