"""Compound commands: groups, loops, conditions, ``case``, functions, ``coproc``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from lockgate.analysis.shell._commands import simple
from lockgate.analysis.shell._conditions import condition
from lockgate.analysis.shell._cursor import Cursor
from lockgate.analysis.shell._expansions import arithmetic, check_parentheses
from lockgate.analysis.shell._redirects import redirects
from lockgate.analysis.shell._words import PATTERN, word
from lockgate.analysis.shell.syntax import (
    Arith,
    ArithCommand,
    ArithFor,
    Case,
    Coproc,
    For,
    Function,
    Group,
    If,
    Script,
    While,
    Word,
)

if TYPE_CHECKING:
    from lockgate.analysis.shell.syntax import Command

_RESERVED = re.compile(r"(?:[a-z]{2,8}|[!{}]|\[\[)(?=[ \t\n;|&()<>\0])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=[ \t\n;])")
_FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*(?=[ \t\n(])")
_POSIX_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DEFINITION = re.compile(r"([A-Za-z_][A-Za-z0-9_.:-]*)[ \t]*\([ \t]*\)")

_THEN = frozenset(("then",))
_BRANCH_ENDS = frozenset(("elif", "else", "fi"))
_FI = frozenset(("fi",))
_DO = frozenset(("do",))
_DONE = frozenset(("done",))
_BRACE = frozenset("}")
_CLAUSE_ENDS = frozenset((";;", "esac"))


def reserved(cursor: Cursor) -> str:
    """Give the word at the cursor if it may be a reserved word in a command's place, else an empty text."""
    match = _RESERVED.match(cursor.text, cursor.pos)
    return match.group() if match else ""


def newlines(cursor: Cursor) -> None:
    """Skip blanks, comments and newlines; step over the here-documents that begin after a line."""
    text = cursor.text
    while True:
        cursor.blanks()
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


def compound(cursor: Cursor) -> Command | None:
    """Read the compound command that begins here, if one does, with its redirections."""
    if cursor.text[cursor.pos] == "(":
        node = _parenthesis(cursor)
    else:
        keyword = reserved(cursor)
        reader = _READERS.get(keyword)
        if reader is None:
            return _definition(cursor)
        cursor.pos += len(keyword)
        cursor.deeper()
        node = reader(cursor)
        cursor.limits.depth -= 1
    if isinstance(node, Coproc | Function):
        return node
    found = redirects(cursor)
    cursor.joint = not found and not isinstance(node, ArithCommand)
    return node._replace(redirects=found) if found else node


def _body(cursor: Cursor, ends: frozenset[str]) -> Script:
    """Read commands up to a reserved word; there must be one at least."""
    script = cursor.rules.script(cursor, ends)
    if not script.commands:
        cursor.refuse("a command is missing", "write `:` where nothing is to be done")
    return script


def _keyword(cursor: Cursor, expected: str) -> None:
    if reserved(cursor) != expected:
        cursor.refuse(f"`{expected}` is missing")
    cursor.pos += len(expected)


# ---------------------------------------------------------------- parentheses and braces


def _parenthesis(cursor: Cursor) -> Group | ArithCommand:
    if cursor.text[cursor.pos + 1] == "(":
        return ArithCommand(_double_parenthesis(cursor, semicolons=False))
    cursor.pos += 1
    cursor.deeper()
    script = _body(cursor, frozenset(")"))
    cursor.take(")", "unterminated subshell")
    cursor.limits.depth -= 1
    return Group(script, True)


def _double_parenthesis(cursor: Cursor, semicolons: bool) -> Arith:
    cursor.bash_only("`((`", "write `( (` for subshells")
    cursor.pos += 2
    start = cursor.pos
    parts = arithmetic(cursor, ")", semicolons)
    check_parentheses(cursor, start)
    if cursor.text[cursor.pos + 1] != ")":
        cursor.refuse("`((` that could be two subshells", "write `( (` with a space")
    cursor.pos += 2
    return Arith(tuple(parts))


