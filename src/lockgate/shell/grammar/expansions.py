"""Reads what begins with a dollar sign or a backquote, and the double quotes around it."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.cursor import END, Cursor
from lockgate.shell.grammar.quotes import read_ansi_c
from lockgate.shell.grammar.tree import Arith, CommandSub, Literal, Param, Pipeline, ProcessSub, Simple

if TYPE_CHECKING:
    import re

    from lockgate.shell.grammar.tree import Part, Script

_NAME = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_IN_DOUBLE = lazy_re(r'[^"$`\\\0]+')
_IN_BODY = lazy_re(r"[^$`\\\0]+")
_IN_ARITHMETIC = lazy_re(r"""[^$`\\\0"'()\[\]{};<>]+""")
_IN_BACKQUOTES = lazy_re(r"[^`\\\0]+")
_COMMENT_IN_BACKQUOTES = lazy_re(r"(?:^|[\s;|&()<>])#")
_QUOTED = lazy_re(r""""[^"]*"|'[^']*'""")
_PARENTHESES = lazy_re("[()]")
_CLOSE = frozenset(")")
_NOTHING: frozenset[str] = frozenset()

_ZSH_ONLY = frozenset("=~^+[")
"""After an unquoted dollar sign: other shells expand these."""


def read_dollar(cursor: Cursor, quoted: bool) -> list[Part]:
    """Read what begins with ``$``; a dollar sign that begins nothing is literal."""
    text = cursor.text
    follower = text[cursor.pos + 1]
    name = _NAME.match(text, cursor.pos + 1)
    if name:
        cursor.pos = name.end()
        if name.group() == "$" and text[cursor.pos] in "{(['\"":
            cursor.refuse(f"`$${text[cursor.pos]}`, which bash reads in two ways", "write ${$}")
        return [Param(name.group(), quoted=quoted)]
    if follower == "(":
        return [
            read_arithmetic_expansion(cursor, quoted)
            if text[cursor.pos + 2] == "("
            else read_command_sub(cursor, quoted)
        ]
    if follower == "{":
        return [cursor.rules.parameter(cursor, quoted)]
    if follower == "[":
        cursor.refuse("the obsolete $[...]", "write $((...))")
    if not quoted and follower == "'":
        return [read_ansi_c(cursor)]
    if not quoted and follower == '"':
        cursor.refuse_outside_bash('$"..."')
        cursor.pos += 1
        return read_double_quotes(cursor)
    if follower == "\\" and text[cursor.pos + 2] == "\n":
        cursor.refuse("line continuation after a dollar sign", "write the word on one line")
    if not quoted and follower in _ZSH_ONLY:
        cursor.refuse(f"`${follower}` is read differently by other shells", "quote the dollar sign")
    cursor.pos += 1
    return [Literal("$", quoted)]


def read_double_quotes(cursor: Cursor) -> list[Part]:
    """Read ``"..."``; the cursor stands on the first quote."""
    cursor.pos += 1
    parts = _read_text(cursor, _IN_DOUBLE, '"')
    if cursor.text[cursor.pos] != '"':
        cursor.refuse("unterminated double quote", "close the quote")
    cursor.pos += 1
    return parts or [Literal("", True)]


def read_body(cursor: Cursor) -> list[Part]:
    """Read text to its end where quotes are literal: a here-document's body."""
    return _read_text(cursor, _IN_BODY, "")


def read_literals(cursor: Cursor, run: re.Pattern[str], parts: list[Part], quoted: bool = False) -> str:
    """Read literal characters, which may be none, and give the character behind them, which is left unread."""
    found = run.match(cursor.text, cursor.pos)
    if found:
        parts.append(Literal(found.group(), quoted))
        cursor.pos = found.end()
    return cursor.text[cursor.pos]


