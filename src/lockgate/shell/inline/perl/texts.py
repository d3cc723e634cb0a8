"""Finds texts that perl may run: patterns with code, and names of files that are commands."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re

_FILLED_IN = lazy_re(
    r"(?:[@$]F\[-?\d+(?:,-?\d+)*\]|\$[a-z]\w*(?:\[-?\d+\]|\{\w+\})|\$\{[a-z_]\w*\})(?![\[{]|->)"
    r"|[@$](?:[A-Za-z_]\w*|\d+)(?![\w\[{:']|->)"
)
"""Variables in a text, with no more than a plain index."""
_RUNS = lazy_re(r"[@$][{\[(\\$]|[@$][\w:']*[\[{]|[@$][^\w\s][\[{]|->|::|\(\?\??\{|\(\*|\\[NpP]")
"""What in a text or a pattern is, or may be, evaluated as code."""
_OPENED = frozenset("|<>&+- \t\n")
"""What at an end of a file's name tells perl's ``open`` what to do with it."""


def runs_something(text: str) -> bool:
    """Whether a text that is filled in with values, or a pattern, can evaluate code."""
    return "$$" in text or "@$" in text or _RUNS.search(_FILLED_IN.sub(" ", text)) is not None


def is_opened(name: str, *, pattern: bool) -> bool:
    """Whether perl may take a file's name for more than that: ``cmd|`` runs a program, ``>name`` writes.

    Args:
        name: The word; blanks around it do not count, and text that is not known may be any.
        pattern: Whether it is a pattern for names of files, which anybody may have made.
    """
    ends = {name[:1], name[-1:]}
    marks = _OPENED | frozenset("*?[]") if pattern else _OPENED
    return "" in ends or not all(map(str.isprintable, ends)) or bool(ends & marks)
