"""Calls held against the rules about git, in a repository that is said, and not on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lockgate.analysis import analyse
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.core.questions import GitRules, Objection, RuleSets, RulesQuestion
from lockgate.policy.git.acts import CURRENT, acts_of
from lockgate.policy.git.lines import Lines
from lockgate.policy.git.objections import objections
from lockgate.policy.git.repository import RepositoryFacts
from lockgate.resources.host_view import HostView, ScriptFile

WORK = "/work/project"
CONTEXT = Context("claude-code", Subject("s"), WORK, WORK)
Settings = Sequence[tuple[str, str]]


def question(command: str, *rules: Mapping[str, Any], scripts: Mapping[str, str] = {}) -> RulesQuestion:
    """A call of the shell, with what is configured about git."""
    call = ToolCall("Bash", {"command": command}, WORK)
    files = {path: ScriptFile(text) for path, text in scripts.items()}
    around = HostView(workspace=WORK, read_script=files.get, is_there=files.__contains__)
    sets = RuleSets(tuple(GitRules(each, "user lockgate.yaml") for each in rules))
    return RulesQuestion(CONTEXT, call, analyse(call, around), sets)


def _look(branch: str | None, settings: Settings) -> Callable[[str], RepositoryFacts]:
    return lambda folder: RepositoryFacts(branch if folder else None, tuple(settings))


def against(
    command: str, *rules: Mapping[str, Any], branch: str | None = "work", settings: Settings = (), **more: Any
) -> list[Objection]:
    """What the rules have against a command."""
    return objections(question(command, *rules, **more), _look(branch, settings))


def acts(command: str, branch: str | None = "work", settings: Settings = (), **more: Any) -> set[str]:
    """What a command does: ``push(main)``; with ``?`` where that depends on a word that is not known."""
    lines = Lines(question(command, **more), _look(branch, settings))
    found = set()
    for at, line in enumerate(lines.found):
        for act in acts_of(line, lambda at=at: lines.default_push(at)):
            here = act.branch == CURRENT or lines.is_current(act.branch)
            for name in lines.current(at) if here else {act.branch}:
                found.add(f"{act.kind}({name})" + ("?" if act.depends else ""))
    return found
