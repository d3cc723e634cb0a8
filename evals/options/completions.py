"""Completion files of zsh, fish and bash. They are read as text: nothing of them is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from documented import NOTHING, UNSAID, VALUE, Documented

_ZSH = re.compile(
    r"""(?P<quote>['"])?(?:\([^)]*\))?\*?(?P=quote)?(?:\{(?P<several>[^}]*)\}(?P<q2>['"])?|(?P<one>--?[\w?@#][\w.:-]*))"""
    r"""(?P<plus>[=+-]{0,2})(?:\[(?P<about>(?:[^\]\\]|\\.)*)\])(?P<value>:)?"""
)
_BASH = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]*)(=)?")


def zsh(file: Path) -> list[Documented]:
    """Options of ``_arguments`` specifications: ``'(-a --all)'{-a,--all}'[text]:message:action'``."""
    found = []
    for match in _ZSH.finditer(file.read_text("utf-8", "replace")):
        names = match["several"].split(",") if match["several"] else [match["one"]]
        takes = VALUE if match["value"] else NOTHING
        stripped = [name.strip("'\"* ") for name in names]
        spelled = [name.rstrip("=+") for name in stripped if re.fullmatch(r"--?[\w?@#][\w.:-]*[=+-]?", name)]
        found += [Documented(name, takes, match["about"], "zsh") for name in spelled]
    return found


def fish(file: Path, subcommands: tuple[str, ...]) -> list[Documented]:
    """Options of ``complete -c NAME -s a -l all``; where a condition names subcommands, only those that are meant."""
    found: list[Documented] = []
    for line in file.read_text("utf-8", "replace").replace("\\\n", " ").splitlines():
        if line.lstrip().startswith("complete "):
            try:
                found += _fish(shlex.split(line, comments=True)[1:], subcommands)
            except ValueError:  # quotes of fish that are none of POSIX
                continue
    return found


def _fish(words: list[str], subcommands: tuple[str, ...]) -> Iterator[Documented]:
    names: list[str] = []
    about, takes, condition = "", NOTHING, ""
    at = 0
    while at < len(words):
        word = words[at]
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in ("-s", "--short-option"):
            names.append(f"-{following}")
        elif word in ("-l", "--long-option"):
            names.append(f"--{following}")
        elif word in ("-o", "--old-option"):
            names.append(f"-{following}")
        elif word in ("-d", "--description"):
            about = following
        elif word in ("-n", "--condition"):
            condition = following
        elif re.fullmatch(r"-\w*[rx]\w*|--require-parameter|--exclusive", word) or word in ("-a", "-ra", "-xa"):
            takes = VALUE
            at -= "a" not in word
        else:
            at -= 1
        at += 2
    if condition.startswith("not "):
        meant = not subcommands
    elif "subcommand" in condition or "using_command" in condition:
        meant = bool(subcommands) and subcommands[-1] in re.findall(r"[\w-]+", condition)
    else:
        meant = not subcommands
    if meant:
        yield from (Documented(name, takes if names else UNSAID, about, "fish") for name in names)


def bash(file: Path) -> list[Documented]:
    """Every word of the script that looks like an option: hints, no more."""
    text = re.sub(r"(?m)^\s*#.*$", "", file.read_text("utf-8", "replace"))
    words = {(name, bool(equals)) for name, equals in _BASH.findall(text) if len(name) > 2}
    return [Documented(name, VALUE if equals else UNSAID, "", "bash") for name, equals in sorted(words)]
