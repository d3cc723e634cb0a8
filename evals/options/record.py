"""Writes what programs document to ``documented/FAMILY.json``: ``record.py [--rest] [--used N | PROGRAM...]``.

Of each program those subcommands are recorded that the everyday corpora use. With ``--contained OPTIONS COMMAND`` some
documented options are marked: they stay unlisted on purpose, so that a labelled session runs them contained.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from documented import UNSAID
from harvest import documented_of
from listed import anywhere, entry, standing
from used import commands, most_used

from lockgate.shell.knowledge import lookup as knowledge

FOLDER = Path(__file__).resolve().parent / "documented"


def facts(family: str) -> dict[str, dict[str, str]]:
    """What is recorded of a family, by command."""
    file = FOLDER / f"{family}.json"
    found: dict[str, dict[str, str]] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return found


def write(family: str, known: dict[str, dict[str, str]]) -> None:
    """Write a family's facts, one command a line."""
    FOLDER.mkdir(exist_ok=True)
    rows = [f"{json.dumps(name)}: {json.dumps(fact, ensure_ascii=False)}" for name, fact in sorted(known.items())]
    (FOLDER / f"{family}.json").write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")


def record(program: str) -> None:
    """Record a program and its subcommands that are used."""
    top = knowledge.lookup(program)
    if top is None:
        return
    family = knowledge.family(top)
    known = facts(family)
    occurring = {tuple(name.split("/")) for name in commands()} | {(program,)}
    for command, options, source in documented_of(program, occurring):
        if not options:
            continue
        name = " ".join(command)
        where = entry(command)
        marked = known.get(name, {}).get("contained", "").split()
        contained = " ".join(one for one in marked if where and not standing(where, one, UNSAID).listed)
        kept = [one for one in options if one.name not in contained.split()]
        fact = {"source": source, "options": " ".join(one.name + one.takes.replace("?", "") for one in kept)}
        known[name] = {**fact, "contained": contained} if contained else fact
    write(family, known)


def contain(command: str, options: str) -> None:
    """Mark documented options of a command as unlisted on purpose."""
    top = knowledge.lookup(command.split()[0])
    family = knowledge.family(top) if top else ""
    known = facts(family)
    if entry(tuple(command.split())) is None or command not in known:
        sys.exit(f"{command} is not recorded")
    fact = known[command]
    marked = {*options.split(), *fact.get("contained", "").split()}
    kept = [word for word in fact["options"].split() if word.rstrip("=~") not in marked]
    known[command] = {"source": fact["source"], "options": " ".join(kept), "contained": " ".join(sorted(marked))}
    write(family, known)


def contain_rest(program: str) -> None:
    """Mark what of a program is still unlisted: to be said when its entries are filled, and looked at afterwards."""
    top = knowledge.lookup(program)
    for command, fact in facts(knowledge.family(top)).items() if top else ():
        if command.split()[0] == program and (where := entry(tuple(command.split()))) is not None:
            names = [word.rstrip("=~") for word in fact["options"].split()]
            rest = [name for name in names if not anywhere(where, name, UNSAID).listed]
            if rest:
                print(f"{command}: {' '.join(rest)}")
                contain(command, " ".join(rest))


def main(argv: list[str] | None = None) -> Any:
    """Record, or mark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--used", type=int, default=0, metavar="N")
    parser.add_argument("--contained", default="", metavar="OPTIONS")
    parser.add_argument("--rest", action="store_true", help="mark all that is still unlisted of these programs")
    asked = parser.parse_args(argv)
    if asked.contained:
        contain(" ".join(asked.programs), asked.contained)
        return
    for program in most_used(asked.used) if asked.used else asked.programs:
        record(program)
        if asked.rest:
            contain_rest(program)


if __name__ == "__main__":
    main()