def _read_text(cursor: Cursor, run: re.Pattern[str], closing: str) -> list[Part]:
    """Read text and expansions up to the closing quote or the end."""
    parts: list[Part] = []
    while True:
        character = read_literals(cursor, run, parts, True)
        if character == "$":
            parts += read_dollar(cursor, True)
        elif character == "`":
            parts.append(read_backquotes(cursor, True))
        elif character == "\\":
            _read_backslash(cursor, parts, closing)
        else:
            return parts


def _read_backslash(cursor: Cursor, parts: list[Part], closing: str) -> None:
    """Read a backslash inside double quotes or a body: it quotes only a few characters."""
    follower = cursor.text[cursor.pos + 1]
    if follower == END:
        cursor.refuse("backslash at the end", "double the backslash")
    if follower == "\n":
        if parts and isinstance(parts[-1], Param) and cursor.text[cursor.pos - 1] != "}":
            cursor.refuse("line continuation after an expansion", "write the word on one line")
    elif follower in "$`\\" or follower == closing:
        parts.append(Literal(follower, True))
    else:
        parts.append(Literal("\\" + follower, True))
    cursor.pos += 2


def read_command_sub(cursor: Cursor, quoted: bool) -> CommandSub:
    """Read ``$(...)``."""
    cursor.pos += 2
    return CommandSub(read_nested(cursor), quoted)


def read_process_sub(cursor: Cursor) -> ProcessSub:
    """Read ``<(...)`` or ``>(...)``."""
    cursor.refuse_outside_bash("process substitution")
    direction = cursor.text[cursor.pos]
    cursor.pos += 2
    return ProcessSub(read_nested(cursor), direction)


def read_nested(cursor: Cursor) -> Script:
    """Read commands up to and with the closing parenthesis. Its here-documents must end inside."""
    outer = cursor.body_line, cursor.bodies_end
    cursor.body_line = -1
    cursor.enter_level()
    cursor.limits.substitutions += 1
    bodies = cursor.limits.bodies
    script = cursor.rules.script(cursor, _CLOSE)
    if cursor.limits.bodies != bodies and not _is_lone(script):
        cursor.refuse(
            "a here-document and other commands in one substitution",
            "put the here-document into a command of its own",
        )
    cursor.limits.substitutions -= 1
    cursor.limits.depth -= 1
    if cursor.body_line >= 0:
        cursor.refuse("here-document without a body inside a substitution", "end the here-document before the `)`")
    cursor.body_line, cursor.bodies_end = outer
    cursor.take(")", "unterminated substitution")
    return script


def _is_lone(script: Script) -> bool:
    """Tell whether this is one simple command or pipeline of them.

    Of a longer script with here-documents bash 5.2 loses separators when it writes the substitution down for itself.
    """
    if len(script.commands) != 1:
        return False
    command = script.commands[0]
    parts = command.commands if isinstance(command, Pipeline) else (command,)
    return all(isinstance(part, Simple) for part in parts)


def read_backquotes(cursor: Cursor, quoted: bool) -> CommandSub:
    """Read a backquoted command: take one level of escapes away, then read the rest."""
    text = cursor.text
    start = cursor.pos
    cursor.pos += 1
    command = ""
    while text[cursor.pos] != "`":
        run = _IN_BACKQUOTES.match(text, cursor.pos)
        if run:
            command += run.group()
            cursor.pos = run.end()
        elif text[cursor.pos] == END:
            cursor.refuse("unterminated backquote", "write $(...)", at=start)
        else:
            command += _unescape(cursor, quoted)
    if _COMMENT_IN_BACKQUOTES.search(command):
        cursor.refuse("comment inside backquotes", "write $(...)", at=start)
    inner = cursor.inner(command)
    inner.enter_level()
    inner.limits.substitutions += 1
    script = cursor.rules.script(inner, _NOTHING)
    inner.limits.substitutions -= 1
    inner.limits.depth -= 1
    cursor.pos += 1
    return CommandSub(script, quoted)


