"""Reads ``[[ ... ]]``."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.cursor import END, Cursor
from lockgate.shell.grammar.tree import Condition, Literal, Word
from lockgate.shell.grammar.words import PATTERN, WORD_ENDS, read_parts, read_word

if TYPE_CHECKING:
    from lockgate.shell.grammar.tree import Part

_UNARY = lazy_re(r"-[abcdefghknoprstuvwxzGLNORS](?=[ \t])")
_BINARY = lazy_re(r"(==|=~|!=|=|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))(?=[ \t])|[<>](?!\()")
_EXTENDED = frozenset("?*+@!")


def read_condition(cursor: Cursor) -> Condition:
    """Read ``[[ ... ]]``; the cursor stands after ``[[``."""
    words: list[Word] = []
    _read_either(cursor, words)
    if not _closes(cursor):
        cursor.refuse("`[[` without its `]]`")
    cursor.pos += 2
    return Condition(tuple(words))


def _closes(cursor: Cursor) -> bool:
    return cursor.text.startswith("]]", cursor.pos) and cursor.text[cursor.pos + 2] in WORD_ENDS


def _skip_space(cursor: Cursor) -> None:
    """Skip blanks and newlines. A comment is refused."""
    while True:
        cursor.skip_blanks()
        character = cursor.text[cursor.pos]
        if character == "#":
            cursor.refuse("comment inside [[ ]]", "put it before the command")
        if character != "\n":
            return
        if cursor.body_line >= 0:
            cursor.refuse("a newline inside [[ ]] before a here-document's body")
        cursor.pos += 1


def _read_operator(cursor: Cursor, words: list[Word], text: str) -> None:
    words.append(Word((Literal(text),), cursor.base + cursor.pos))
    cursor.pos += len(text)


def _read_either(cursor: Cursor, words: list[Word]) -> None:
    """Read terms joined by ``&&`` and ``||``."""
    while True:
        _read_term(cursor, words)
        _skip_space(cursor)
        joiner = cursor.text[cursor.pos : cursor.pos + 2]
        if joiner not in ("&&", "||"):
            return
        _read_operator(cursor, words, joiner)


def _read_term(cursor: Cursor, words: list[Word]) -> None:
    """Read one term: a test, its negation, or terms in parentheses."""
    _skip_space(cursor)
    text = cursor.text
    while text[cursor.pos] == "!" and text[cursor.pos + 1] in " \t":
        _read_operator(cursor, words, "!")
        _skip_space(cursor)
    if text[cursor.pos] == "(":
        _read_operator(cursor, words, "(")
        cursor.enter_level()
        _read_either(cursor, words)
        cursor.limits.depth -= 1
        if text[cursor.pos] != ")":
            cursor.refuse("unbalanced parentheses in [[ ]]")
        _read_operator(cursor, words, ")")
        return
    unary = _UNARY.match(text, cursor.pos)
    if unary:
        _read_operator(cursor, words, unary.group())
        cursor.skip_blanks()
        _read_operand(cursor, words)
        return
    _read_operand(cursor, words)
    cursor.skip_blanks()
    binary = _BINARY.match(text, cursor.pos)
    if binary:
        _read_operator(cursor, words, binary.group())
        cursor.skip_blanks()
        _read_right_side(cursor, words, binary.group())


def _read_operand(cursor: Cursor, words: list[Word]) -> None:
    if _closes(cursor) or cursor.text[cursor.pos] == "#":
        cursor.refuse("a word is missing in [[ ]]")
    words.append(read_word(cursor, PATTERN))


def _read_right_side(cursor: Cursor, words: list[Word], operator: str) -> None:
    """Read what stands right of a binary operator: there parentheses may be part of a pattern."""
    if operator not in ("=~", "==", "=", "!="):
        _read_operand(cursor, words)
        return
    if _closes(cursor) or cursor.text[cursor.pos] == "#":
        cursor.refuse("a word is missing in [[ ]]")
    start = cursor.pos
    words.append(Word(tuple(_read_pattern(cursor, operator == "=~")), cursor.base + start))
    if not words[-1].parts:
        cursor.refuse("a word is missing in [[ ]]")


def _read_pattern(cursor: Cursor, expression: bool) -> list[Part]:
    """Read a pattern, or a regular expression: a word with balanced parentheses in it."""
    parts: list[Part] = []
    while True:
        parts += read_parts(cursor, PATTERN, "|" if expression else "")
        if cursor.text[cursor.pos] != "(":
            return parts
        if not expression and cursor.text[cursor.pos - 1] not in _EXTENDED:
            return parts
        parts += _read_parenthesized(cursor)


def _read_parenthesized(cursor: Cursor) -> list[Part]:
    """Read ``(...)`` inside a pattern: everything but quotes and expansions is literal."""
    parts: list[Part] = [Literal("(")]
    cursor.pos += 1
    cursor.enter_level()
    while True:
        parts += read_parts(cursor, PATTERN, "| \t")
        character = cursor.text[cursor.pos]
        if character == "(":
            parts += _read_parenthesized(cursor)
        elif character == ")":
            cursor.pos += 1
            cursor.limits.depth -= 1
            parts.append(Literal(")"))
            return parts
        else:
            what = "the end" if character == END else f"`{character}`"
            cursor.refuse(f"{what.strip()} inside a parenthesized pattern", "put the pattern into a variable first")
