r"""A library to the artefact that a hook loads: what is needed of each rule, and one database of all patterns.

The artefact is three parts, one behind the other::

    {"format": 3, "rules": [length, ...], "database": length, ...}\n      the header, JSON
    {...}{...}...                                                         one JSON object a rule, read when it is needed
    <bytes>                                                               the serialised database

A database is good for one version of Hyperscan and one family of processors; loading it elsewhere is an error, and it
is compiled anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from lockgate.core.errors import PatternError
from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.decoding.candidates import ONCE, SPOT_PATTERNS
from lockgate.patterns.engine.anchors import anchor_of
from lockgate.patterns.engine.matcher import FORMAT, expression
from lockgate.patterns.model import Library, Rule, RuleGroup

if TYPE_CHECKING:
    from typing import Any

_OF_THE_TEXT = lazy_re(r"\\[AzZ]|\(\?[A-Za-z]*-[A-Za-z]*m")
"""The ends of a text in a pattern, which those of a line are not."""


def compile_library(library: Library, hyperscan: Any) -> bytes:
    """The artefact of a library.

    Args:
        library: Checked: every pattern can be compiled.
        hyperscan: The module.

    Raises:
        PatternError: The patterns cannot be compiled together.
    """
    anchors = {
        index: anchor_of(expression(rule), alone=rule.boundary != "none")
        for index, rule in enumerate(library.rules)
        if not rule.negated
    }
    owners: dict[str, list[int]] = {}
    for index, anchor in anchors.items():
        owners.setdefault(anchor.pattern, []).append(index)
    database = _database(list(owners), hyperscan)
    lines = [json.dumps(_rule(rule), separators=(",", ":")).encode() for rule in library.rules]
    header = {
        "format": FORMAT,
        "hyperscan": str(getattr(hyperscan, "__version__", "")),
        "rules": [len(line) for line in lines],
        "anchors": list(owners.values()),
        "windows": [list(anchors[index][1:]) if index in anchors else [] for index in range(len(library.rules))],
        "spots": list(SPOT_PATTERNS),
        "joins": not any(_OF_THE_TEXT.search(anchor) for anchor in owners),
        "negated": [index for index, rule in enumerate(library.rules) if rule.negated],
        "groups": [_group(group) for group in library.groups],
        "tools": [
            [rule.tool, list(rule.groups), rule.fallback, {name: int(mode) for name, mode in rule.modes.items()}]
            for rule in library.tool_rules
        ],
        "database": len(database),
    }
    return b"".join((json.dumps(header, separators=(",", ":")).encode(), b"\n", *lines, database))


def _database(anchors: Sequence[str], hyperscan: Any) -> bytes:
    expressions = [*(anchor.encode("utf-8") for anchor in anchors), *SPOT_PATTERNS.values()]
    once = hyperscan.HS_FLAG_SINGLEMATCH
    # That it may begin and end at a line makes an anchor find more, so that texts can be looked at as lines of one.
    lines = hyperscan.HS_FLAG_MULTILINE
    flags = [lines if "^" in anchor or "$" in anchor else 0 for anchor in anchors]
    flags += [once if name in ONCE else 0 for name in SPOT_PATTERNS]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(expressions=expressions, ids=list(range(len(expressions))), flags=flags)
    except hyperscan.error as error:
        raise PatternError(f"the patterns cannot be compiled together: {error}") from None
    data: bytes = hyperscan.dumpb(database)
    return data


def _rule(rule: Rule) -> Mapping[str, Any]:
    """A rule without what only people read, and without what is as usual."""
    fields = rule._asdict()
    fields["severity"] = int(rule.severity)
    return {key: value for key, value in fields.items() if value != Rule._field_defaults.get(key)}


def _group(group: RuleGroup) -> Sequence[Any]:
    return [*group._replace(mode=int(group.mode), rules=list(group.rules))]  # type: ignore[arg-type]
