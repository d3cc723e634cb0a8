"""Parses command lines of git: subcommand, options, folder. Pure."""

from __future__ import annotations

import json
import os.path
from collections.abc import Mapping, Sequence
from functools import cache

from lockgate.core.model import Command
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.shell.knowledge.lookup import ProgramEntry, lookup, subcommand
from lockgate.shell.knowledge.options import Matched, match
from lockgate.shell.state.abstract_text import is_known
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from typing import Any


class GitCommandLine(Record):
    """One command line of git."""

    name: str
    """The subcommand."""
    matched: Matched
    folders: tuple[str, ...]
    """The folders that it may run in; an empty one is not known."""
    settings: tuple[tuple[str, str], ...]
    """What ``-c`` sets."""
    words: tuple[str, ...]

    @property
    def operands(self) -> list[str]:
        """The words that are no options."""
        return [arg.text for arg in self.matched.operands]

    def has(self, role: str) -> bool:
        """Whether an option of this meaning was given."""
        return any(option.role == role for option in self.matched.options)

    def values(self, role: str) -> list[str]:
        """The values of the options of this meaning."""
        return [arg.text for option in self.matched.options if option.role == role for arg in option.value]


@cache
def _table() -> Mapping[str, Any]:
    with open(os.path.join(os.path.dirname(__file__), "git.json"), encoding="ascii") as file:
        table: Mapping[str, Any] = json.load(file)
    return table


def line_of(command: Command) -> GitCommandLine | None:
    """A command as a line of git; ``None`` where it is none.

    A program whose name is only known when it runs is taken for git where its words are a line that does something.
    """
    name = command.words[0].rpartition("/")[2]
    words = command.words[1:]
    if name.startswith("git-"):
        words = (name[4:], *words)
    elif not is_known(name):
        line = _line(words, command)
        return line if line is not None and line.name in _table()["commands"] and is_known(line.name) else None
    elif name not in _table()["programs"]:
        return None
    return _line(words, command)


def _line(words: Sequence[str], command: Command) -> GitCommandLine | None:
    before = match(ProgramEntry("git", options=_table()["global"], stops=True), [Arg(word) for word in words])
    if not before.operands:
        return None
    name, rest = before.operands[0].text, before.operands[1:]
    if rest and (rest[0].text == "--help" or [arg.text for arg in rest] == ["-h"]):
        return None
    entry = ProgramEntry("git", options=_table()["commands"].get(name, {}).get("options", {}))
    folders, settings = command.folders, []
    for option in before.options:
        value = option.value[0].text if option.value else ""
        if option.role == "cwd":
            folders = tuple(_join(folder, value) for folder in folders)
        elif option.role == "elsewhere":
            folders = ("",)
        elif option.role == "config":
            key, _, text = value.partition("=")
            settings.append((lower_setting(key), text))
    return GitCommandLine(name, match(entry, rest), folders, tuple(settings), command.words)


def _join(folder: str, value: str) -> str:
    if not is_known(value) or not (folder or value.startswith("/")):
        return ""
    return os.path.normpath(os.path.join(folder, value))


def lower_setting(key: str) -> str:
    """A setting's name: git compares the first and the last part without case."""
    section, dot, rest = key.partition(".")
    middle, dot_too, last = rest.rpartition(".")
    return f"{section.lower()}{dot}{middle}{dot_too}{last.lower()}"


def is_quiet(line: GitCommandLine) -> bool:
    """Whether a command prints no name that could be taken for a branch, or only that of the current one."""
    return line.name in _table()["quiet"] and (
        line.name not in ("branch", "rev-parse", "symbolic-ref") or asks_for_branch(line)
    )


def asks_for_branch(line: GitCommandLine) -> bool:
    """Whether a command prints the name of the current branch, and nothing else."""
    return list(line.words[1:]) in _table()["asks_for_branch"]


def may_be_alias(line: GitCommandLine) -> bool:
    """Whether a subcommand may be an alias. An alias cannot have the name of a command of git's own."""
    git = lookup("git")
    return is_known(line.name) and not reader_of(line) and (git is None or subcommand(git, line.name) is None)


def reader_of(line: GitCommandLine) -> str:
    """The name of the function that reads the subcommand; empty for one that no rule is about."""
    return str(_table()["commands"].get(line.name, {}).get("does", ""))


def find_checked_out(line: GitCommandLine) -> str:
    """The branch that a command checks out; empty where it checks out none."""
    operands = line.operands
    if line.name in ("checkout", "switch"):
        named = line.values("over") + line.values("fresh")
        if named:
            return named[-1]
        return operands[0] if len(operands) == 1 else ""
    if line.name == "rebase" and not line.has("control"):
        place = 0 if "--root" in line.matched.given else 1
        return operands[place] if len(operands) > place else ""
    if line.name == "symbolic-ref" and len(operands) == 2 and operands[0] == "HEAD":
        return operands[1]
    return ""


def set_by(line: GitCommandLine) -> tuple[str, str] | None:
    """The setting that a ``git config`` writes, and its value."""
    if line.name != "config" or line.has("asks"):
        return None
    words = line.operands[1:] if line.operands[:1] == ["set"] else line.operands
    return (lower_setting(words[0]), words[1]) if len(words) > 1 and words[0] not in ("get", "unset", "list") else None


def sets_upstream(line: GitCommandLine) -> bool:
    """Whether a command can give a branch an upstream. One that begins at a remote's branch gets that as upstream."""
    if line.has("upstream"):
        return True
    if line.name in ("checkout", "switch"):
        begins = line.operands if line.has("fresh") or line.has("over") else []
    else:
        begins = line.operands[{"branch": 1, "worktree": 2}.get(line.name, len(line.operands)) :]
    return any("/" in name for name in begins)
