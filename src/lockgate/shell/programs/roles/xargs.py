"""Runs the commands that ``xargs`` and its kin make of what they read."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.digits import number
from lockgate.shell.state.abstract_text import OPAQUE, is_known, join_texts, make_unknown_text
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall

_MOST_LINES = 12
_MOST_WORDS = 100
_FILE = frozenset({"-a", "--arg-file"})
_ONE_WORD = frozenset({"-0", "--null"})
_CUTTING = frozenset({"-L", "--max-lines", "-l", "-s", "--max-chars", "-E", "--eof", "-e", "-x", "--exit", "-S", "-R"})
_COUNT = frozenset({"-n", "--max-args"})
_DELIMITER = frozenset({"-d", "--delimiter"})


def commands(call: ProgramCall, words: list[Arg]) -> list[list[Arg]]:
    """The commands that are run.

    Args:
        call: The program that runs them.
        words: The words that each of them has.
    """
    given = {option.name for option in call.matched.options}
    text = call.machine.content() if given & _FILE else OPAQUE if call.stdin is None else call.stdin
    if call.placeholder:
        call.machine.names.note_chosen(paths=True)
        return _replace(call.placeholder, words, text)
    pieces = _pieces(text, given)
    if pieces is None:
        # They can be any number of words.
        return [[*words, *[Arg(make_unknown_text(text))] * 2]]
    size = _size(call) if given & _COUNT else len(pieces)
    if size == 0 and pieces:
        return [[*words, *[Arg(make_unknown_text(text))] * 2]]
    parts = [pieces[start : start + size] for start in range(0, len(pieces), size)] if pieces else [[]]
    if len(parts) > _MOST_LINES:
        parts = [[join_texts(*pieces)]] if words else [[OPAQUE]]
    return [[*words, *map(Arg, part)] for part in parts]


def _replace(placeholder: str, words: list[Arg], text: str) -> list[list[Arg]]:
    """``xargs -I``: a command a line. Some replace the program's own name too."""
    lines = text.splitlines() or [""]
    lines = lines if len(lines) <= _MOST_LINES else [join_texts(*lines)]
    made = [[Arg(word.text.replace(placeholder, line), word.glob) for word in words] for line in lines]
    if words and placeholder in words[0].text:
        made += [[words[0], *rest] for _, *rest in made]
    return made


def _pieces(text: str, given: set[str]) -> list[str] | None:
    """The words of the input, ``None`` where they are not known."""
    if OPAQUE in text or given & (_DELIMITER | _CUTTING):
        return None
    if given & _ONE_WORD:
        # What ``find -print0`` prints is held as lines.
        return [text] if is_known(text) else text.splitlines()
    if any(mark in text for mark in "\\'\""):
        return None
    pieces = text.split()
    return pieces if len(pieces) <= _MOST_WORDS else None


def _size(call: ProgramCall) -> int:
    """How many words a command gets at most; 0 where that is not known."""
    counts = [arg.static for option in call.matched.options if option.name in _COUNT for arg in option.value]
    return number(counts[0]) or 0 if len(counts) == 1 else 0
