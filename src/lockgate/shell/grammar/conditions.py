"""``[[ ... ]]``."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.cursor import END, Cursor
from lockgate.shell.grammar.tree import Condition, Literal, Word
from lockgate.shell.grammar.words import PATTERN, WORD_ENDS, read_parts, word

if TYPE_CHECKING:
    from lockgate.shell.grammar.tree import Part

_UNARY = lazy_re(r"-[abcdefghknoprstuvwxzGLNORS](?=[ \t])")
_BINARY = lazy_re(r"(==|=~|!=|=|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))(?=[ \t])|[<>](?!\()")
_EXTENDED = frozenset("?*+@!")


def condition(cursor: Cursor) -> Condition:
    """Read ``[[ ... ]]``; the cursor stands after ``[[``."""
    words: list[Word] = []
    _either(cursor, words)
    if not _closes(cursor):
        cursor.refuse("`[[` without its `]]`")
    cursor.pos += 2
    return Condition(tuple(words))


def _closes(cursor: Cursor) -> bool:
    return cursor.text.startswith("]]", cursor.pos) and cursor.text[cursor.pos + 2] in WORD_ENDS


def _space(cursor: Cursor) -> None:
    """Skip blanks and newlines. A comment is refused."""
    while True:
        cursor.blanks()
        character = cursor.text[cursor.pos]
        if character == "#":
            cursor.refuse("comment inside [[ ]]", "put it before the command")
        if character != "\n":
            return
        if cursor.body_line >= 0:
            cursor.refuse("a newline inside [[ ]] before a here-document's body")
        cursor.pos += 1


def _operator(cursor: Cursor, words: list[Word], text: str) -> None:
    words.append(Word((Literal(text),), cursor.base + cursor.pos))
    cursor.pos += len(text)


def _either(cursor: Cursor, words: list[Word]) -> None:
    """Read terms joined by ``&&`` and ``||``."""
    while True:
        _term(cursor, words)
        _space(cursor)
        joiner = cursor.text[cursor.pos : cursor.pos + 2]
        if joiner not in ("&&", "||"):
            return
        _operator(cursor, words, joiner)


def _term(cursor: Cursor, words: list[Word]) -> None:
    """Read one term: a test, its negation, or terms in parentheses."""
    _space(cursor)
    text = cursor.text
    while text[cursor.pos] == "!" and text[cursor.pos + 1] in " \t":
        _operator(cursor, words, "!")
        _space(cursor)
    if text[cursor.pos] == "(":
        _operator(cursor, words, "(")
        cursor.deeper()
        _either(cursor, words)
        cursor.limits.depth -= 1
        if text[cursor.pos] != ")":
            cursor.refuse("unbalanced parentheses in [[ ]]")
        _operator(cursor, words, ")")
        return
    unary = _UNARY.match(text, cursor.pos)
    if unary:
        _operator(cursor, words, unary.group())
        cursor.blanks()
        _operand(cursor, words)
        return
    _operand(cursor, words)
    cursor.blanks()
    binary = _BINARY.match(text, cursor.pos)
    if binary:
        _operator(cursor, words, binary.group())
        cursor.blanks()
        _right_side(cursor, words, binary.group())


def _operand(cursor: Cursor, words: list[Word]) -> None:
    if _closes(cursor) or cursor.text[cursor.pos] == "#":
        cursor.refuse("a word is missing in [[ ]]")
    words.append(word(cursor, PATTERN))


def _right_side(cursor: Cursor, words: list[Word], operator: str) -> None:
    """Read what stands right of a binary operator: there parentheses may be part of a pattern."""
    if operator not in ("=~", "==", "=", "!="):
        _operand(cursor, words)
        return
    if _closes(cursor) or cursor.text[cursor.pos] == "#":
        cursor.refuse("a word is missing in [[ ]]")
    start = cursor.pos
    words.append(Word(tuple(_pattern(cursor, operator == "=~")), cursor.base + start))
    if not words[-1].parts:
        cursor.refuse("a word is missing in [[ ]]")


def _pattern(cursor: Cursor, expression: bool) -> list[Part]:
    """Read a pattern, or a regular expression: a word with balanced parentheses in it."""
    parts: list[Part] = []
    while True:
        parts += read_parts(cursor, PATTERN, "|" if expression else "")
        if cursor.text[cursor.pos] != "(":
            return parts
        if not expression and cursor.text[cursor.pos - 1] not in _EXTENDED:
            return parts
        parts += _parenthesized(cursor)


def _parenthesized(cursor: Cursor) -> list[Part]:
    """Read ``(...)`` inside a pattern: everything but quotes and expansions is literal."""
    parts: list[Part] = [Literal("(")]
    cursor.pos += 1
    cursor.deeper()
    while True:
        parts += read_parts(cursor, PATTERN, "| \t")
        character = cursor.text[cursor.pos]
        if character == "(":
            parts += _parenthesized(cursor)
        elif character == ")":
            cursor.pos += 1
            cursor.limits.depth -= 1
            parts.append(Literal(")"))
            return parts
        else:
            what = "the end" if character == END else f"`{character}`"
            cursor.refuse(f"{what.strip()} inside a parenthesized pattern", "put the pattern into a variable first")
