"""Comparing what real bash executed with what the analysis expected: programs, and what they do with their words."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path

from lockgate.core.model import Analysis, EffectKind
from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell
from support.bash_oracle import Command
from support.stub_oracle import KNOWN, executed

AROUND = HostView(home="/home/user", workspace="/work/project", variables={"PATH": "/usr/bin"})
_MOST_SHRUNK = 20
_MOST_FOR_PAIRS = 40
_NOT_OPAQUE = frozenset(
    {
        "shell:unknown-program",
        "shell:unlisted-option",
        "shell:unlisted-variable",
        "shell:unlisted-target",
        *(f"program:{name}" for name in KNOWN),
    }
)
"""Rules of ``execute`` effects that speak of one program (here: of a stub) and not of others that it may run."""


def is_opaque(analysis: Analysis) -> bool:
    """Whether the analysis says that more may run than the programs it names."""
    return None in analysis.programs or any(
        effect.kind is EffectKind.EXECUTE and effect.rule.partition("/")[0] not in _NOT_OPAQUE
        for effect in analysis.effects
    )


def misses(texts: list[str]) -> tuple[dict[str, set[str]], int]:
    """What ran or had an effect without being expected, by text; and how many texts were followed to their end."""
    found: dict[str, set[str]] = {}
    followed = 0
    for text, commands in zip(texts, executed(texts), strict=True):
        analysis = _analysis(text)
        if is_opaque(analysis):
            continue
        followed += 1
        if unexpected := _programs(commands) - set(analysis.programs) or _effects(commands, analysis) - _kinds(
            analysis
        ):
            found[text] = unexpected
    return found, followed


def _analysis(text: str) -> Analysis:
    return analyse_shell(text, "/work/project", AROUND)


def _programs(commands: Iterable[Command]) -> set[str]:
    return {command.argv[0].rpartition("/")[2] for command in commands}


def _effects(commands: Iterable[Command], analysis: Analysis) -> set[str]:
    """What the known programs that ran can do with the words that they really got.

    A program of which the analysis said that it may run anything is left out.
    """
    opaque = {effect.rule.partition("/")[0] for effect in analysis.effects if effect.kind is EffectKind.EXECUTE}
    names = ((command.argv[0].rpartition("/")[2], command.argv[1:]) for command in commands)
    return {
        kind
        for name, words in names
        if name in KNOWN and f"program:{name}" not in opaque
        for kind in _kinds(_analysis(shlex.join((name, *words))))
    }


def _kinds(analysis: Analysis) -> set[str]:
    kinds = {effect.kind.value for effect in analysis.effects}
    # What may send takes the place of what only fetches: a header that is not known is empty in the end.
    return kinds | {"fetch"} if "egress" in kinds else kinds


_PIECES = re.compile(r"\s+|[A-Za-z0-9_./-]+|.", re.DOTALL)


def shrunk(text: str, still_wrong: Callable[[list[str]], Iterable[str]]) -> str:
    """The smallest text that is found by leaving out pieces and that is still wrong; texts are judged many at once."""
    size = max(len(_PIECES.findall(text)) // 2, 1)
    while size:
        shorter = _without_some(_PIECES.findall(text), size)
        wrong = min(still_wrong([one for one in dict.fromkeys(shorter) if one != text]), key=len, default=text)
        if wrong == text:
            size //= 2
        text = wrong
    return text


def _without_some(pieces: list[str], size: int) -> Iterator[str]:
    """The text without so many neighbouring pieces; a short one also without any two."""
    for at in range(len(pieces)):
        yield "".join(pieces[:at] + pieces[at + size :])
    if size == 1 and len(pieces) <= _MOST_FOR_PAIRS:
        for one, other in combinations(range(len(pieces)), 2):
            yield "".join(piece for at, piece in enumerate(pieces) if at not in (one, other))


def report(found: dict[str, set[str]]) -> None:
    """Write what was missed, each text also made small, where ``MISSES`` says: for a run that nobody watches."""
    folder = os.environ.get("MISSES")
    if not folder or not found:
        return
    rows = []
    for text, names in list(found.items())[:_MOST_SHRUNK]:
        small = shrunk(text, lambda texts, names=names: [one for one, lost in misses(texts)[0].items() if lost & names])
        rows.append({"text": text, "unexpected": sorted(names), "small": small})
    Path(folder).mkdir(parents=True, exist_ok=True)
    Path(folder, "programs.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
