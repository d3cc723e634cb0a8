"""Which programs and subcommands the everyday corpora use, and how often."""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from lockgate.shell.knowledge.options import Option
from lockgate.shell.programs import invoke

sys.path.append(str(Path(__file__).resolve().parents[1] / "shell"))

from shell_corpora import EVERYDAY, analysed


@cache
def commands() -> Counter[str]:
    """How often each entry is met (``git/log``) when all commands of the everyday corpora are analysed."""
    counted: Counter[str] = Counter()
    descend = invoke.Invocation._descend

    def counting(self: invoke.Invocation, args: list[Any]) -> list[Option]:
        options = descend(self, args)
        counted[self.entry.name] += 1
        return options

    invoke.Invocation._descend = counting  # type: ignore[method-assign]
    try:
        for name in ("everyday", "heldout/everyday"):
            for case in EVERYDAY._replace(name=name).cases():
                analysed(case)
    finally:
        invoke.Invocation._descend = descend  # type: ignore[method-assign]
    return counted


def most_used(count: int) -> list[str]:
    """The programs that are used most."""
    programs: Counter[str] = Counter()
    for name, times in commands().items():
        programs[name.partition("/")[0]] += times
    return [name for name, _ in programs.most_common(count)]
