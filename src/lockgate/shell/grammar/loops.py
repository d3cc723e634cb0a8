"""``if``, ``while``, ``until``, ``for``, ``select`` and ``case``; each rule begins after its keyword."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.cursor import Cursor
from lockgate.shell.grammar.expansions import arithmetic, check_parentheses
from lockgate.shell.grammar.keywords import block, expect, newlines, reserved
from lockgate.shell.grammar.tree import Arith, ArithFor, Case, For, If, While
from lockgate.shell.grammar.words import PATTERN, word

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


def double_parenthesis(cursor: Cursor, semicolons: bool) -> Arith:
    """Read ``((`` and what stands inside."""
    cursor.bash_only("`((`", "write `( (` for subshells")
    cursor.pos += 2
    start = cursor.pos
    parts = arithmetic(cursor, ")", semicolons)
    check_parentheses(cursor, start)
    if cursor.text[cursor.pos + 1] != ")":
        cursor.refuse("`((` that could be two subshells", "write `( (` with a space")
    cursor.pos += 2
    return Arith(tuple(parts))


# ---------------------------------------------------------------- conditions and loops


def if_(cursor: Cursor) -> If:
    """Read ``if``, up to ``fi``."""
    branches = []
    otherwise = None
    while True:
        test = block(cursor, _THEN)
        expect(cursor, "then")
        branches.append((test, block(cursor, _BRANCH_ENDS)))
        keyword = reserved(cursor)
        if keyword != "elif":
            break
        cursor.pos += 4
    if keyword == "else":
        cursor.pos += 4
        otherwise = block(cursor, _FI)
    expect(cursor, "fi")
    return If(tuple(branches), otherwise)


def while_(cursor: Cursor) -> While:
    """Read ``while``, up to ``done``."""
    return _loop(cursor, until=False)


def until(cursor: Cursor) -> While:
    """Read ``until``, up to ``done``."""
    return _loop(cursor, until=True)


def _loop(cursor: Cursor, until: bool) -> While:
    test = block(cursor, _DO)
    return While(test, _do(cursor), until)


def _do(cursor: Cursor) -> Script:
    """Read ``do ... done``, or bash's ``{ ...; }`` in its place."""
    keyword = reserved(cursor)
    if keyword == "{":
        cursor.bash_only("a loop without `do`")
        cursor.pos += 1
        script = block(cursor, _BRACE)
        expect(cursor, "}")
        return script
    expect(cursor, "do")
    script = block(cursor, _DONE)
    expect(cursor, "done")
    return script


def for_(cursor: Cursor) -> For | ArithFor:
    """Read ``for``, in either form."""
    cursor.blanks()
    if cursor.text.startswith("((", cursor.pos):
        header = double_parenthesis(cursor, semicolons=True)
        cursor.blanks()
        if cursor.text[cursor.pos] == ";" and cursor.text[cursor.pos + 1] not in ";&":
            cursor.pos += 1
        newlines(cursor)
        return ArithFor(header, _do(cursor))
    return _for_words(cursor, select=False)


def select(cursor: Cursor) -> For:
    """Read ``select``, up to ``done``."""
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
    found: list[Word] = []
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


def case(cursor: Cursor) -> Case:
    """Read ``case``, up to ``esac``."""
    cursor.outside_arithmetic("`case`")
    cursor.blanks()
    subject = word(cursor, PATTERN)
    newlines(cursor)
    expect(cursor, "in")
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
