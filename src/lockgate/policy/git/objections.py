"""The rule set ``git``: objects to pushes, pulls and rewrites that a person's rules forbid.

It looks at all commands that a call could run, wherever they stand. What a configuration does not set is let be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from lockgate.core.display_text import visible
from lockgate.core.model import Verdict
from lockgate.core.questions import GitRules, Objection, RulesQuestion
from lockgate.core.record import TYPE_CHECKING
from lockgate.policy.git.acts import ANY, CURRENT, DELETE, Act, acts_of
from lockgate.policy.git.commands import GitCommandLine
from lockgate.policy.git.lines import Lines
from lockgate.policy.git.repository import RepositoryFacts
from lockgate.resources.globs import names_meet
from lockgate.shell.state.abstract_text import show

if TYPE_CHECKING:
    from typing import Any

_VERDICTS = {"allow": Verdict.ALLOW, "ask": Verdict.ASK, "deny": Verdict.DENY}
_CHANGING = frozenset({"push", "force_push", "delete_remote", "rebase", "rewrite", DELETE})
_DOES = {
    "push": "pushes",
    "force_push": "pushes with force",
    "delete_remote": "deletes a branch elsewhere",
    "pull": "pulls",
    "rebase": "rebases",
    "rewrite": "takes commits from a branch",
    DELETE: "deletes or renames a branch",
}
_LONGEST = 160
"""Characters of a command line in a reason."""
_MOST = 200
"""Lines of git in one call that are looked at; with more, it is refused."""


def objections(question: RulesQuestion, look: Callable[[str], RepositoryFacts]) -> list[Objection]:
    """What the rules have against a call.

    Args:
        question: The call, and what is configured.
        look: Tells what the repository around a folder says of itself.
    """
    lines = Lines(question, look)
    if len(lines.found) > _MOST:
        return [
            Objection("rules:git/too-many", f"it has more than {_MOST} lines of git, which nobody can look through")
        ]
    found: dict[tuple[str, Verdict], Objection] = {}
    for at in range(len(lines.found)):
        for objection in _against_line(question.sets.git, lines, at):
            found.setdefault((objection.rule, objection.verdict), objection)
    return list(found.values())


def _against_line(settings: Sequence[GitRules], lines: Lines, at: int) -> Iterator[Objection]:
    line = lines.found[at]
    for act in acts_of(line, lambda: lines.default_push(at)):
        for setting in settings:
            verdict = _VERDICTS[_word(setting.rules, act.kind)]
            if verdict is not Verdict.ALLOW:
                reason = f"{_subject(line, act)}, and {setting.layer} says `git: {act.kind}: {verdict.word}`"
                yield Objection(f"rules:git/{act.kind.replace('_', '-')}", reason, verdict)
            yield from _protect(setting, act, lines, at)


def _word(rules: Mapping[str, Any], kind: str) -> str:
    """What a configuration says of a kind. A rebase rewrites too, where nothing is said of rebases."""
    word = rules.get(kind, rules.get("rewrite") if kind == "rebase" else None)
    return str(word or "allow")


def _protect(setting: GitRules, act: Act, lines: Lines, at: int) -> Iterator[Objection]:
    patterns = setting.rules.get("protected_branches", ())
    verdict = _VERDICTS[str(setting.rules.get("protected", "deny"))]
    if not patterns or verdict is Verdict.ALLOW or act.kind not in _CHANGING or not act.branch:
        return
    current = act.branch == CURRENT or lines.is_current(act.branch)
    branches = lines.current(at) if current else {act.branch}
    for pattern in patterns:
        met = [branch for branch in branches if branch and names_meet(pattern, branch)]
        if met:
            line = visible(show(" ".join(lines.found[at].words)), _LONGEST)
            told = f"`{line}` changes the branch `{pattern}`, which {setting.layer} protects"
            if any(ANY in branch for branch in met):
                told = (
                    f"which branch `{line}` changes is only known when it runs, and {setting.layer} protects "
                    f"`{pattern}`; name the branch (git push origin BRANCH), or join the commands with &&"
                )
            yield Objection("rules:git/protected", told, verdict)
            return


def _subject(line: GitCommandLine, act: Act) -> str:
    """What the line does, for a person."""
    text = visible(show(" ".join(line.words)), _LONGEST)
    if act.depends:
        word = visible(show(act.depends), 60)
        return f"`{word}` in `{text}` is only known when it runs and may be one that {_DOES[act.kind]}; write it out"
    return f"`{text}` {_DOES[act.kind]}"
