r"""A library to the artefact that a hook loads: what is needed of each rule, and one database of all patterns.

The artefact is three parts, one behind the other::

    {"format": 1, "rules": [length, ...], "database": length, ...}\n      the header, JSON
    {...}{...}...                                                         one JSON object a rule, read when it is needed
    <bytes>                                                               the serialised database

A database is good for one version of Hyperscan and one family of processors; loading it elsewhere is an error, and it
is compiled anew.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence

from lockgate.analysis.patterns.decoding_spots import ONCE, SPOT_PATTERNS
from lockgate.analysis.patterns.engine import FORMAT
from lockgate.analysis.patterns.model import Group, Library, Rule
from lockgate.errors import PatternError
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def expression(rule: Rule) -> bytes:
    """A rule's pattern as both engines take it."""
    return (("(?m)" if rule.multiline else "") + rule.pattern).encode("utf-8")


def least(pattern: str) -> str:
    """A pattern that matches wherever the given one does, and at as few ends as can be told cheaply.

    Hyperscan reports each end of a match: ``x{20,}`` as often as the run is long. What stands last is therefore
    repeated as seldom as the pattern allows, and left out where it may be missing. Where there are alternatives, only
    the last of them becomes shorter; what is left is still a prefix of every match of it.
    """
    shorter = _shortened(pattern)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(shorter)
    except (re.error, FutureWarning, DeprecationWarning):
        return pattern  # a class in which another bracket stands, or syntax that is RE2's alone
    return shorter


def _shortened(pattern: str) -> str:
    end = len(pattern)
    closing = ""
    while end:
        if pattern.endswith(r"\b", 0, end) and not _escaped(pattern, end - 2):
            end -= 2
        elif pattern[end - 1] == ")" and not _escaped(pattern, end - 1):
            end, closing = end - 1, ")" + closing
        else:
            shorter = _repeated_least(pattern, end)
            if shorter is None:
                break
            kept, gone = shorter
            if not gone:
                return kept + closing
            if not kept or kept[-1] in "(|^:>":
                break  # nothing would be left to look for
            pattern, end = kept, len(kept)
    return pattern[:end] + closing


def _escaped(pattern: str, at: int) -> bool:
    """Whether the character at a place has a backslash before it that counts."""
    count = 0
    while at - count > 0 and pattern[at - count - 1] == "\\":
        count += 1
    return count % 2 == 1


def _repeated_least(pattern: str, end: int) -> tuple[str, bool] | None:
    """What is before ``end`` with its last quantifier at its least, and whether the atom is gone; else ``None``."""
    match = re.search(r"(?:\{(\d+)(?:,\d*)?\}|[*+?])\??\Z", pattern[:end])
    if match is None or _escaped(pattern, match.start()):
        return None
    atom = match.start()
    if match.group()[0] == "?" and pattern[atom - 1] in "*+?}":
        return None
    least_count = int(match[1]) if match[1] is not None else int(match.group()[0] == "+")
    if least_count:
        return pattern[:atom] + (f"{{{least_count}}}" if least_count > 1 else ""), False
    before = _atom_start(pattern, atom)
    return None if before is None else (pattern[:before], True)


def _atom_start(pattern: str, end: int) -> int | None:
    """Where the atom that ends at a place begins; ``None`` for groups."""
    last = pattern[end - 1]
    if last == ")" and not _escaped(pattern, end - 1):
        return None
    if last == "]" and not _escaped(pattern, end - 1):
        start = pattern.rfind("[", 0, end)
        while start > 0 and _escaped(pattern, start):
            start = pattern.rfind("[", 0, start)
        return start if start >= 0 and ":" not in pattern[start:end] else None
    if _escaped(pattern, end - 1):
        return end - 2
    return end - 1 if last.isascii() else None


def compile_library(library: Library, hyperscan: Any) -> bytes:
    """The artefact of a library.

    Args:
        library: Checked: every pattern can be compiled.
        hyperscan: The module.

    Raises:
        PatternError: The patterns cannot be compiled together.
    """
    scanned = [index for index, rule in enumerate(library.rules) if not rule.negated]
    database = _database(library.rules, scanned, hyperscan)
    lines = [json.dumps(_rule(rule), separators=(",", ":")).encode() for rule in library.rules]
    header = {
        "format": FORMAT,
        "hyperscan": str(getattr(hyperscan, "__version__", "")),
        "rules": [len(line) for line in lines],
        "spots": list(SPOT_PATTERNS),
        "negated": [index for index, rule in enumerate(library.rules) if rule.negated],
        "groups": [_group(group) for group in library.groups],
        "tools": [
            [rule.tool, list(rule.groups), rule.fallback, {name: int(mode) for name, mode in rule.modes.items()}]
            for rule in library.tool_rules
        ],
        "database": len(database),
    }
    return b"".join((json.dumps(header, separators=(",", ":")).encode(), b"\n", *lines, database))


def _database(rules: Sequence[Rule], scanned: Sequence[int], hyperscan: Any) -> bytes:
    expressions = [
        ("(?m)" if rules[index].multiline else "").encode() + least(rules[index].pattern).encode("utf-8")
        for index in scanned
    ]
    ids = [*scanned, *range(len(rules), len(rules) + len(SPOT_PATTERNS))]
    flags = [0] * len(scanned) + [hyperscan.HS_FLAG_SINGLEMATCH if name in ONCE else 0 for name in SPOT_PATTERNS]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(expressions=[*expressions, *SPOT_PATTERNS.values()], ids=ids, flags=flags)
    except hyperscan.error as error:
        raise PatternError(f"the patterns cannot be compiled together: {error}") from None
    data: bytes = hyperscan.dumpb(database)
    return data


def _rule(rule: Rule) -> Mapping[str, Any]:
    """A rule without what only people read, and without what is as usual."""
    fields = rule._asdict()
    fields["severity"] = int(rule.severity)
    return {key: value for key, value in fields.items() if value != Rule._field_defaults.get(key)}


def _group(group: Group) -> Sequence[Any]:
    return [*group._replace(mode=int(group.mode), rules=list(group.rules))]  # type: ignore[arg-type]
