"""Finds SQL that removes what no other statement brings back: databases, tables, columns, or all rows of a table.

It looks at words, and only makes a verdict stricter. It serves for all clients, because it reads no dialect exactly.
"""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.inline.data import language

if TYPE_CHECKING:
    from collections.abc import Iterable

_ASIDE = r"(?P<aside>--(?=\s|\Z)[^\n]*|/\*(?!!).*?(?:\*/|\Z)|/\*!\d*|\*/"
_PIECES = r"""
    |(?P<name>"(?:[^"]|"")*"|`[^`]*`|\[\w[\w\ ]*\])
    |(?P<word>[^\W\d]\w*)
    |(?P<mark>[();,.])"""
_FLAGS = re.VERBOSE | re.DOTALL
_PLAIN = lazy_re(_ASIDE + r"|'(?:[^']|'')*+')|(?P<open>'.*)" + _PIECES, _FLAGS)
"""Where a backslash in a text is one, as in PostgreSQL."""
_ESCAPING = lazy_re(_ASIDE + r"|'(?:[^'\\]|''|\\.)*+')|(?P<open>'.*)" + _PIECES, _FLAGS)
"""Where it escapes the next character, as in MySQL."""
_UNQUOTED = lazy_re(_ASIDE + ")" + _PIECES, _FLAGS)
"""Where a quote begins no text, as in a comment of another kind."""

_NO_NAME = frozenset({"ON", "TO", "FROM", ",", "(", ")", ";", ""})
"""What follows a word that is a right, a function or a column there, and no verb."""
_CONSTANT = frozenset({"TRUE", "FALSE", "NOT", "AND", "OR", "NULL", "IS", "IN", "LIKE", "BETWEEN"})
"""Words of a condition that name nothing."""
_NAME = '"'
"""What stands for a quoted name."""


def loses(text: str) -> bool:
    """Whether a statement of a text removes what cannot be brought back."""
    return any(map(_loses, _readings(text)))


def _readings(text: str) -> Iterable[list[str]]:
    """The words of a text, in each way that a server may read its quotes and backslashes."""
    for pattern in (_PLAIN, _ESCAPING) if "\\" in text else (_PLAIN,):
        pieces = [(match.lastgroup, match.group()) for match in pattern.finditer(text)]
        yield _words(pieces)
        if pieces and pieces[-1][0] == "open":
            yield _words((match.lastgroup, match.group()) for match in _UNQUOTED.finditer(text))


def _words(pieces: Iterable[tuple[str | None, str]]) -> list[str]:
    """Words and marks in capitals, without comments and texts."""
    return [_NAME if kind == "name" else piece.upper() for kind, piece in pieces if kind not in ("aside", "open")]


def _loses(words: list[str]) -> bool:
    """Whether one of the statements that consist of these words removes something for good."""
    lost, kept = (frozenset(language("sql")[name].split()) for name in ("lost", "kept"))
    begins, alters = True, False
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word == "DROP":
            found = following in lost or (alters and following not in kept | _NO_NAME)
        elif word == "TRUNCATE":
            found = following not in _NO_NAME
        elif word == "DELETE":
            removes = following == "FROM" or words[at - 1 : at] == ["DETACH"] or (begins and following not in _NO_NAME)
            found = removes and not _is_limited(words[at + 1 :])
        else:
            found = word == "REPLACE" and following == "TABLE"
        if found:
            return True
        alters = word != ";" and (alters or (word == "ALTER" and following == "TABLE"))
        begins = word == ";"
    return False


def _is_limited(words: list[str]) -> bool:
    """Whether a condition says which rows are meant: one that names anything of them."""
    depth, condition = 0, False
    for word in words:
        depth += (word == "(") - (word == ")")
        if depth < 0 or word == ";":
            break
        if condition and word not in _CONSTANT and (word == _NAME or word.isidentifier()):
            return True
        condition = condition or (word == "WHERE" and depth == 0)
    return False
