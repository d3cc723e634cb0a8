"""Reads redirections and here-documents."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.cursor import END, Cursor
from lockgate.shell.grammar.expansions import read_body
from lockgate.shell.grammar.tree import Braces, Literal, Redirect, Word
from lockgate.shell.grammar.words import ARGUMENT, PATTERN, read_word

if TYPE_CHECKING:
    from lockgate.shell.grammar.tree import Part

_REDIRECT = lazy_re(r"(\{[A-Za-z_][A-Za-z0-9_]*\}|[0-9]+)?(<<<|<<-?|<>|<&|>>|>&|>\||&>>|&>|<|>)(?!\()")
_PLAIN = lazy_re(r"[A-Za-z0-9_./:@%+,=-]+")
_DUPLICATE = lazy_re(r"[0-9]+-?|-")
_POSIX_ONLY = frozenset(("<", ">", ">>", ">|", "<>", "<<", "<<-", "<&", ">&"))
_UNSAFE_AFTER = frozenset("<>&|;()\n" + END)


def read_redirect(cursor: Cursor) -> Redirect | None:
    """Read one redirection with what stands before its operator, if one begins here."""
    match = _REDIRECT.match(cursor.text, cursor.pos)
    if match is None:
        return None
    fd, operator = match.group(1) or "", match.group(2)
    if operator[0] == "&" and fd:
        return None
    if len(fd) > 3 and fd[0] != "{":
        cursor.refuse("a file descriptor of more than three digits")
    if operator not in _POSIX_ONLY:
        cursor.refuse_outside_bash(f"`{operator}`")
    if len(fd) > 1:
        cursor.refuse_outside_bash("a file descriptor that is not one digit")
    cursor.pos = match.end()
    cursor.skip_blanks()
    if cursor.text[cursor.pos] in _UNSAFE_AFTER and cursor.text[cursor.pos : cursor.pos + 2] not in ("<(", ">("):
        cursor.refuse("a redirection without a target")
    if operator in ("<<", "<<-"):
        return Redirect(operator, _read_here_document(cursor, operator == "<<-"), fd)
    target = _target(cursor, operator)
    if operator == ">&" and fd in ("", "1") and not _PLAIN.fullmatch(target.literal or ""):
        # Measured in bash 5.2: `echo >&'$(c1)'` runs c1, because the word is expanded once more without its quotes.
        cursor.refuse(
            "`>&` before text that bash expands twice", "write `>file 2>&1`, or `>/dev/fd/$n` for a descriptor"
        )
    return Redirect(operator, target, fd)


def read_redirects(cursor: Cursor) -> tuple[Redirect, ...]:
    """Read the redirections after a compound command."""
    found: list[Redirect] = []
    while True:
        cursor.skip_blanks()
        one = read_redirect(cursor)
        if one is None:
            return tuple(found)
        found.append(one)


def _target(cursor: Cursor, operator: str) -> Word:
    start = cursor.pos
    target = read_word(cursor, ARGUMENT)
    if any(isinstance(part, Braces) for part in target.parts):
        cursor.refuse("brace expansion in a redirection", "write the file name out", at=start)
    if target.parts == (Literal("!"),):
        cursor.refuse("`!` as a redirection's target", "quote it", at=start)
    if operator in (">&", "<&") and not _DUPLICATE.fullmatch(target.literal or ""):
        if cursor.text[start] == "-":
            cursor.refuse(f"text right after `{operator}-`", f"put a space after `{operator}-`", at=start)
        cursor.refuse_outside_bash(f"`{operator}` with a file name")
    return target


# ---------------------------------------------------------------- here-documents


def _read_here_document(cursor: Cursor, strip_tabs: bool) -> Word:
    """Read the delimiter, and the body that begins after the line's end."""
    cursor.refuse_in_arithmetic("a here-document")
    cursor.limits.bodies += 1
    start = cursor.pos
    delimiter = read_word(cursor, PATTERN)
    name = delimiter.literal
    if not name or "\n" in name or "$'" in cursor.text[start : cursor.pos] or '$"' in cursor.text[start : cursor.pos]:
        cursor.refuse("a here-document's delimiter that is not a plain word", "write <<'EOF'", at=start)
    quoted = any(isinstance(part, Literal) and part.quoted for part in delimiter.parts)
    if cursor.body_line < 0:
        cursor.body_line = cursor.text.find("\n", cursor.pos)
        cursor.bodies_end = cursor.body_line + 1
    if cursor.body_line < 0:
        cursor.refuse("here-document without a body", "put the body on the following lines")
    begin = cursor.bodies_end
    text, cursor.bodies_end = _read_body(cursor, begin, name, strip_tabs, joined=not quoted)
    if quoted:
        return Word((Literal(text, True),), cursor.base + begin)
    after, cursor.pos = cursor.pos, begin
    inner = cursor.inner(text)
    cursor.pos = after
    inner.enter_level()
    parts: list[Part] = read_body(inner)
    inner.limits.depth -= 1
    return Word(tuple(parts) or (Literal("", True),), cursor.base + begin)


def _read_body(cursor: Cursor, begin: int, delimiter: str, strip_tabs: bool, joined: bool) -> tuple[str, int]:
    """Read lines up to the delimiter. Returns the body's text and where the delimiter's line ends."""
    text = cursor.text
    last = len(text) - 1
    lines: list[str] = []
    position = begin
    while True:
        if position >= last:
            cursor.refuse(
                f"here-document without its closing `{delimiter}`",
                "put the delimiter alone on a line, without spaces around it",
            )
        line, position = _read_line(text, position, joined)
        if strip_tabs:
            line = line.lstrip("\t")
        if line == delimiter:
            return "".join(f"{part}\n" for part in lines), position
        if line.startswith(delimiter) and ")" in line:
            cursor.refuse(
                "a here-document's delimiter with more text behind it",
                "put the closing `)` on a line of its own",
                at=min(position, last) - 1,
            )
        lines.append(line)


def _read_line(text: str, position: int, joined: bool) -> tuple[str, int]:
    """Read one line without its newline, and where the next begins. ``joined``: a final backslash continues it."""
    line = ""
    while True:
        end = text.find("\n", position)
        if end < 0:
            return line + text[position:-1], len(text) - 1
        line += text[position:end]
        position = end + 1
        if not joined or (len(line) - len(line.rstrip("\\"))) % 2 == 0:
            return line, position
        line = line[:-1]
