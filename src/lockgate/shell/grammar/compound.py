"""Reads compound commands: groups, loops, conditions, ``case``, functions, ``coproc``."""

from __future__ import annotations

from collections.abc import Callable

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.conditions import read_condition
from lockgate.shell.grammar.cursor import Cursor
from lockgate.shell.grammar.keywords import expect, read_block, read_reserved_word, skip_newlines
from lockgate.shell.grammar.loops import (
    read_case,
    read_double_parenthesis,
    read_for,
    read_if,
    read_select,
    read_until,
    read_while,
)
from lockgate.shell.grammar.redirects import read_redirects
from lockgate.shell.grammar.simple import read_simple
from lockgate.shell.grammar.tree import ArithCommand, Coproc, Function, Group

if TYPE_CHECKING:
    from lockgate.shell.grammar.tree import Command

_NAME = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*(?=[ \t\n;])")
_FUNCTION_NAME = lazy_re(r"[A-Za-z_][A-Za-z0-9_.:-]*(?=[ \t\n(])")
_POSIX_NAME = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*")
_DEFINITION = lazy_re(r"([A-Za-z_][A-Za-z0-9_.:-]*)[ \t]*\([ \t]*\)")

_BRACE = frozenset("}")
_CLOSE = frozenset(")")


def read_compound(cursor: Cursor) -> Command | None:
    """Read the compound command that begins here, if one does, with its redirections."""
    node: Command
    if cursor.text[cursor.pos] == "(":
        node = _parenthesis(cursor)
    else:
        keyword = read_reserved_word(cursor)
        reader = _READERS.get(keyword)
        if reader is None:
            return _read_definition(cursor)
        cursor.pos += len(keyword)
        cursor.enter_level()
        node = reader(cursor)
        cursor.limits.depth -= 1
    if isinstance(node, Coproc | Function):
        return node
    found = read_redirects(cursor)
    cursor.joint = not found and not isinstance(node, ArithCommand)
    return node._replace(redirects=found) if found else node


# ---------------------------------------------------------------- parentheses and braces


def _parenthesis(cursor: Cursor) -> Group | ArithCommand:
    if cursor.text[cursor.pos + 1] == "(":
        return ArithCommand(read_double_parenthesis(cursor, semicolons=False))
    cursor.pos += 1
    cursor.enter_level()
    script = read_block(cursor, _CLOSE)
    cursor.take(")", "unterminated subshell")
    cursor.limits.depth -= 1
    return Group(script, True)


def _group(cursor: Cursor) -> Group:
    script = read_block(cursor, _BRACE)
    expect(cursor, "}")
    return Group(script)


# ---------------------------------------------------------------- functions and coprocesses


def _read_definition(cursor: Cursor) -> Function | None:
    """Read ``name() body``, if this is one."""
    match = _DEFINITION.match(cursor.text, cursor.pos)
    if match is None:
        return None
    cursor.enter_level()
    cursor.pos = match.end()
    function = _function_body(cursor, match.group(1))
    cursor.limits.depth -= 1
    return function


def _function(cursor: Cursor) -> Function:
    cursor.refuse_outside_bash("`function`", "write `name() { ...; }`")
    cursor.skip_blanks()
    match = _FUNCTION_NAME.match(cursor.text, cursor.pos)
    if match is None:
        cursor.refuse("a function's name that is not a plain name")
    cursor.pos = match.end()
    cursor.skip_blanks()
    if cursor.text[cursor.pos] == "(":
        cursor.pos += 1
        cursor.skip_blanks()
        cursor.take(")", "`)` is missing after a function's name")
    return _function_body(cursor, match.group())


def _function_body(cursor: Cursor, name: str) -> Function:
    if not _POSIX_NAME.fullmatch(name):
        cursor.refuse_outside_bash("a function's name with other characters than letters, digits and `_`")
    skip_newlines(cursor)
    start = cursor.pos
    body = read_compound(cursor)
    if body is None or isinstance(body, Function | Coproc):
        cursor.refuse("a function's body that is not a compound command", "write `name() { ...; }`", at=start)
    return Function(name, body)


def _coproc(cursor: Cursor) -> Coproc:
    cursor.refuse_outside_bash("`coproc`")
    if cursor.limits.substitutions:
        cursor.refuse("`coproc` inside a substitution", "write it as a command of its own")
    cursor.skip_blanks()
    body = _compound_body(cursor)
    if body is not None:
        return Coproc(body)
    match = _NAME.match(cursor.text, cursor.pos)
    if match is not None and cursor.text[match.end()] in " \t":
        start, cursor.pos = cursor.pos, match.end()
        cursor.skip_blanks()
        if cursor.text[cursor.pos] == "(" or read_reserved_word(cursor) in _READERS:
            body = _compound_body(cursor)
            if body is not None:
                return Coproc(body, match.group())
        cursor.pos = start
    cursor.joint = False
    return Coproc(read_simple(cursor, True))


def _compound_body(cursor: Cursor) -> Command | None:
    start = cursor.pos
    body = read_compound(cursor)
    if isinstance(body, Function | Coproc):
        cursor.refuse("a function or `coproc` after `coproc`", at=start)
    return body


def _double_bracket(cursor: Cursor) -> Command:
    cursor.refuse_outside_bash("`[[`", "write `[`")
    return read_condition(cursor)


_READERS: dict[str, Callable[[Cursor], Command]] = {
    "{": _group,
    "if": read_if,
    "while": read_while,
    "until": read_until,
    "for": read_for,
    "select": read_select,
    "case": read_case,
    "function": _function,
    "coproc": _coproc,
    "[[": _double_bracket,
}