def _unescape(cursor: Cursor, quoted: bool) -> str:
    follower = cursor.text[cursor.pos + 1]
    if follower == END or follower == "\n" or (quoted and follower == '"'):
        cursor.refuse("a backslash inside backquotes that shells read differently", "write $(...)")
    cursor.pos += 2
    return follower if follower in "$`\\" else "\\" + follower


def read_arithmetic_expansion(cursor: Cursor, quoted: bool) -> Arith:
    """Read ``$((...))``."""
    start = cursor.pos
    cursor.pos += 3
    parts = read_arithmetic(cursor, ")")
    if cursor.text[cursor.pos + 1] != ")":
        cursor.refuse("`$((` that could be a subshell inside a substitution", "write `$( (` with a space", at=start)
    check_parentheses(cursor, start + 3)
    cursor.pos += 2
    return Arith(tuple(parts), quoted)


def check_parentheses(cursor: Cursor, start: int) -> None:
    """Refuse an arithmetic expression in which not only the grammar but also a count finds the last parenthesis.

    Bash counts parentheses to tell ``$((`` from a subshell, and is misled by ``$(case x in x) ...)``.
    """
    expression = cursor.text[start : cursor.pos]
    if "$(" not in expression and "`" not in expression and '"' not in expression:
        return
    cursor.spend(len(expression))
    if "\\" in expression or not (_is_balanced(expression) and _is_balanced(_QUOTED.sub("", expression))):
        cursor.refuse("parentheses that do not match in an arithmetic expression", "use a variable", at=start)


def _is_balanced(text: str) -> bool:
    depth = 0
    for parenthesis in _PARENTHESES.findall(text):
        depth += 1 if parenthesis == "(" else -1
        if depth < 0:
            return False
    return depth == 0


def merge_parts(parts: list[Part]) -> list[Part]:
    """Join neighbouring text that is quoted, and that is not."""
    result: list[Part] = []
    for part in parts:
        last = result[-1] if result else None
        if isinstance(part, Literal) and isinstance(last, Literal) and part.quoted == last.quoted:
            result[-1] = Literal(last.text + part.text, part.quoted)
        else:
            result.append(part)
    return result


def read_arithmetic(cursor: Cursor, closing: str, semicolons: bool = False) -> list[Part]:
    """Read an arithmetic expression up to its closing bracket, which is left unread."""
    parts: list[Part] = []
    open_brackets: list[str] = []
    cursor.enter_level()
    cursor.limits.arithmetic += 1
    while True:
        character = read_literals(cursor, _IN_ARITHMETIC, parts)
        if character in ")]":
            if not open_brackets:
                if character == closing:
                    cursor.limits.depth -= 1
                    cursor.limits.arithmetic -= 1
                    return merge_parts(parts)
                cursor.refuse("unbalanced brackets in an arithmetic expression")
            if open_brackets.pop() != character:
                cursor.refuse("unbalanced brackets in an arithmetic expression")
            parts.append(Literal(character))
            cursor.pos += 1
        elif character in "([":
            open_brackets.append(")" if character == "(" else "]")
            parts.append(Literal(character))
            cursor.pos += 1
        else:
            parts += _read_in_arithmetic(cursor, semicolons)


def _read_in_arithmetic(cursor: Cursor, semicolons: bool) -> list[Part]:
    """Read one expansion, quotation or operator character of an arithmetic expression."""
    character = cursor.text[cursor.pos]
    if character == "$":
        return read_dollar(cursor, True)
    if character == "`":
        return [read_backquotes(cursor, True)]
    if character == '"':
        return read_double_quotes(cursor)
    if character == END:
        cursor.refuse("unterminated arithmetic expression or subscript")
    angle = character in "<>" and cursor.text[cursor.pos + 1] != "("
    if not angle and not (character == ";" and semicolons):
        cursor.refuse(f"`{character}` in an arithmetic expression or subscript", "use only names, numbers, operators")
    cursor.pos += 1
    return [Literal(character)]
