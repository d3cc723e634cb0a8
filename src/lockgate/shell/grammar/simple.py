"""Reads simple commands and assignments."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.cursor import Cursor
from lockgate.shell.grammar.redirects import read_redirect
from lockgate.shell.grammar.tree import Assignment, Braces, Literal, Simple, Word
from lockgate.shell.grammar.words import ARGUMENT, VALUE, WORD_ENDS, read_parts, read_word

if TYPE_CHECKING:
    from lockgate.shell.grammar.tree import Part, Redirect

# fmt: off
RESERVED = frozenset((
    "!", "{", "}", "[[", "]]", "if", "then", "elif", "else", "fi", "for", "select", "while", "until", "do", "done",
    "case", "in", "esac", "function", "time", "coproc",
))
# fmt: on

_PLAIN = lazy_re(r"[ \t]*+([A-Za-z0-9_./:@%+,=-]++)(?=[ \t\n;|&)\0])")
"""What nearly all words are. No redirection or array begins so; an assignment, or a reserved word, can."""
_ASSIGNMENT = lazy_re(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=|\[)")
_ARRAY = lazy_re(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=)(?=\()")
_BLANK = lazy_re(r"\s")
_DECLARES = frozenset(("declare", "typeset", "local", "export", "readonly"))
_COMMAND_ENDS = frozenset("\n;|)#\0")


def read_simple(cursor: Cursor, plain_time: bool) -> Simple:
    """Read a simple command. ``plain_time``: the word ``time`` is an ordinary word here."""
    text = cursor.text
    start = cursor.pos
    words: list[Word] = []
    assignments: list[Assignment] = []
    redirections: list[Redirect] = []
    while True:
        plain = _PLAIN.match(text, cursor.pos)
        if plain:
            begin, end = plain.span(1)
            written = text[begin:end]
            if words or ("=" not in written and written not in RESERVED):
                words.append(Word((Literal(written),), cursor.base + begin))
                cursor.pos = end
                continue
        cursor.skip_blanks()
        character = text[cursor.pos]
        if character in _COMMAND_ENDS or (character == "&" and text[cursor.pos + 1] != ">"):
            break
        if character == "(":
            cursor.refuse("`(` inside a command", "quote it, or write a subshell as a command of its own")
        if character in "<>&{" or character.isdigit():
            one = read_redirect(cursor)
            if one is not None:
                redirections.append(one)
                continue
        if not words:
            assignment = _read_assignment(cursor)
            if assignment is not None:
                assignments.append(assignment)
                continue
        elif (array := _read_declared_array(cursor, words)) is not None:
            assignments.append(array)
            continue
        words.append(read_word(cursor))
        _check_reserved(cursor, words, plain_time or bool(assignments or redirections))
    if not (words or assignments or redirections):
        cursor.refuse("a command is missing")
    return Simple(tuple(words), tuple(assignments), tuple(redirections), cursor.base + start)


def _check_reserved(cursor: Cursor, words: list[Word], plain_time: bool) -> None:
    """Refuse an unquoted word where some shell may give it a reserved word's meaning."""
    parts = words[-1].parts
    if len(parts) != 1 or not isinstance(parts[0], Literal) or parts[0].quoted:
        return
    text = parts[0].text
    at = words[-1].position - cursor.base
    if len(words) == 1 and text[0] in "{=" and text != "{":
        cursor.refuse(f"a command that begins with `{text[0]}`, which other shells read differently", "quote it", at=at)
    if text not in RESERVED:
        return
    if len(words) > 1:
        if text in "{}":
            cursor.refuse(f"`{text}` as an argument", "quote it, or put `;` before it", at=at)
    elif text != "time" or not plain_time:
        cursor.refuse(f"unexpected `{text}`", "write the command on its own", at=at)


# ---------------------------------------------------------------- assignments


