"""Reads reserved words, and what separates commands."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.cursor import Cursor

if TYPE_CHECKING:
    from lockgate.shell.grammar.tree import Script

COMPOUND = frozenset({"{", "if", "while", "until", "for", "select", "case", "function", "coproc", "[["})
"""Reserved words that a compound command begins with."""
_RESERVED = lazy_re(r"(?:[a-z]{2,8}|[!{}]|\[\[)(?=[ \t\n;|&()<>\0])")


def read_reserved_word(cursor: Cursor) -> str:
    """Give the word at the cursor if it may be a reserved word in a command's place, else an empty text."""
    match = _RESERVED.match(cursor.text, cursor.pos)
    return match.group() if match else ""


def skip_newlines(cursor: Cursor) -> None:
    """Skip blanks, comments and newlines; step over the here-documents that begin after a line."""
    text = cursor.text
    while True:
        cursor.skip_blanks()
        character = text[cursor.pos]
        if character == "#":
            end = text.find("\n", cursor.pos)
            cursor.pos = end if end >= 0 else len(text) - 1
        elif character == "\n":
            if cursor.body_line < 0:
                cursor.pos += 1
                continue
            if cursor.body_line != cursor.pos:
                cursor.refuse(
                    "a newline inside a word or a continued line before a here-document's body",
                    "put the here-document into a command of its own",
                )
            cursor.pos = cursor.bodies_end
            cursor.body_line = -1
        else:
            return


def read_block(cursor: Cursor, ends: frozenset[str]) -> Script:
    """Read commands up to a reserved word; there must be one at least."""
    script = cursor.rules.script(cursor, ends)
    if not script.commands:
        cursor.refuse("a command is missing", "write `:` where nothing is to be done")
    return script


def expect(cursor: Cursor, expected: str) -> None:
    """Read a reserved word that has to stand here, or refuse."""
    if read_reserved_word(cursor) != expected:
        cursor.refuse(f"`{expected}` is missing")
    cursor.pos += len(expected)
