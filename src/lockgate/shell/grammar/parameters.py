"""Reads ``${...}`` with all its operators."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.cursor import END, Cursor
from lockgate.shell.grammar.expansions import (
    check_parentheses,
    merge_parts,
    read_arithmetic,
    read_backquotes,
    read_body,
    read_dollar,
    read_double_quotes,
    read_literals,
)
from lockgate.shell.grammar.quotes import read_single_quotes
from lockgate.shell.grammar.tree import Glob, Literal, Param, Tilde, Word

if TYPE_CHECKING:
    from lockgate.shell.grammar.tree import Part

_NAME = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_OPERATOR = lazy_re(r":[-=?+]|[-=?+]|##?|%%?|//|/[#%]?|\^\^?|,,?|@[UuLQEPAKak]|:")
_RUN = lazy_re(r"""[^}"'$`\\{*?\[<>~/:\0]+""")
_HARMLESS_QUOTE = lazy_re(r"""'([^'"}{\\`]*)'""")
_TILDE = lazy_re(r"~([A-Za-z0-9._+-]*)(?=[/}])")

_DEFAULTS = frozenset((":-", "-", ":=", "=", ":?", "?", ":+", "+"))
"""Operators whose word is text. The words of all others are patterns or numbers."""
_POSIX = _DEFAULTS | {"", "#", "##", "%", "%%", "#length"}


def read_parameter(cursor: Cursor, quoted: bool) -> Param:
    """Read ``${...}``; the cursor stands on the dollar sign."""
    cursor.pos += 2
    cursor.enter_level()
    found = _expansion(cursor, quoted)
    cursor.limits.depth -= 1
    cursor.take("}", "this form of ${...} is not read exactly")
    if cursor.posix and (found.operator not in _POSIX or found.subscript is not None):
        cursor.refuse_outside_bash(f"${{...}} with `{found.operator or '['}`")
    return found


def _expansion(cursor: Cursor, quoted: bool) -> Param:
    text = cursor.text
    prefix = text[cursor.pos]
    if prefix in " \t\n|":
        cursor.refuse("${ command; }", "write $(command)")
    if prefix in "#!" and text[cursor.pos + 1] != "}":
        plain = prefix == "#" and text[cursor.pos + 1] in ":%=+/^,"
        if plain or (text[cursor.pos + 1] in "#?-" and text[cursor.pos + 2] != "}"):
            cursor.refuse("this form of ${...} is not read exactly")
        cursor.pos += 1
        return _length(cursor, quoted) if prefix == "#" else _indirect(cursor, quoted)
    name, subscript = _name(cursor)
    operator, arguments = _read_operation(cursor, quoted)
    return Param(name, operator, arguments, subscript, quoted)


def _name(cursor: Cursor) -> tuple[str, Word | None]:
    match = _NAME.match(cursor.text, cursor.pos)
    if not match:
        cursor.refuse("${...} without a plain name", "write ${name}")
    cursor.pos = match.end()
    if cursor.text[cursor.pos] != "[":
        return match.group(), None
    if not (match.group()[0].isalpha() or match.group()[0] == "_"):
        cursor.refuse("a subscript after a special parameter")
    return match.group(), read_subscript(cursor)


def read_subscript(cursor: Cursor) -> Word:
    """Read ``[...]`` after a name; the cursor stands on the bracket."""
    cursor.refuse_outside_bash("an array")
    cursor.pos += 1
    start = cursor.pos
    parts = read_arithmetic(cursor, "]")
    if not parts:
        cursor.refuse("empty subscript")
    check_parentheses(cursor, start)
    cursor.pos += 1
    return Word(tuple(parts), cursor.base + start)


def _length(cursor: Cursor, quoted: bool) -> Param:
    name, index = _name(cursor)
    return Param(name, "#length", (), index, quoted)


def _indirect(cursor: Cursor, quoted: bool) -> Param:
    name, index = _name(cursor)
    text = cursor.text
    if text[cursor.pos] in "*@" and text[cursor.pos + 1] == "}" and index is None:
        cursor.pos += 1
        return Param(name, "!names", (), None, quoted)
    if index is not None and text[cursor.pos] == "}" and index.literal in ("@", "*"):
        return Param(name, "!keys", (), index, quoted)
    _, arguments = _read_operation(cursor, quoted)
    return Param(name, "!indirect", arguments, index, quoted)


def _read_operation(cursor: Cursor, quoted: bool) -> tuple[str, tuple[Word, ...]]:
    """Read the operator and its words, up to the closing brace."""
    if cursor.text[cursor.pos] == "}":
        return "", ()
    match = _OPERATOR.match(cursor.text, cursor.pos)
    if not match:
        cursor.refuse("this form of ${...} is not read exactly", "use ${name}, or one of bash's documented operators")
    operator = match.group()
    cursor.pos = match.end()
    if operator[0] == "@":
        return operator, ()
    if operator == ":":
        return operator, _read_substring(cursor, quoted)
    separator = "/" if operator[0] == "/" else ""
    words = [_read_argument(cursor, operator, quoted, separator)]
    while separator and cursor.text[cursor.pos] == separator:
        cursor.pos += 1
        separator = ""
        words.append(_read_argument(cursor, operator, quoted, ""))
    return operator, tuple(words)


