"""Looks for regular expressions of Lockgate's whose time grows faster than their input.

Each pattern in the source is given long runs of what it is made of, at two lengths. Time is measured, so this is a tool
and no test: run it on a quiet machine.

    python evals/fuzz/regexes.py [WORD...]    only patterns of files whose path has one of the words
"""

from __future__ import annotations

import ast
import itertools
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from re import _constants as constants
from re import _parser as parser
from typing import Any, NamedTuple

SOURCE = Path(__file__).parents[2] / "src/lockgate"
SHORT, LONG = 1_500, 4_500
SLOW = 0.004
"""Seconds for the long text below which nothing is said."""
GROWTH = 5.0
"""How much longer three times the text may take."""
MOST_LETTERS = 14
_KINDS = {"DIGIT": "1", "SPACE": " ", "WORD": "a"}
_METHODS = ("match", "search", "fullmatch", "sub", "subn", "split", "finditer", "findall")


class Use(NamedTuple):
    """A pattern and how it is used."""

    place: str
    pattern: str
    flags: int
    method: str


def uses() -> Iterator[Use]:
    """Give every pattern that stands in the source as a constant."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and (found := _constant(node)):
                pattern, flags, function = found
                place = f"{path.relative_to(SOURCE)}:{node.lineno}"
                for method in [function] if function in _METHODS else _methods(text, node):
                    yield Use(place, pattern, flags, method)


def _constant(node: ast.Call) -> tuple[str, int, str] | None:
    function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    owner = getattr(getattr(node.func, "value", None), "id", "")
    if not (function == "lazy_re" or (owner == "re" and function in (*_METHODS, "compile"))) or not node.args:
        return None
    flags = 0
    for part in (*node.args[1:], *(keyword.value for keyword in node.keywords)):
        for inner in ast.walk(part):
            if isinstance(inner, ast.Attribute) and isinstance(getattr(re, inner.attr, None), re.RegexFlag):
                flags |= getattr(re, inner.attr)
    try:
        pattern = ast.literal_eval(node.args[0])
    except ValueError:
        return None
    return (pattern, flags, function) if isinstance(pattern, str) else None


def _methods(text: str, node: ast.Call) -> list[str]:
    """How a compiled pattern is used: by its name, or at once."""
    lines = text.splitlines()
    if at_once := re.match(r"\.(\w+)\(", lines[(node.end_lineno or 1) - 1].encode()[node.end_col_offset :].decode()):
        return [at_once.group(1)]
    line = lines[node.lineno - 1]
    name = re.match(r"\s*(\w+)\s*=", line)
    found = set(re.findall(rf"\b{name.group(1)}\.(\w+)\(", text)) if name else set()
    return sorted(found & set(_METHODS)) or ["search"]


def letters(pattern: str, flags: int) -> list[str]:
    """Characters of each kind that a pattern knows, and one that it does not."""
    found = dict.fromkeys(_letters(parser.parse(pattern, flags)))
    return [*list(found)[:MOST_LETTERS], "\x7f"]


def _letters(node: Any) -> Iterator[str]:
    if isinstance(node, tuple) and len(node) == 2 and node[0] in (constants.LITERAL, constants.NOT_LITERAL):
        yield chr(node[1])
    elif isinstance(node, tuple) and len(node) == 2 and node[0] is constants.RANGE:
        yield chr(node[1][0])
    elif isinstance(node, tuple) and len(node) == 2 and node[0] is constants.CATEGORY:
        yield _KINDS.get(str(node[1]).rpartition("_")[2], "a")
    elif isinstance(node, tuple | list | parser.SubPattern):
        for inner in node:
            yield from _letters(inner)


def attacks(characters: list[str]) -> Iterator[Callable[[int], str]]:
    """Texts of any length: a beginning, a run, and an end that does not fit."""
    runs = [*characters, *map("".join, itertools.permutations(characters[:8], 2))]
    for run, before in itertools.product(runs, ["", *characters[:6]]):
        yield lambda size, run=run, before=before: before + (run * (size // len(run) + 1))[:size] + "\x7e\n\x7f"


def seconds(use: Use, compiled: re.Pattern[str], text: str) -> float:
    method = getattr(compiled, use.method)
    start = time.process_time()
    answer = method("", text) if use.method in ("sub", "subn") else method(text)
    if use.method == "finditer":
        list(answer)
    return time.process_time() - start


def worst(use: Use) -> tuple[float, float, str] | None:
    """The text for which a pattern is worst, with its time and growth, if any is bad."""
    compiled = re.compile(use.pattern, use.flags)
    for attack in attacks(letters(use.pattern, use.flags)):
        signal.alarm(10)
        long = seconds(use, compiled, attack(LONG))
        if long < SLOW:
            continue
        long = min(long, seconds(use, compiled, attack(LONG)))
        growth = long / max(seconds(use, compiled, attack(SHORT)), 1e-6)
        if growth > GROWTH and long >= SLOW:
            return long, growth, attack(12)
    return None


def main(words: list[str]) -> int:
    bad = 0
    for use in dict.fromkeys(uses()):
        if words and not any(word in use.place for word in words):
            continue
        try:
            found = worst(use)
        except BaseException as error:  # noqa: BLE001 - an alarm, or a pattern that is none
            found = (10.0, 0.0, repr(error))
        signal.alarm(0)
        if found:
            bad += 1
            took, growth, text = found
            print(f"{use.place} {use.method}: {took:.3f} s, x{growth:.1f} for {text!r}: {use.pattern[:80]}", flush=True)
    return bool(bad)


def _too_long(*_: object) -> None:
    raise TimeoutError


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _too_long)
    sys.exit(main(sys.argv[1:]))
