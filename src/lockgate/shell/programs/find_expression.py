"""Finds which files an action of ``find`` is for, as far as the tests before it tell by name.

``find`` reads its expression from the left: an action happens to a file for which all went well up to there. So a
pattern limits only what comes after it, and a negated one limits nothing. What stands after ``-o`` is for the files
that the left side refused (POSIX, *find*, "OPERANDS").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lockgate.core.lazy import lazy_re
from lockgate.shell.knowledge.lookup import COMMAND, NO_VALUE, TWO
from lockgate.shell.state.abstract_text import is_known

Names = tuple[str, ...] | None
"""Patterns of which a file's name fits one; ``None`` where it could have any name."""

DELETE = frozenset({"-delete"})
RUN = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
PRINT = frozenset({"-print", "-print0", "-printf", "-ls", "-fprint", "-fprint0", "-fprintf", "-fls"})
EMPTY = "\0empty"
"""Stands among the patterns for files and folders that hold nothing."""

_NAME = frozenset({"-name", "-iname"})
_NOT = frozenset({"!", "-not"})
_OR = frozenset({"-o", "-or"})
_AND = frozenset({"-a", "-and"})
_CLOSING = frozenset({")", ","})
_DEEPEST = 30
_ANYTHING = lazy_re(r"\[[^\]]*\]|[*?.]")
"""What a pattern says nothing with."""
_ESCAPED = lazy_re(r"\\(.)")
"""A mark that stands for itself: a name has no backslash in it. A star that does is taken for one that is none."""


class _TooDeepError(Exception):
    """The expression is not one that a person writes."""


def names(words: list[str], options: Mapping[str, tuple[str, int]], actions: frozenset[str]) -> Names:
    """The names of the files that some actions are for; those that are printed where there is no action at all."""
    expression = _Expression(_find_expression(words), options)
    try:
        whole, _ = expression.several(None, 0)
    except _TooDeepError:
        return None
    if expression.at < len(expression.words):
        return None
    found = [limit for action, limit in expression.reached if action in actions]
    if actions == PRINT and not expression.reached:
        found.append(whole)
    return _either(found)


def _find_expression(words: list[str]) -> list[str]:
    """The words of the expression, which begins at the first that can be no folder."""
    for at, word in enumerate(words):
        if word in ("!", "(") or (word.startswith("-") and word not in ("-H", "-L", "-P")):
            return words[at:]
    return []


def _either(limits: Iterable[Names]) -> Names:
    every: list[str] = []
    for limit in limits:
        if limit is None:
            return None
        every += limit
    return tuple(dict.fromkeys(every))


class _Expression:
    """Reads an expression once; each step says which files it holds for, and which not."""

    def __init__(self, words: list[str], options: Mapping[str, tuple[str, int]]) -> None:
        self.words, self.options, self.at = words, options, 0
        self.reached: list[tuple[str, Names]] = []
        """Actions, and the files that they are for."""

    def several(self, limit: Names, depth: int) -> tuple[Names, Names]:
        """``first , second``: both are for every file."""
        result = self._alternatives(limit, depth)
        while self._next() == ",":
            self.at += 1
            result = self._alternatives(limit, depth)
        return result

    def _alternatives(self, limit: Names, depth: int) -> tuple[Names, Names]:
        held, refused = self._sequence(limit, depth)
        while self._next() in _OR:
            self.at += 1
            other, refused = self._sequence(refused, depth)
            held = _either((held, other))
        return held, refused

    def _sequence(self, limit: Names, depth: int) -> tuple[Names, Names]:
        held: Names = limit
        refused: Names = ()
        while self.at < len(self.words) and self._next() not in _OR | _CLOSING:
            if self._next() in _AND:
                self.at += 1
                continue
            held, not_held = self._one(held, depth)
            refused = _either((refused, not_held))
        return held, refused

    def _one(self, limit: Names, depth: int) -> tuple[Names, Names]:
        if depth > _DEEPEST:
            raise _TooDeepError
        word = self.words[self.at]
        self.at += 1
        if word in _NOT and self.at < len(self.words):
            held, refused = self._one(limit, depth + 1)
            return refused, held
        if word == "(":
            result = self.several(limit, depth + 1)
            if self._next() != ")":
                raise _TooDeepError
            self.at += 1
            return result
        return self._primary(word, limit)

    def _primary(self, word: str, limit: Names) -> tuple[Names, Names]:
        _, takes = self.options.get(word, ("", NO_VALUE))
        value = self._next()
        if takes == COMMAND:
            self._skip_command()
        else:
            self.at += 2 if takes == TWO else int(takes != NO_VALUE)
        if not is_known(word):
            # It may turn out to be any word, also several.
            raise _TooDeepError
        if word in DELETE | RUN | PRINT:
            self.reached.append((word, limit))
        elif word in _NAME and limit is None and _ANYTHING.sub("", value):
            return (_ESCAPED.sub(r"\1", value),), limit
        elif word == "-empty" and limit is None:
            return (EMPTY,), limit
        elif word == "-false":
            return (), limit
        return limit, limit

    def _next(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else ""

    def _skip_command(self) -> None:
        start = self.at
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if word == ";" or (word == "+" and self.at - 1 > start and self.words[self.at - 2] == "{}"):
                return