def _read_substring(cursor: Cursor, quoted: bool) -> tuple[Word, ...]:
    """Read the one or two arithmetic expressions of ``${x:offset:length}``, in which quotes are no quotes."""
    start = cursor.pos
    cursor.limits.arithmetic += 1
    words = [_read_argument(cursor, ":", quoted, ":")]
    if cursor.text[cursor.pos] == ":":
        cursor.pos += 1
        words.append(_read_argument(cursor, ":", quoted, ""))
    cursor.limits.arithmetic -= 1
    if any(character in cursor.text[start : cursor.pos] for character in "'\"\\?"):
        cursor.refuse("quotes or a condition in ${x:offset}", "put the number into a variable first", at=start)
    check_parentheses(cursor, start)
    return tuple(words)


def _read_argument(cursor: Cursor, operator: str, quoted: bool, separator: str) -> Word:
    """Read a word inside ``${...}`` up to the closing brace or the separator."""
    text = cursor.text
    start = cursor.pos
    parts: list[Part] = []
    literal_quotes = quoted and operator in _DEFAULTS
    while True:
        character = read_literals(cursor, _RUN, parts, quoted)
        if character == "}" or (separator and character == separator):
            return Word(tuple(merge_parts(parts)), cursor.base + start)
        if character == "$":
            parts += _dollar(cursor, quoted)
        elif character == "`":
            parts.append(read_backquotes(cursor, quoted))
        elif character == '"':
            parts += _double(cursor, quoted, text[start : cursor.pos])
        elif character == "'":
            parts += _read_single(cursor, quoted, literal_quotes, text[start : cursor.pos])
        elif character == "\\":
            parts.append(_escape(cursor, quoted, separator))
        else:
            parts.append(_read_special(cursor, quoted, cursor.pos == start and operator in _DEFAULTS))


def _dollar(cursor: Cursor, quoted: bool) -> list[Part]:
    follower = cursor.text[cursor.pos + 1]
    if follower == "\\" or (quoted and follower in "'\""):
        cursor.refuse(f"`${follower}` inside ${{...}}", "put the text into a variable first")
    return read_dollar(cursor, quoted)


def _double(cursor: Cursor, quoted: bool, before: str) -> list[Part]:
    if quoted and "'" in before:
        cursor.refuse("both kinds of quotes inside ${...} in double quotes", "put the text into a variable first")
    start = cursor.pos
    parts = read_double_quotes(cursor)
    if quoted and "\\" in cursor.text[start : cursor.pos]:
        cursor.refuse("a backslash in quotes inside quoted ${...}", "put the text into a variable first", at=start)
    return parts


def _read_single(cursor: Cursor, quoted: bool, literal: bool, before: str) -> list[Part]:
    """Read ``'...'``: quotes, except in a default inside double quotes, where they are text and expansions run."""
    if not quoted:
        return [read_single_quotes(cursor)]
    match = _HARMLESS_QUOTE.match(cursor.text, cursor.pos)
    if not match or '"' in before:
        cursor.refuse("single quotes inside ${...} in double quotes", "put the text into a variable first")
    if not literal:
        if "$" in match.group():
            cursor.refuse("single quotes inside ${...} in double quotes", "put the text into a variable first")
        return [read_single_quotes(cursor)]
    inside = read_body(cursor.inner(match.group(1)))
    cursor.pos = match.end()
    return [Literal("'", True), *inside, Literal("'", True)]


def _escape(cursor: Cursor, quoted: bool, separator: str) -> Literal:
    follower = cursor.text[cursor.pos + 1]
    if follower in ("\n", END):
        cursor.refuse("line continuation inside ${...}", "write the word on one line")
    cursor.pos += 2
    if quoted and follower not in '$`"\\}' and follower != separator:
        return Literal("\\" + follower, True)
    return Literal(follower, True)


def _read_special(cursor: Cursor, quoted: bool, tilde: bool) -> Part:
    """Read one character that may be special here: a pattern, a tilde, a brace, an angle bracket."""
    text = cursor.text
    character = text[cursor.pos]
    if character == END:
        cursor.refuse("unterminated ${...}", "close the brace")
    if character == "{":
        cursor.refuse("`{` inside ${...}", "put the text into a variable first")
    if character in "<>" and text[cursor.pos + 1] == "(":
        cursor.refuse("process substitution inside ${...}", "put it into a command of its own")
    if character == "~" and tilde and not quoted and (match := _TILDE.match(text, cursor.pos)):
        cursor.pos = match.end()
        return Tilde(match.group(1))
    cursor.pos += 1
    if character in "*?[" and not quoted:
        return Glob(character)
    return Literal(character, quoted)
