"""Reads shell text exactly, or says that it cannot.

The reader knows a large subset of bash and reads it as bash does; of everything else it says :class:`Unparsed`. It
never guesses, because whoever decides on its tree must be able to rely on *every* command being in it. It takes linear
time.

The rules are spread over private modules, from the ground up: ``_cursor``, ``_quotes``, ``_expansions``,
``_parameters``, ``_braces``, ``_words``, ``_redirects``, ``_conditions``, ``_commands``, ``_compound``; lists and
pipelines are here. What each shell reads differently (``sh``, older versions of bash, zsh) is refused.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.cursor import END, MAX_LENGTH, Cursor, CursorLimits, RecursiveRules, Refused
from lockgate.shell.grammar.keywords import COMPOUND, read_reserved_word, skip_newlines
from lockgate.shell.grammar.simple import read_simple
from lockgate.shell.grammar.tree import AndOr, Literal, Pipeline, Redirect, Script, Unparsed, Word

if TYPE_CHECKING:
    from lockgate.shell.grammar.tree import Command, Param

_CONTROL = lazy_re("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TIME_OPTIONS = lazy_re(r"[ \t]+-p(?=[ \t])")

_PREFIXES = frozenset({"!", "time"})
"""Reserved words that a pipeline begins with."""

_NOTHING: frozenset[str] = frozenset()


def read(text: str, dialect: str = "bash", base: int = 0) -> Script | Unparsed:
    """Read a shell script.

    Args:
        text: What the shell would be given with ``-c``.
        dialect: ``bash``, or ``sh`` for a shell that may be any POSIX shell: what dash reads differently is refused.
        base: What the positions of commands and words in the tree count from.

    Returns:
        The script, or why and where it was not read. Nothing is raised.
    """
    if dialect not in ("bash", "sh"):
        return Unparsed(f"no reader for the dialect `{dialect}`", 0)
    if len(text) > MAX_LENGTH:
        return Unparsed(f"longer than {MAX_LENGTH} characters", MAX_LENGTH, "write it to a file in smaller steps")
    if not text.isprintable() and (odd := _odd_character(text)) is not None:
        return odd
    try:
        return _read_script(Cursor(text, _RULES, dialect == "sh", CursorLimits(), base), _NOTHING)
    except Refused as refused:
        return Unparsed(refused.reason, min(refused.position - base, len(text)), refused.hint)
    except RecursionError:
        return Unparsed("nested too deeply", 0, "write the commands one by one")


def _odd_character(text: str) -> Unparsed | None:
    """Why a text is not read that holds what no text of a script holds. All of that is not printable."""
    control = _CONTROL.search(text)
    if control:
        hint = "use plain newlines" if control.group() == "\r" else "write it as an escape inside $'...'"
        return Unparsed("a control character", control.start(), hint)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return Unparsed("half of a surrogate pair", error.start, "write it as an escape inside $'...'")
    return None


def _read_script(cursor: Cursor, ends: frozenset[str]) -> Script:
    """Read commands up to one of ``ends``, which is left unread, or to the end where there are none."""
    commands: list[Command] = []
    background: list[bool] = []
    skip_newlines(cursor)
    while not _at_end(cursor, ends):
        commands.append(_read_and_or(cursor))
        character = cursor.text[cursor.pos]
        background.append(character == "&")
        if character == "&" or (character == ";" and cursor.text[cursor.pos + 1] not in ";&"):
            cursor.pos += 1
            skip_newlines(cursor)
        elif character in "\n#":
            skip_newlines(cursor)
        elif not _at_end(cursor, ends) or not (cursor.joint or character in (END, ")", ";")):
            cursor.refuse("an operator or word that fits nowhere", "separate the commands by `;` or newlines")
    return Script(tuple(commands), tuple(background))


def _at_end(cursor: Cursor, ends: frozenset[str]) -> bool:
    """Tell whether the list of commands ends here; refuse an end of another kind."""
    character = cursor.text[cursor.pos]
    if character == END:
        if ends:
            cursor.refuse("unexpected end: something is not closed", "close every quote, bracket and keyword")
        if cursor.body_line >= 0:
            cursor.refuse("here-document without a body", "put the body on the following lines")
        return True
    if not ends:
        return False
    if character in ");":
        closer = ")" if character == ")" else ";;"
        return closer in ends and (closer == ")" or cursor.text[cursor.pos + 1] in ";&")
    return read_reserved_word(cursor) in ends


def _read_and_or(cursor: Cursor) -> Command:
    """Read pipelines joined by ``&&`` and ``||``, and the blanks behind them."""
    first = _read_pipeline(cursor)
    commands = [first]
    operators: list[str] = []
    while True:
        operator = cursor.text[cursor.pos : cursor.pos + 2]
        if operator not in ("&&", "||"):
            return AndOr(tuple(commands), tuple(operators)) if operators else first
        cursor.pos += 2
        operators.append(operator)
        skip_newlines(cursor)
        commands.append(_read_pipeline(cursor))


def _read_pipeline(cursor: Cursor) -> Command:
    """Read commands joined by pipes, with ``!`` and ``time`` before them, and the blanks behind them."""
    negated = timed = False
    keyword = read_reserved_word(cursor)
    if keyword in _PREFIXES:
        negated, timed = _read_prefixes(cursor)
        keyword = read_reserved_word(cursor)
    commands = [_read_command(cursor, keyword, cursor.posix)]
    while True:
        cursor.skip_blanks()
        if cursor.text[cursor.pos] != "|" or cursor.text[cursor.pos + 1] == "|":
            break
        cursor.pos += 1
        if cursor.text[cursor.pos] == "&":
            cursor.refuse_outside_bash("`|&`", "write `2>&1 |`")
            cursor.pos += 1
            commands[-1] = _add_error_redirect(cursor, commands[-1])
        skip_newlines(cursor)
        commands.append(_read_command(cursor, read_reserved_word(cursor), True))
    if len(commands) == 1 and not (negated or timed):
        return commands[0]
    return Pipeline(tuple(commands), negated, timed)


def _read_prefixes(cursor: Cursor) -> tuple[bool, bool]:
    """Read ``!`` and ``time [-p]`` before a pipeline."""
    negated = timed = False
    while True:
        keyword = read_reserved_word(cursor)
        if keyword == "!":
            if cursor.text[cursor.pos + 1] not in " \t":
                cursor.refuse("`!` without a space after it", "put a space after `!`")
            negated = not negated
            cursor.pos += 1
        elif keyword == "time" and not cursor.posix:
            timed = True
            options = _TIME_OPTIONS.match(cursor.text, cursor.pos + 4)
            cursor.pos = options.end() if options else cursor.pos + 4
            _check_time(cursor)
        else:
            return negated, timed
        cursor.skip_blanks()


def _check_time(cursor: Cursor) -> None:
    cursor.skip_blanks()
    if cursor.text[cursor.pos] == "-":
        cursor.refuse("an option after `time`", "write `command time` or leave the option out")


def _add_error_redirect(cursor: Cursor, command: Command) -> Command:
    """Give the command the redirection that ``|&`` stands for."""
    redirects = getattr(command, "redirects", None)
    if redirects is None:
        cursor.refuse("`|&` after this kind of command", "write `2>&1 |`")
    both = Redirect(">&", Word((Literal("1"),), cursor.base + cursor.pos), "2")
    return command._replace(redirects=(*redirects, both))


def _read_command(cursor: Cursor, keyword: str, plain_time: bool) -> Command:
    """Read the command at the cursor, with the reserved word that may stand there."""
    cursor.joint = False
    # Most scripts have no compound command; those begin with a keyword or have a parenthesis somewhere.
    if keyword in COMPOUND or "(" in cursor.text:
        from lockgate.shell.grammar.compound import read_compound

        found = read_compound(cursor)
        if found is not None:
            return found
    return read_simple(cursor, plain_time)


def _parameter(cursor: Cursor, quoted: bool) -> Param:
    from lockgate.shell.grammar.parameters import read_parameter

    return read_parameter(cursor, quoted)


_RULES = RecursiveRules(_read_script, _parameter)
