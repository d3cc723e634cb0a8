"""Comparing the programs that real bash executed with those that the analysis expected."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path

from lockgate.analysis.shell import analyse_shell
from lockgate.analysis.surroundings import Surroundings
from lockgate.model import Analysis, EffectKind
from support.stub_oracle import KNOWN, executed

AROUND = Surroundings(home="/home/user", workspace="/work/project", variables={"PATH": "/usr/bin"})
_MOST_SHRUNK = 20
_MOST_FOR_PAIRS = 40
_NOT_OPAQUE = frozenset({"shell:unknown-program", *(f"program:{name}" for name in KNOWN)})
"""Rules of ``execute`` effects that speak of one program (here: of a stub) and not of others that it may run."""


def is_opaque(analysis: Analysis) -> bool:
    """Whether the analysis says that more may run than the programs it names."""
    return None in analysis.programs or any(
        effect.kind is EffectKind.EXECUTE and "/".join(effect.rule.split("/")[:1]) not in _NOT_OPAQUE
        for effect in analysis.effects
    )


def misses(texts: list[str]) -> tuple[dict[str, set[str]], int]:
    """The programs that ran without being expected, by text; and how many texts were followed to their end."""
    found: dict[str, set[str]] = {}
    followed = 0
    for text, commands in zip(texts, executed(texts), strict=True):
        analysis = analyse_shell(text, "/work/project", AROUND)
        if is_opaque(analysis):
            continue
        followed += 1
        ran = {command.argv[0].rpartition("/")[2] for command in commands}
        if unexpected := ran - set(analysis.programs):
            found[text] = {name for name in unexpected if name is not None}
    return found, followed


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
        rows.append({"text": text, "programs": sorted(names), "small": small})
    Path(folder).mkdir(parents=True, exist_ok=True)
    Path(folder, "programs.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
