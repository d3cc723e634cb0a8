"""Reads quotes that hold no expansions: ``'...'`` and ``$'...'``."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.cursor import END
from lockgate.shell.grammar.tree import Literal

if TYPE_CHECKING:
    from lockgate.shell.grammar.cursor import Cursor

_ONE_CHARACTER = {
    "a": 0x07,
    "b": 0x08,
    "e": 0x1B,
    "E": 0x1B,
    "f": 0x0C,
    "n": 0x0A,
    "r": 0x0D,
    "t": 0x09,
    "v": 0x0B,
    "\\": 0x5C,
    "'": 0x27,
    '"': 0x22,
    "?": 0x3F,
}
_OCTAL = frozenset("01234567")
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_MOST_DIGITS = {"x": 2, "u": 4, "U": 8}


def read_single_quotes(cursor: Cursor) -> Literal:
    """Read ``'...'``; the cursor stands on the first quote."""
    start = cursor.pos + 1
    end = cursor.text.find("'", start)
    if end < 0:
        cursor.refuse("unterminated single quote", "close the quote")
    cursor.pos = end + 1
    return Literal(cursor.text[start:end], True)


def read_ansi_c(cursor: Cursor) -> Literal:
    r"""Read ``$'...'`` with all its escapes; the cursor stands on the dollar sign.

    ``\x`` and octal escapes give bytes, ``\u`` and ``\U`` characters; bytes that are not UTF-8 become surrogates as
    with ``os.fsdecode``.
    """
    cursor.refuse_outside_bash("$'...'")
    cursor.refuse_in_arithmetic("$'...'")
    text = cursor.text
    result = bytearray()
    cursor.pos += 2
    while (character := text[cursor.pos]) != "'":
        if character == END:
            cursor.refuse("unterminated $'...'", "close the quote")
        if character == "\\":
            result += _read_escape(cursor)
        else:
            result += character.encode()
            cursor.pos += 1
    cursor.pos += 1
    return Literal(result.decode("utf-8", "surrogateescape"), True)


def _read_escape(cursor: Cursor) -> bytes:
    """Read one backslash escape of ``$'...'``."""
    character = cursor.text[cursor.pos + 1]
    if character in _ONE_CHARACTER:
        cursor.pos += 2
        return bytes((_ONE_CHARACTER[character],))
    if character in _OCTAL:
        return _byte(cursor, _number(cursor, cursor.pos + 1, _OCTAL, 3, 8))
    if character in _MOST_DIGITS:
        return _hexadecimal(cursor, character)
    if character == "c":
        return _control(cursor)
    if character in ("\n", END):
        cursor.refuse("backslash at the end of a line inside $'...'", "write \\n for a newline")
    cursor.pos += 2
    return b"\\" + character.encode()


def _hexadecimal(cursor: Cursor, kind: str) -> bytes:
    start = cursor.pos + 2
    if cursor.text[start] not in _HEXADECIMAL:
        if cursor.text[start] == "{":
            cursor.refuse("\\x{...} inside $'...'", "write \\xHH or \\uHHHH")
        cursor.pos = start
        return b"\\" + kind.encode()
    value = _number(cursor, start, _HEXADECIMAL, _MOST_DIGITS[kind], 16)
    if kind == "x":
        return _byte(cursor, value)
    if value == 0 or value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
        cursor.refuse("an escape inside $'...' that is no character")
    return chr(value).encode()


def _number(cursor: Cursor, start: int, digits: frozenset[str], most: int, base: int) -> int:
    end = start
    while end < start + most and cursor.text[end] in digits:
        end += 1
    cursor.pos = end
    return int(cursor.text[start:end], base)


def _byte(cursor: Cursor, value: int) -> bytes:
    if not 0 < value < 256:
        cursor.refuse("an escape inside $'...' that gives a NUL or more than a byte")
    return bytes((value,))


def _control(cursor: Cursor) -> bytes:
    letter = cursor.text[cursor.pos + 2]
    if not (letter.isascii() and letter.isalpha()):
        cursor.refuse("\\c inside $'...' with something else than a letter", "write \\xHH")
    cursor.pos += 3
    return bytes((ord(letter.upper()) & 0x1F,))