def _read_assignment(cursor: Cursor) -> Assignment | None:
    """Read ``name=value`` before a command's first word, if one stands here."""
    match = _ASSIGNMENT.match(cursor.text, cursor.pos)
    if match is None:
        return None
    start = cursor.pos
    name, operator = match.groups()
    index = None
    if operator == "[":
        cursor.pos = match.end() - 1
        index = _read_subscript(cursor)
        if any(isinstance(part, Literal) and not part.quoted and _BLANK.search(part.text) for part in index.parts):
            cursor.refuse("a blank in the subscript of an assignment", "write it without blanks", at=start)
        operator = "+=" if cursor.text.startswith("+=", cursor.pos) else cursor.text[cursor.pos]
        if operator not in ("=", "+="):
            cursor.refuse("a subscript that no assignment follows", "quote the word", at=start)
        cursor.pos += len(operator)
    else:
        cursor.pos = match.end()
    if operator == "+=":
        cursor.refuse_outside_bash("`+=`")
    return _read_value(cursor, name, operator == "+=", index)


def _read_value(cursor: Cursor, name: str, append: bool, index: Word | None) -> Assignment:
    start = cursor.pos
    if cursor.text[start] == "(":
        if index is not None:
            cursor.refuse("an array as the value of an array's element")
        return Assignment(name, Word((), cursor.base + start), append, None, _read_elements(cursor))
    return Assignment(name, Word(tuple(read_parts(cursor, VALUE)), cursor.base + start), append, index)


def _read_declared_array(cursor: Cursor, words: list[Word]) -> Assignment | None:
    """Read ``name=(...)`` among the arguments of ``declare`` and its like."""
    match = _ARRAY.match(cursor.text, cursor.pos)
    if match is None:
        return None
    if words[0].parts not in {(Literal(name),) for name in _DECLARES}:
        cursor.refuse("`(` inside a command", "quote it")
    cursor.pos = match.end()
    return _read_value(cursor, match.group(1), match.group(2) == "+=", None)


def _read_elements(cursor: Cursor) -> tuple[Word, ...]:
    """Read the elements of ``(...)``; newlines and comments may stand between them."""
    cursor.refuse_outside_bash("an array")
    cursor.pos += 1
    elements: list[Word] = []
    cursor.enter_level()
    while True:
        cursor.skip_blanks()
        character = cursor.text[cursor.pos]
        if character == "\n":
            cursor.pos += 1
        elif character == "#":
            cursor.pos = _line_end(cursor)
        elif character == ")":
            break
        elif character == "[":
            elements.append(_read_keyed(cursor))
        elif character in WORD_ENDS and cursor.text[cursor.pos : cursor.pos + 2] not in ("<(", ">("):
            cursor.refuse("unterminated array, or an operator inside it", "close the parenthesis")
        else:
            elements.append(read_word(cursor, ARGUMENT))
    cursor.pos += 1
    cursor.limits.depth -= 1
    if cursor.text[cursor.pos] not in WORD_ENDS - set("(<>"):
        cursor.refuse("text right after an array", "put a space after the parenthesis")
    return tuple(elements)


def _read_subscript(cursor: Cursor) -> Word:
    from lockgate.shell.grammar.parameters import read_subscript  # arrays are rare

    return read_subscript(cursor)


def _read_keyed(cursor: Cursor) -> Word:
    """Read ``[key]=value`` inside an array."""
    start = cursor.pos
    key = _read_subscript(cursor)
    if key.literal is None:
        cursor.refuse("an expansion in the key of an array's element", "assign the elements one by one")
    operator = "+=" if cursor.text.startswith("+=", cursor.pos) else "="
    cursor.take(operator, "a pattern in brackets inside an array")
    value = read_parts(cursor, ARGUMENT)
    if any(isinstance(part, Braces) for part in value):
        cursor.refuse("brace expansion in an array's element with a key")
    parts: list[Part] = [Literal("["), *key.parts, Literal("]" + operator), *value]
    return Word(tuple(parts), cursor.base + start)


def _line_end(cursor: Cursor) -> int:
    """The place where the line ends, and a comment with it."""
    end = cursor.text.find("\n", cursor.pos)
    return end if end >= 0 else len(cursor.text) - 1
