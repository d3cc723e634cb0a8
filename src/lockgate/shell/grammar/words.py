"""Reads words: resolves quoting, and marks patterns, tildes and braces."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.cursor import END, Cursor
from lockgate.shell.grammar.expansions import (
    merge_parts,
    read_backquotes,
    read_dollar,
    read_double_quotes,
    read_literals,
    read_process_sub,
)
from lockgate.shell.grammar.quotes import read_single_quotes
from lockgate.shell.grammar.tree import Glob, Literal, Tilde, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lockgate.shell.grammar.tree import Part

ARGUMENT = "argument"
"""A word of a command: patterns and braces are expanded."""
VALUE = "value"
"""The value of an assignment: neither is."""
PATTERN = "pattern"
"""A pattern of ``case``, a word of ``[[``, a redirection's target: patterns count, braces do not."""

WORD_ENDS = frozenset(" \t\n|&;()<>" + END)

_RUN = lazy_re(r"""[^\s|&;()<>"'`\\$*?\[{}~\0]+""")
_BRACKET = lazy_re(r"""\[[!^]?\]?[^\s|&;()<>"'`\\$\[\]{}~/\0]{0,80}\]""")
_TILDE = lazy_re(r"~([A-Za-z0-9._+-]*)")
_NAME_BESIDE_BRACES = r"\$(?:[A-Za-z0-9_]+[,{}]|[,}])"
"""In ``{a,$x}y`` the name becomes ``xy``. Compiled when it is needed first."""
_ASSIGNED = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


def read_word(cursor: Cursor, mode: str = ARGUMENT, extra: str = "") -> Word:
    """Read one word. Characters of ``extra`` are literal in it though they would end a word elsewhere."""
    start = cursor.pos
    parts = read_parts(cursor, mode, extra)
    if not parts:
        cursor.refuse("a word is missing")
    return Word(tuple(parts), cursor.base + start)


def read_parts(cursor: Cursor, mode: str, extra: str = "") -> list[Part]:
    """Read the parts of a word, which may be none."""
    text = cursor.text
    start = cursor.pos
    parts: list[Part] = []
    marks = ""
    while True:
        character = read_literals(cursor, _RUN, parts)
        reader = _READERS.get(character)
        if reader is not None:
            parts += reader(cursor)
        elif character in "{}~[":
            marks += character
            _read_special(cursor, parts, character)
        elif character in extra and character != "":
            parts.append(Literal(character))
            cursor.pos += 1
        elif character in "<>" and text[cursor.pos + 1] == "(":
            parts.append(read_process_sub(cursor))
        elif character == "\\":
            if not _read_escape(cursor, parts):
                break
        elif character in WORD_ENDS:
            break
        else:
            cursor.refuse("an unusual space character outside quotes", "use plain spaces")
    return _finish(cursor, parts, mode, marks, start) if marks or mode == VALUE else parts


def _pattern(cursor: Cursor) -> list[Part]:
    cursor.pos += 1
    return [Glob(cursor.text[cursor.pos - 1])]


_READERS: Mapping[str, Callable[[Cursor], Sequence[Part]]] = {
    "'": lambda cursor: [read_single_quotes(cursor)],
    '"': read_double_quotes,
    "$": lambda cursor: read_dollar(cursor, False),
    "`": lambda cursor: [read_backquotes(cursor, False)],
    "*": _pattern,
    "?": _pattern,
}


def _read_special(cursor: Cursor, parts: list[Part], character: str) -> None:
    """Read a character whose meaning depends on the rest of the word."""
    if character == "[":
        bracket = _BRACKET.match(cursor.text, cursor.pos)
        if bracket:
            parts.append(Glob(bracket.group()))
            cursor.pos = bracket.end()
            return
    elif character == "{" and cursor.text[cursor.pos - 1] == "$":
        cursor.refuse("`{` right after a dollar sign", "quote the dollar sign or the brace")
    parts.append(Literal(character))
    cursor.pos += 1


def _read_escape(cursor: Cursor, parts: list[Part]) -> bool:
    """Read a backslash outside quotes; ``False`` where a line continuation ends the word."""
    follower = cursor.text[cursor.pos + 1]
    if follower == "\n":
        if cursor.text[cursor.pos + 2] in " \t\n" and parts:
            return False
        cursor.refuse("line continuation inside a word", "put a space before the backslash, or join the lines")
    if follower == END:
        cursor.refuse("backslash at the end", "remove the backslash")
    parts.append(Literal(follower, True))
    cursor.pos += 2
    return True


# ---------------------------------------------------------------- what depends on the whole word


def _finish(cursor: Cursor, parts: list[Part], mode: str, marks: str, start: int) -> list[Part]:
    """Decide about tildes, open brackets and braces, now that the word is whole."""
    if "~" in marks:
        if "~=~" in cursor.text[start : cursor.pos]:
            cursor.refuse("`~=~`, which bash expands in an odd way", "quote it", at=start)
        parts = _tildes(parts, mode)
    if "[" in marks:
        parts = _mark_brackets(parts)
    if "{" in marks and mode == ARGUMENT:
        from lockgate.shell.grammar.braces import expand

        before = parts
        parts = expand(cursor, parts, start)
        if parts is not before:
            _check_beside_braces(cursor, before, start)
    if mode == VALUE:
        parts = [Literal(part.text) if isinstance(part, Glob) else part for part in parts]
    return merge_parts(parts)


def _check_beside_braces(cursor: Cursor, parts: list[Part], start: int) -> None:
    """Refuse what changes its meaning where brace expansion, which works on text, puts other text beside it."""
    source = cursor.text[start : cursor.pos]
    tilde = any(isinstance(part, Literal) and not part.quoted and "~" in part.text for part in parts)
    if tilde or "$'" in source:
        cursor.refuse("a tilde or $'...' beside a brace expansion", "write the words one by one", at=start)
    if "$" in source and re.search(_NAME_BESIDE_BRACES, source):
        cursor.refuse("a dollar sign or $name beside a brace expansion", "write ${name}", at=start)


def _tildes(parts: list[Part], mode: str) -> list[Part]:
    """Replace the tildes that are expanded by :class:`Tilde`."""
    first = parts[0]
    assigned = mode == VALUE
    offset = 0
    if mode == ARGUMENT and isinstance(first, Literal) and not first.quoted:
        match = _ASSIGNED.match(first.text)
        assigned = match is not None
        offset = match.end() if match else 0
    result: list[Part] = []
    before = ""
    seen = 0
    for index, part in enumerate(parts):
        at_start = index == 0 or (assigned and seen >= offset and (seen == offset or before == ":"))
        if _is_tilde(parts, index) and at_start:
            user = _read_user(parts, index)
            if user is not None:
                result.append(Tilde(user))
                parts[index + 1 : index + 2] = _drop_beginning(parts, index + 1, len(user))
                before, seen = "~", seen + 1
                continue
        result.append(part)
        before = part.text[-1:] if isinstance(part, Literal) and not part.quoted else ""
        seen += len(part.text) if isinstance(part, Literal) else 1
    return [part for part in result if not (isinstance(part, Literal) and not part.quoted and part.text == "")]


def _is_tilde(parts: list[Part], index: int) -> bool:
    return index < len(parts) and parts[index] == Literal("~")


def _read_user(parts: list[Part], index: int) -> str | None:
    """Give the user name after a tilde; ``None`` where the tilde stays literal."""
    if index + 1 == len(parts):
        return ""
    follower = parts[index + 1]
    if not isinstance(follower, Literal) or follower.quoted:
        return None
    match = _TILDE.match("~" + follower.text)
    user = match.group(1) if match else ""
    rest = follower.text[len(user) :]
    if rest:
        return user if rest[0] in "/:" else None
    return user if index + 2 == len(parts) else None


def _drop_beginning(parts: list[Part], index: int, length: int) -> list[Part]:
    if index >= len(parts):
        return []
    part = parts[index]
    return [Literal(part.text[length:])] if isinstance(part, Literal) else [part]


def _mark_brackets(parts: list[Part]) -> list[Part]:
    """Mark an open bracket as a pattern where the word closes it later, behind quotes or expansions."""
    closed = False
    for index in range(len(parts) - 1, -1, -1):
        part = parts[index]
        if isinstance(part, Literal) and not part.quoted:
            if part.text == "[" and closed:
                parts[index] = Glob("[")
            closed = closed or "]" in part.text
    return parts
