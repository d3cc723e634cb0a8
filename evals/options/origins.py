"""Asks all documents of a program for its options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import completions
import manual
import texts
from boxed import run
from documented import NOTHING, Documented, Option, merged
from packages import Place, fetched

_GIVES_ALL = {
    "curl": ["--help", "all"],
    "ffmpeg": ["-h", "full"],
    "ffprobe": ["-h"],
    "java": ["-help"],
    "git": [],
    "ip": [],
}
"""Programs that are asked for all options in a way of their own, or whose manual pages are enough."""
_VALUES_IN_USAGE = frozenset({"npm", "npx"})
"""Programs whose help names values in the synopsis only."""
_ENOUGH = 2


class Documents(NamedTuple):
    """The documented options of a command."""

    command: tuple[str, ...]
    options: dict[str, Option]
    version: str


def ask(command: tuple[str, ...], where: Place, *, clusters: bool) -> Documents:
    """All that the documents of a program say of it or of its subcommand.

    Args:
        command: The program's name and those of subcommands.
        where: Where it lies.
        clusters: Whether letters behind one dash are options each.
    """
    found: list[Documented] = []
    roots = [where.root, Path("/")]
    command_there = (where.name or command[0], *command[1:])
    page = manual.find("-".join(command_there), roots)
    if page is not None:
        found += manual.read(page, clusters=clusters)
    found += _helped(command_there, where, clusters=clusters)
    found += _completed(command, roots)
    return Documents(command, merged(found), where.version)


def _helped(command: tuple[str, ...], where: Place, *, clusters: bool) -> list[Documented]:
    program, *below = command
    for words in _questions(program, below):
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]|.\x08", "", run([program, *words], where.path, where.libraries))
        found = texts.options(text, "help")
        known = {one.name for one in found}
        usage = texts.usage(text, clusters=clusters)
        if program in _VALUES_IN_USAGE:
            takes = {one.name: one.takes for one in usage}
            found = [one._replace(takes=one.takes or takes.get(one.name, NOTHING)) for one in found]
        found += [one for one in usage if one.name not in known]
        if len(found) >= _ENOUGH:
            return found
    return []


def _questions(program: str, below: list[str]) -> list[list[str]]:
    if program in _GIVES_ALL:
        return [[*below, *_GIVES_ALL[program]]] if _GIVES_ALL[program] else []
    if program == "go":
        return [["help", *below]]
    if program == "openssl":
        return [[*below, "-help"]]
    asked = [[*below, "--help"], [*below, "-h"]]
    return [*asked, ["help", *below]] if below else [*asked, ["-help"]]


def _completed(command: tuple[str, ...], roots: list[Path]) -> list[Documented]:
    program, *below = command
    found: list[Documented] = []
    shells = [
        place.root
        for place in (
            fetched("deb", ["fish-common"]),
            fetched("deb", ["zsh-common"]),
            fetched("deb", ["bash-completion"]),
        )
        if place
    ]
    for root in [*shells, *roots]:
        fish = [
            root / "usr/share/fish" / folder / f"{program}.fish" for folder in ("completions", "vendor_completions.d")
        ]
        zsh = (
            list((root / "usr/share/zsh").glob(f"**/_{program}"))
            if not below and re.fullmatch(r"[\w.-]+", program)
            else []
        )
        bash = [root / "usr/share/bash-completion/completions" / name for name in (program, f"_{program}")]
        for file in fish:
            found += completions.fish(file, tuple(below)) if file.is_file() else []
        for file in zsh:
            found += completions.zsh(file) if file.is_file() else []
        for file in bash if not below else []:
            found += completions.bash(file) if file.is_file() else []
    return found