def _group(cursor: Cursor) -> Group:
    script = _body(cursor, _BRACE)
    _keyword(cursor, "}")
    return Group(script)


# ---------------------------------------------------------------- conditions and loops


def _if(cursor: Cursor) -> If:
    branches = []
    otherwise = None
    while True:
        test = _body(cursor, _THEN)
        _keyword(cursor, "then")
        branches.append((test, _body(cursor, _BRANCH_ENDS)))
        keyword = reserved(cursor)
        if keyword != "elif":
            break
        cursor.pos += 4
    if keyword == "else":
        cursor.pos += 4
        otherwise = _body(cursor, _FI)
    _keyword(cursor, "fi")
    return If(tuple(branches), otherwise)


def _while(cursor: Cursor) -> While:
    return _loop(cursor, until=False)


def _until(cursor: Cursor) -> While:
    return _loop(cursor, until=True)


def _loop(cursor: Cursor, until: bool) -> While:
    test = _body(cursor, _DO)
    return While(test, _do(cursor), until)


def _do(cursor: Cursor) -> Script:
    """Read ``do ... done``, or bash's ``{ ...; }`` in its place."""
    keyword = reserved(cursor)
    if keyword == "{":
        cursor.bash_only("a loop without `do`")
        cursor.pos += 1
        script = _body(cursor, _BRACE)
        _keyword(cursor, "}")
        return script
    _keyword(cursor, "do")
    script = _body(cursor, _DONE)
    _keyword(cursor, "done")
    return script


def _for(cursor: Cursor) -> For | ArithFor:
    cursor.blanks()
    if cursor.text.startswith("((", cursor.pos):
        header = _double_parenthesis(cursor, semicolons=True)
        cursor.blanks()
        if cursor.text[cursor.pos] == ";" and cursor.text[cursor.pos + 1] not in ";&":
            cursor.pos += 1
        newlines(cursor)
        return ArithFor(header, _do(cursor))
    return _for_words(cursor, select=False)


def _select(cursor: Cursor) -> For:
    cursor.bash_only("`select`")
    cursor.blanks()
    return _for_words(cursor, select=True)


def _for_words(cursor: Cursor, select: bool) -> For:
    match = _NAME.match(cursor.text, cursor.pos)
    if match is None:
        cursor.refuse("a loop's variable that is not a plain name")
    cursor.pos = match.end()
    words: tuple[Word, ...] | None = None
    cursor.blanks()
    if cursor.text[cursor.pos] == ";" and cursor.text[cursor.pos + 1] not in ";&":
        cursor.pos += 1
        newlines(cursor)
    else:
        newlines(cursor)
        if reserved(cursor) == "in":
            cursor.pos += 2
            words = _words(cursor)
            newlines(cursor)
    return For(match.group(), words, _do(cursor), select)


def _words(cursor: Cursor) -> tuple[Word, ...]:
    """Read the words of a loop up to ``;`` or the line's end."""
    found = []
    while True:
        cursor.blanks()
        character = cursor.text[cursor.pos]
        if character == "\n" or character == "#":
            return tuple(found)
        if character == ";":
            cursor.pos += 1
            return tuple(found)
        found.append(word(cursor))


# ---------------------------------------------------------------- case


def _case(cursor: Cursor) -> Case:
    cursor.blanks()
    subject = word(cursor, PATTERN)
    newlines(cursor)
    _keyword(cursor, "in")
    clauses = []
    newlines(cursor)
    while reserved(cursor) != "esac":
        clauses.append((_patterns(cursor), cursor.rules.script(cursor, _CLAUSE_ENDS)))
        if cursor.text[cursor.pos] == ";":
            _clause_end(cursor)
            newlines(cursor)
        elif reserved(cursor) != "esac":
            cursor.refuse("`case` without its `esac`")
    cursor.pos += 4
    return Case(subject, tuple(clauses))


