"""Reads ``if``, ``while``, ``until``, ``for``, ``select`` and ``case``. Each rule begins after its keyword."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.cursor import Cursor
from lockgate.shell.grammar.expansions import check_parentheses, read_arithmetic
from lockgate.shell.grammar.keywords import expect, read_block, read_reserved_word, skip_newlines
from lockgate.shell.grammar.tree import Arith, ArithFor, Case, For, If, While
from lockgate.shell.grammar.words import PATTERN, read_word

if TYPE_CHECKING:
    from lockgate.shell.grammar.tree import Script, Word

_NAME = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*(?=[ \t\n;])")

_THEN = frozenset(("then",))
_BRANCH_ENDS = frozenset(("elif", "else", "fi"))
_FI = frozenset(("fi",))
_DO = frozenset(("do",))
_DONE = frozenset(("done",))
_BRACE = frozenset("}")
_CLAUSE_ENDS = frozenset((";;", "esac"))


def read_double_parenthesis(cursor: Cursor, *, semicolons: bool) -> Arith:
    """Read ``((`` and what stands inside."""
    cursor.refuse_outside_bash("`((`", "write `( (` for subshells")
    cursor.pos += 2
    start = cursor.pos
    parts = read_arithmetic(cursor, ")", semicolons)
    check_parentheses(cursor, start)
    if cursor.text[cursor.pos + 1] != ")":
        cursor.refuse("`((` that could be two subshells", "write `( (` with a space")
    cursor.pos += 2
    return Arith(tuple(parts))


# ---------------------------------------------------------------- conditions and loops


def read_if(cursor: Cursor) -> If:
    """Read ``if``, up to ``fi``."""
    branches = []
    otherwise = None
    while True:
        test = read_block(cursor, _THEN)
        expect(cursor, "then")
        branches.append((test, read_block(cursor, _BRANCH_ENDS)))
        keyword = read_reserved_word(cursor)
        if keyword != "elif":
            break
        cursor.pos += 4
    if keyword == "else":
        cursor.pos += 4
        otherwise = read_block(cursor, _FI)
    expect(cursor, "fi")
    return If(tuple(branches), otherwise)


def read_while(cursor: Cursor) -> While:
    """Read ``while``, up to ``done``."""
    return _read_loop(cursor, until=False)


def read_until(cursor: Cursor) -> While:
    """Read ``until``, up to ``done``."""
    return _read_loop(cursor, until=True)


def _read_loop(cursor: Cursor, *, until: bool) -> While:
    test = read_block(cursor, _DO)
    return While(test, _read_do(cursor), until)


def _read_do(cursor: Cursor) -> Script:
    """Read ``do ... done``, or bash's ``{ ...; }`` in its place."""
    keyword = read_reserved_word(cursor)
    if keyword == "{":
        cursor.refuse_outside_bash("a loop without `do`")
        cursor.pos += 1
        script = read_block(cursor, _BRACE)
        expect(cursor, "}")
        return script
    expect(cursor, "do")
    script = read_block(cursor, _DONE)
    expect(cursor, "done")
    return script


def read_for(cursor: Cursor) -> For | ArithFor:
    """Read ``for``, in either form."""
    cursor.skip_blanks()
    if cursor.text.startswith("((", cursor.pos):
        header = read_double_parenthesis(cursor, semicolons=True)
        cursor.skip_blanks()
        if cursor.text[cursor.pos] == ";" and cursor.text[cursor.pos + 1] not in ";&":
            cursor.pos += 1
        skip_newlines(cursor)
        return ArithFor(header, _read_do(cursor))
    return _read_for_words(cursor, select=False)


def read_select(cursor: Cursor) -> For:
    """Read ``select``, up to ``done``."""
    cursor.refuse_outside_bash("`select`")
    cursor.skip_blanks()
    return _read_for_words(cursor, select=True)


def _read_for_words(cursor: Cursor, *, select: bool) -> For:
    """Read a loop over words, from its variable on."""
    match = _NAME.match(cursor.text, cursor.pos)
    if match is None:
        cursor.refuse("a loop's variable that is not a plain name")
    cursor.pos = match.end()
    words: tuple[Word, ...] | None = None
    cursor.skip_blanks()
    if cursor.text[cursor.pos] == ";" and cursor.text[cursor.pos + 1] not in ";&":
        cursor.pos += 1
        skip_newlines(cursor)
    else:
        skip_newlines(cursor)
        if read_reserved_word(cursor) == "in":
            cursor.pos += 2
            words = _read_words(cursor)
            skip_newlines(cursor)
    return For(match.group(), words, _read_do(cursor), select)


def _read_words(cursor: Cursor) -> tuple[Word, ...]:
    """Read the words of a loop up to ``;`` or the line's end."""
    found: list[Word] = []
    while True:
        cursor.skip_blanks()
        character = cursor.text[cursor.pos]
        if character == "\n" or character == "#":
            return tuple(found)
        if character == ";":
            cursor.pos += 1
            return tuple(found)
        found.append(read_word(cursor))


# ---------------------------------------------------------------- case


def read_case(cursor: Cursor) -> Case:
    """Read ``case``, up to ``esac``."""
    cursor.refuse_in_arithmetic("`case`")
    cursor.skip_blanks()
    subject = read_word(cursor, PATTERN)
    skip_newlines(cursor)
    expect(cursor, "in")
    clauses = []
    skip_newlines(cursor)
    while read_reserved_word(cursor) != "esac":
        clauses.append((_read_patterns(cursor), cursor.rules.script(cursor, _CLAUSE_ENDS)))
        if cursor.text[cursor.pos] == ";":
            _read_clause_end(cursor)
            skip_newlines(cursor)
        elif read_reserved_word(cursor) != "esac":
            cursor.refuse("`case` without its `esac`")
    cursor.pos += 4
    return Case(subject, tuple(clauses))


def _read_clause_end(cursor: Cursor) -> None:
    text = cursor.text
    end = cursor.pos + 2
    if text[cursor.pos + 1] == "&" or text[end] == "&":
        cursor.refuse_outside_bash("`;&` and `;;&`")
        end += text[cursor.pos + 1] == ";"
    cursor.pos = end
    if text[end] in ";&":
        cursor.refuse("an unexpected operator after a clause of `case`")


def _read_patterns(cursor: Cursor) -> tuple[Word, ...]:
    """Read ``(a | b)``; the opening parenthesis may be missing."""
    if cursor.text[cursor.pos] == "(":
        cursor.pos += 1
        cursor.skip_blanks()
    found = []
    while True:
        if read_reserved_word(cursor) == "esac":
            cursor.refuse("`esac` as a pattern", "quote it")
        found.append(read_word(cursor, PATTERN))
        cursor.skip_blanks()
        character = cursor.text[cursor.pos]
        cursor.pos += 1
        if character == ")":
            return tuple(found)
        if character != "|":
            cursor.refuse("`)` is missing after a pattern", at=cursor.pos - 1)
        cursor.skip_blanks()
