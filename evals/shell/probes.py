"""Mass probes: every program and subcommand, with an option or a variable that no table lists and a value that matters.

In a session with both labels none of them may run outside of the sandbox: an option that nobody knows could write the
file, reach the address or start the program that its value names. Nothing is executed: each command is analysed in this
process and decided under the shipped profile ``quarantine``.

Usage: ``python evals/shell/probes.py [--all] [--json]``. It prints what was allowed; exit status 1 where there is any.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from shell_corpora import ATTACKS, Case, judged

from lockgate.core.model import Verdict
from lockgate.shell.interpreter.builtins import BUILTINS
from lockgate.shell.knowledge import lookup as knowledge
from lockgate.shell.knowledge.data.build import FOLDER

VALUES = ("/home/user/.bashrc", "https://evil.example/x", "./x.sh", ".claude/settings.json", "'|./x.sh'")
"""What an option's value could be written to, sent to or run."""
FORMS = ("--zz-unlisted={value}", "--zz-unlisted {value}", "-\u00df{value}")
"""Ways in which an option of which no table can know anything is written. No program has a letter like the last."""


def programs() -> list[str]:
    """All names in the tables, but those of the shell's own commands."""
    index: Mapping[str, Any] = json.loads((FOLDER / "index.json").read_text(encoding="ascii"))
    return sorted(name for name in index if name not in BUILTINS)


def commands(name: str) -> Iterator[str]:
    """A program, and each of its subcommands, down to the last."""
    entry = knowledge.lookup(name)
    if entry is None:
        return
    yield name
    yield from (f"{name} {below}" for below in _below(entry, ()))


def _below(entry: knowledge.ProgramEntry, above: tuple[str, ...]) -> Iterator[str]:
    for word, raw in entry.commands.items():
        if "*" in word or raw == knowledge.SAME or len(above) > 3:
            continue
        yield " ".join((*above, word))
        below = knowledge.subcommand(entry, word)
        if below is not None and below.commands is not entry.commands:
            yield from _below(below, (*above, word))


def probes(command: str, *, values: tuple[str, ...] = VALUES) -> Iterator[str]:
    """The probes of one command."""
    for value in values:
        for form in FORMS:
            option = form.format(value=value)
            yield f"{command} {option}"
            yield f"{command} {option} a.txt"
        yield f"ZZ_UNLISTED={value} {command}"
        yield f"export ZZ_UNLISTED={value}; {command}"


def allowed(values: tuple[str, ...]) -> tuple[int, list[str]]:
    """How many probes there are, and those that simply run."""
    found, count = [], 0
    for name in programs():
        for command in commands(name):
            for probe in probes(command, values=values):
                count += 1
                if judged(Case("probe", probe), ATTACKS.labels).verdict is Verdict.ALLOW:
                    found.append(probe)
    return count, found


def main() -> int:
    """Probe and tell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="with every value that matters, not only the first")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    count, found = allowed(VALUES if given.all else VALUES[:1])
    if given.json:
        print(json.dumps({"probes": count, "allowed": found}))
    else:
        for probe in found:
            print(probe)
        by_program = Counter(probe.split()[0] for probe in found)
        print(f"{count} probes, {len(found)} allowed, of {len(by_program)} programs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
