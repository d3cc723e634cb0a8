"""Prints which documented options of programs their entries do not list.

Usage: ``python evals/options/harvest.py [--json] [--all | --used N | PROGRAM...]``. `README.md` says how it is meant.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from documented import UNSAID, Option, surely
from listed import anywhere, contradicts, entry, standing, subcommands
from origins import ask
from packages import place
from used import most_used

from lockgate.shell.knowledge import lookup as knowledge
from lockgate.shell.knowledge.lookup import ProgramEntry

_LOCAL = ("fetch", "fetch-known", "fetch-own", "query", "ingest")
_ALWAYS = frozenset({"--help", "--version"})
"""Alone they are harmless for every program."""


class Finding(NamedTuple):
    """What the documents of one command have and its entry has not."""

    command: tuple[str, ...]
    family: str
    version: str
    listed: int
    unlisted: list[Option]
    differ: list[tuple[Option, str]]
    """Options that take something else than the entry says, with what it says."""
    hints: list[str]
    """Names that only a bash completion has."""

    def as_json(self) -> dict[str, Any]:
        """A value for ``--json``."""
        return {
            "command": " ".join(self.command),
            "family": self.family,
            "source": self.version,
            "listed": self.listed,
            "unlisted": [one._asdict() for one in self.unlisted],
            "differ": [{**one._asdict(), "entry": takes} for one, takes in self.differ],
            "hints": self.hints,
        }


def harvested(program: str) -> Iterator[Finding]:
    """One finding for a program, and one for each subcommand that its entry names."""
    for command, options, source in _documents(program, None):
        below = entry(command)
        if below is not None:
            yield compared(below, command, options, source)


def documented_of(program: str, meant: set[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], list[Option], str]]:
    """What a program documents of each of its commands that are meant: command, options, package and version."""
    for command, options, source in _documents(program, meant):
        sure = [option for name, option in surely(options).items() if name not in _ALWAYS]
        yield command, sure, source


def _documents(
    program: str, meant: set[tuple[str, ...]] | None
) -> Iterator[tuple[tuple[str, ...], dict[str, Option], str]]:
    top, where = knowledge.lookup(program), place(program)
    if top is None or where is None:
        sys.stderr.write(f"{program}: {'no entry' if top is None else 'not here, and packages.tsv does not name it'}\n")
        return
    general = _said(ask((program,), where, clusters=top.style == "gnu").options)
    for command in subcommands(program):
        below = entry(command)
        if below is not None and (meant is None or command in meant):
            documents = ask(command, where, clusters=below.style == "gnu")
            if len(command) == 1 or not general or _said(documents.options) != general:
                # What an entry has as `help` is known, though no option of it.
                options = {name: option for name, option in documents.options.items() if name not in below.help}
                yield command, options, documents.version


def _said(options: dict[str, Option]) -> frozenset[str]:
    """The options that help names: some programs print the general help for a subcommand that they do not have."""
    return frozenset(name for name, option in options.items() if not {"help", "usage"}.isdisjoint(option.sources))


def compared(where: ProgramEntry, command: tuple[str, ...], options: dict[str, Option], version: str) -> Finding:
    """Hold an entry against what is documented."""
    sure = {name: option for name, option in surely(options).items() if name not in _ALWAYS}
    hints = [
        name
        for name in options
        if name not in sure and name not in _ALWAYS and not standing(where, name, UNSAID).listed
    ]
    unlisted, differ = [], []
    for option in sure.values():
        stands = anywhere(where, option.name, option.takes)
        if not stands.listed:
            unlisted.append(option)
        elif contradicts(stands, option):
            differ.append((option, stands.takes))
    top = knowledge.lookup(command[0])
    return Finding(
        command, knowledge.family(top) if top else "", version, len(sure) - len(unlisted), unlisted, differ, hints
    )


def local_programs() -> list[str]:
    """Every program whose entry has no effect, or only reads from elsewhere."""
    names = json.loads(knowledge.text_of("index"))
    return [
        name for name in names if (found := knowledge.lookup(name)) is not None and set(found.effects) <= set(_LOCAL)
    ]


def _print(finding: Finding) -> None:
    command = " ".join(finding.command)
    print(
        f"\n{command}  [{finding.family}]  {finding.version}  {finding.listed} listed, {len(finding.unlisted)} unlisted"
    )
    for option in finding.unlisted:
        print(f"  {option.name + option.takes.replace('?', ''):28} {option.about[:110]}  ({' '.join(option.sources)})")
    for option, takes in finding.differ:
        print(f"  differs {option.name + option.takes:20} entry: {takes or 'a flag'}  {option.about[:90]}")
    if finding.hints:
        print(f"  only in a completion: {' '.join(finding.hints)}")


def main(argv: list[str] | None = None) -> int:
    """Harvest, print; the exit status is 1 where something is unlisted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--all", action="store_true", help="every program whose entry is local or only fetches")
    parser.add_argument(
        "--used", type=int, default=0, metavar="N", help="the N programs most used in the everyday corpora"
    )
    parser.add_argument("--json", action="store_true", help="one object for each command, one a line")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args(argv)
    programs: Iterable[str] = local_programs() if asked.all else most_used(asked.used) if asked.used else asked.programs
    count = 0
    with ThreadPoolExecutor(asked.jobs) as pool:
        for findings in pool.map(lambda program: list(harvested(program)), programs):
            for finding in findings:
                count += len(finding.unlisted)
                if asked.json:
                    print(json.dumps(finding.as_json()), flush=True)
                elif finding.unlisted or finding.differ or finding.hints:
                    _print(finding)
    return 1 if count else 0


if __name__ == "__main__":
    raise SystemExit(main())
