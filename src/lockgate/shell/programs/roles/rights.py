"""Applies roles of words that say who may read, write or start files."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.path_spelling import folders, has_state_below
from lockgate.shell.effects import files

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall, Role
    from lockgate.shell.state.scope import Arg

_ABOVE = "the gate's own state lies below it, which this can open to others or close to the gate"
_NUMBERS = lazy_re(r"0?([4-7])([04])([04])")
"""A mode with which the owner still reads a file, and others at most read it."""
_CLAUSE = lazy_re(r"([augo]*)([-+=])([rwxX]*)")
_NOT_STARTED = frozenset(
    {"place:persist/home-configuration", "place:persist/remote-login", "place:persist/shell-start"}
)
"""Places of what is read or taken in: to be started needs no right there."""


class _Given(Record):
    """What a mode gives that counts."""

    shows: bool
    """Whether others may read."""
    starts: bool
    """Whether the owner may start it as a program."""


def apply_rights(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Files get other rights: those of a folder also decide who comes to what lies below it."""
    for word in words:
        call.own += files.change(word, call.machine, call.scope, below=call.recursive)
        around = call.machine.around
        if any(has_state_below(form, around) for cwd in call.scope.cwds for form in folders(word.text, cwd, around)):
            call.own.append(Effect(EffectKind.TAMPER, word.shown, "place:own/state-above", _ABOVE))


def apply_mode(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Files get the rights that the first operand says. One that gives nobody else anything changes nothing in them."""
    before = len(call.own)
    apply_rights(call, words, option)
    first = call.matched.operands[0]
    given = None if first in words or first.static is None else _parse_mode(first.static)
    if given is None or (given.shows and any(_is_secret(call, word) for word in words)):
        return
    kept = [
        e
        for e in call.own[before:]
        if e.kind is not EffectKind.PERSIST or (given.starts and e.rule not in _NOT_STARTED)
    ]
    call.own[before:] = kept


def _is_secret(call: ProgramCall, word: Arg) -> bool:
    found = files.read(word, call.machine, call.scope, below=call.recursive)
    return any(effect.kind is EffectKind.READ_SECRET for effect in found)


def _parse_mode(text: str) -> _Given | None:
    """What a mode gives; ``None`` where others may write or start a file, or its owner no longer reads it."""
    numbers = _NUMBERS.fullmatch(text)
    if numbers:
        owner, *others = map(int, numbers.groups())
        return _Given(any(others), bool(owner & 1))
    parts = [_read_clause(clause) for clause in text.split(",")]
    if None in parts:
        return None
    return _Given(any(part.shows for part in parts if part), any(part.starts for part in parts if part))


def _read_clause(clause: str) -> _Given | None:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        return None
    who, sign, which = match.groups()
    of_owner = not who or bool({"a", "u"}.intersection(who))
    of_others = who != "u" * len(who) or not who
    if sign == "-":
        return _Given(False, False) if not of_owner or which == "w" else None
    if (of_others and which not in ("", "r")) or (of_owner and sign == "=" and "r" not in which):
        return None
    return _Given(of_others and which == "r", of_owner and "x" in which.lower())


FUNCTIONS: dict[str, Role] = {
    "rights": apply_rights,
    "mode": apply_mode,
}
"""The function that applies each role."""