def _clause_end(cursor: Cursor) -> None:
    text = cursor.text
    end = cursor.pos + 2
    if text[cursor.pos + 1] == "&" or text[end] == "&":
        cursor.bash_only("`;&` and `;;&`")
        end += text[cursor.pos + 1] == ";"
    cursor.pos = end
    if text[end] in ";&":
        cursor.refuse("an unexpected operator after a clause of `case`")


def _patterns(cursor: Cursor) -> tuple[Word, ...]:
    """Read ``(a | b)``; the opening parenthesis may be missing."""
    if cursor.text[cursor.pos] == "(":
        cursor.pos += 1
        cursor.blanks()
    found = []
    while True:
        if reserved(cursor) == "esac":
            cursor.refuse("`esac` as a pattern", "quote it")
        found.append(word(cursor, PATTERN))
        cursor.blanks()
        character = cursor.text[cursor.pos]
        cursor.pos += 1
        if character == ")":
            return tuple(found)
        if character != "|":
            cursor.refuse("`)` is missing after a pattern", at=cursor.pos - 1)
        cursor.blanks()


# ---------------------------------------------------------------- functions and coprocesses


def _definition(cursor: Cursor) -> Function | None:
    """Read ``name() body``, if this is one."""
    match = _DEFINITION.match(cursor.text, cursor.pos)
    if match is None:
        return None
    cursor.deeper()
    cursor.pos = match.end()
    function = _function_body(cursor, match.group(1))
    cursor.limits.depth -= 1
    return function


def _function(cursor: Cursor) -> Function:
    cursor.bash_only("`function`", "write `name() { ...; }`")
    cursor.blanks()
    match = _FUNCTION_NAME.match(cursor.text, cursor.pos)
    if match is None:
        cursor.refuse("a function's name that is not a plain name")
    cursor.pos = match.end()
    cursor.blanks()
    if cursor.text[cursor.pos] == "(":
        cursor.pos += 1
        cursor.blanks()
        cursor.take(")", "`)` is missing after a function's name")
    return _function_body(cursor, match.group())


def _function_body(cursor: Cursor, name: str) -> Function:
    if not _POSIX_NAME.fullmatch(name):
        cursor.bash_only("a function's name with other characters than letters, digits and `_`")
    newlines(cursor)
    start = cursor.pos
    body = compound(cursor)
    if body is None or isinstance(body, Function | Coproc):
        cursor.refuse("a function's body that is not a compound command", "write `name() { ...; }`", at=start)
    return Function(name, body)


def _coproc(cursor: Cursor) -> Coproc:
    cursor.bash_only("`coproc`")
    if cursor.limits.substitutions:
        cursor.refuse(
            "`coproc` inside a substitution, which bash reads in two ways", "write it as a command of its own"
        )
    cursor.blanks()
    body = _compound_body(cursor)
    if body is not None:
        return Coproc(body)
    match = _NAME.match(cursor.text, cursor.pos)
    if match is not None and cursor.text[match.end()] in " \t":
        start, cursor.pos = cursor.pos, match.end()
        cursor.blanks()
        if cursor.text[cursor.pos] == "(" or reserved(cursor) in _READERS:
            body = _compound_body(cursor)
            if body is not None:
                return Coproc(body, match.group())
        cursor.pos = start
    cursor.joint = False
    return Coproc(simple(cursor, True))


def _compound_body(cursor: Cursor) -> Command | None:
    start = cursor.pos
    body = compound(cursor)
    if isinstance(body, Function | Coproc):
        cursor.refuse("a function or `coproc` after `coproc`", at=start)
    return body


def _double_bracket(cursor: Cursor) -> Command:
    cursor.bash_only("`[[`", "write `[`")
    return condition(cursor)


_READERS: dict[str, Callable[[Cursor], Command]] = {
    "{": _group,
    "if": _if,
    "while": _while,
    "until": _until,
    "for": _for,
    "select": _select,
    "case": _case,
    "function": _function,
    "coproc": _coproc,
    "[[": _double_bracket,
}
