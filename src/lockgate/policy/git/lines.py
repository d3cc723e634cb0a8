"""Lists the git commands that a call could run, with aliases expanded, and the branches that they may touch."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Command
from lockgate.core.questions import RulesQuestion
from lockgate.policy.git.acts import ANY, CURRENT, Act, branch_of, push_acts
from lockgate.policy.git.commands import (
    GitCommandLine,
    asks_for_branch,
    find_checked_out,
    is_quiet,
    line_of,
    may_be_alias,
    set_by,
    sets_upstream,
)
from lockgate.policy.git.repository import RepositoryFacts
from lockgate.shell.state.abstract_text import OPAQUE, is_known

# Without these, a command runs its parts one after another, each only where the one before it succeeded.
_WINDING = lazy_re(r"[;\n|`(){}]|(?<!&)&(?!&)|\b(?:for|while|until|select|if|case|trap|function|xargs|find|eval)\b")
_SILENT = frozenset({"cd", "echo", "true", "test", "[", "set", "export"})
"""Commands beside git that cannot put another name in the place of the current branch's."""
_UPSTREAM = (("push.default", "upstream"), ("push.default", "tracking"))
_UNREAD = frozenset({"shell:unparsed", "shell:too-complex", "shell:fault", "analysis:error"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "eval"})
_GLIMPSE = lazy_re(r"(?<![\w.-])git[ \t]+([^;&|\n`()]*)")


class Lines:
    """All git commands of a call, and what is known of where they run."""

    def __init__(self, question: RulesQuestion, look: Callable[[str], RepositoryFacts]) -> None:
        """Find the lines, with what aliases stand for."""
        self.look = look
        self.found: list[GitCommandLine] = []
        self.others = False
        """Whether a program runs that could print the name of any branch."""
        effects = question.analysis.effects
        text = question.call.tool_input.get("command")
        text = text if isinstance(text, str) else ""
        scripts = any(effect.changed is not None for effect in effects)
        self.straight = not scripts and not _WINDING.search(text)
        self.elsewhere = any(effect.rule.startswith("variable:GIT_") for effect in effects)
        unread = [text] if any(effect.rule in _UNREAD for effect in effects) else []
        for command_line in (*question.analysis.commands, *_glimpse(question.analysis.commands, unread)):
            line = line_of(command_line)
            if line is None:
                self.others |= command_line.words[0] not in _SILENT
            else:
                self.found.append(line)
                self.others |= not is_quiet(line)
        self.set_here = tuple(filter(None, map(set_by, self.found))) + tuple(
            setting for line in self.found for setting in line.settings
        )
        self.found = [each for line in self.found for each in self._resolve_aliases(line)]

    def _resolve_aliases(self, line: GitCommandLine, depth: int = 0) -> Iterator[GitCommandLine]:
        yield line
        if not may_be_alias(line) or depth > 3:
            return
        folders = line.folders or ("",)
        settings = [*self.set_here, *(pair for folder in folders for pair in self.look(folder).settings)]
        for text in dict.fromkeys(value for key, value in settings if key == f"alias.{line.name}".lower()):
            for command in _expand(text, line):
                inner = line_of(command)
                if inner is not None:
                    yield from self._resolve_aliases(inner, depth + 1)

    # ---------------------------------------------------------------- branches
    def current(self, at: int) -> set[str]:
        """The branches that may be checked out when the line of this number runs."""
        line = self.found[at]
        moves = [
            find_checked_out(each)
            for each in (self.found[:at] if self.straight else self.found)
            if find_checked_out(each)
        ]
        if self.straight and moves:
            return {_check_out(moves[-1])}
        names = {_check_out(name) for name in moves}
        for folder in line.folders or ("",):
            branch = None if self.elsewhere else self.look(folder).branch
            names.add(ANY if branch is None else branch)
        return names

    def default_push(self, at: int) -> list[Act]:
        """What a push without refspecs does."""
        line = self.found[at]
        remotes = set(line.operands[:1])
        found: list[Act] = []
        branches = self.current(at)
        for folder in line.folders or ("",):
            own = self.look(folder).settings
            names = remotes or _remotes(own, branches)
            found += [act for key, value in own for act in _read_configured_push(key, value, names)]
            every = (*own, *self.set_here)
            if any(pair in _UPSTREAM for pair in every):
                merges = [value for key, value in every if key.startswith("branch.") and key.endswith(".merge")]
                found += [Act("push", CURRENT), *(Act("push", branch_of(value)) for value in merges)]
                found += [Act("push", ANY) for each in self.found if sets_upstream(each)]
        for key, value in self.set_here:
            found += _read_configured_push(key, value, None)
        return found or [Act("push", CURRENT)]

    def is_current(self, branch: str) -> bool:
        """Whether a name that is not known can only be that of the current branch."""
        return branch == ANY and not self.others and any(map(asks_for_branch, self.found))


def _glimpse(commands: Sequence[Command], unread: Sequence[str]) -> Iterator[Command]:
    """Lines in text that is not read, or not known whole: by their looks, which can only make a decision stricter."""
    dynamic = (
        word
        for command in commands
        if command.words[0].rpartition("/")[2] in _SHELLS
        for word in command.words[1:]
        if not is_known(word)
    )
    for text in dict.fromkeys((*unread, *dynamic)):
        for match in _GLIMPSE.finditer(text):
            yield Command(("git", *match[1].replace("'", "").replace('"', "").split()), ("",))


def _expand(text: str, line: GitCommandLine) -> Sequence[Command]:
    """The commands that an alias stands for."""
    rest = line.words[line.words.index(line.name) + 1 :] if line.name in line.words else ()
    if text.startswith("!"):
        from lockgate.resources.host_view import HostView
        from lockgate.shell import analyse_shell

        more = shlex.join(rest) if all(map(is_known, rest)) else '"$@"'
        return analyse_shell(f"{text[1:]} {more}", (line.folders or ("",))[0], HostView()).commands
    try:
        words = shlex.split(text)
    except ValueError:
        words = [OPAQUE]
    return [Command(("git", *words, *rest), line.folders)]


def _remotes(settings: Sequence[tuple[str, str]], branches: set[str]) -> set[str]:
    keys = {f"branch.{branch}.{name}" for branch in branches for name in ("remote", "pushremote")}
    return {"origin"} | {value for key, value in settings if key in keys or key == "remote.pushdefault"}


def _read_configured_push(key: str, value: str, remotes: set[str] | None) -> list[Act]:
    """What a setting makes of a push without refspecs."""
    section, _, rest = key.partition(".")
    name, _, last = rest.rpartition(".")
    if section == "remote" and (remotes is None or name in remotes):
        if last == "push":
            return push_acts(value)
        if last == "mirror" and value.lower() not in ("false", "no", "off", "0", ""):
            return [Act("push", ANY), Act("force_push", ANY), Act("delete_remote", ANY)]
    if key == "push.default" and value == "matching":
        return [Act("push", ANY)]
    return []


def _check_out(name: str) -> str:
    """The branch that is current once a name was checked out."""
    if name == "-" or name.startswith("@{"):
        return ANY
    branch = branch_of(name)
    return ANY if branch == CURRENT else branch
