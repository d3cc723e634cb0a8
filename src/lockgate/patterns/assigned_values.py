"""Values that a text hands over under a name: ``project_id: PROJ-042``, ``entry_id=e-17``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

_MOST = 1000
"""Assignments of one text that are looked at."""
_NAME = rb"(?<![A-Za-z0-9_-])([A-Za-z][A-Za-z0-9_-]{0,79})"
_BETWEEN = rb"[\"'`*]{0,3}[ \t]{0,8}[:=][*]{0,2}[ \t]{0,8}[\"'`]?"
_VALUE = rb"((?:[^\s\"'`,;()\[\]{}<>$]{0,199}[^\s\"'`,;()\[\]{}<>$.:!?*]))"
_ASSIGNMENT = re.compile(_NAME + _BETWEEN + _VALUE)
_OF_AN_ID = re.compile(rb"[0-9-]")


def assigned_values(data: bytes) -> Iterator[tuple[str, tuple[int, int]]]:
    """Find what is assigned in a text in UTF-8.

    A value without a digit and a hyphen is a word of a sentence (``entry_id: the one above``), and no id.

    Returns:
        The name, and where the value stands, in bytes; without quotes, and without the full stop of a sentence.
    """
    for found in islice(_ASSIGNMENT.finditer(data), _MOST):
        if _OF_AN_ID.search(found[2]):
            yield found[1].decode("ascii"), found.span(2)
