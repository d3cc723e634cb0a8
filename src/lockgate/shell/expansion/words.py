"""Expands words as far as they are known before anything runs.

Every command inside a word is visited on the way, whether or not its output can be known.
"""

from __future__ import annotations

import re
from itertools import product

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.tree import Arith, Braces, CommandSub, Glob, Literal, Param, Part, ProcessSub, Tilde, Word
from lockgate.shell.state.abstract_text import (
    ENVIRONMENT,
    MAY_BE_EMPTY,
    OPAQUE,
    PLAIN,
    Number,
    is_known,
    make_unknown_text,
)
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.shell.state.run import Interpreter

_MOST_WORDS = 200
_MOST_TEXT = 20_000


def expand_all(words: tuple[Word, ...], machine: Interpreter, scope: Scope) -> list[Arg]:
    """The words that a command gets."""
    args: list[Arg] = []
    for word in words:
        literal = word.literal
        if literal is None:
            args += _expand(word, machine, scope)
        else:
            args.append(Arg(_safe(literal)))
    return args


def expand(word: Word, machine: Interpreter, scope: Scope) -> list[Arg]:
    """The words that one word becomes: none, one or several."""
    return expand_all((word,), machine, scope)


def _expand(word: Word, machine: Interpreter, scope: Scope) -> list[Arg]:
    ways = _without_braces(word.parts)
    if ways is not None:
        return [arg for parts in ways for arg in _Fields(machine, scope).of(parts)]
    # Too many words to list: all commands in them are visited, and any of them could be anything, also an option.
    expand_one(word, machine, scope)
    return [Arg(OPAQUE, loose=True)]


def expand_one(word: Word, machine: Interpreter, scope: Scope) -> str:
    """The text of a word where the shell does not split it (assignments, here-documents, redirections)."""
    literal = word.literal
    if literal is not None:
        return _safe(literal)
    texts = [text_of(part, machine, scope) for part in word.parts]
    return texts[0] if len(texts) == 1 and isinstance(texts[0], Number) else _cut("".join(texts))


def _safe(text: str) -> str:
    """Literal text; a control character that was written as an escape must not pass for a placeholder."""
    return text.replace(PLAIN, OPAQUE).replace(ENVIRONMENT, OPAQUE)


def _cut(text: str) -> str:
    """A text that is not longer than what is followed."""
    return text if len(text) <= _MOST_TEXT else OPAQUE


def _without_braces(parts: tuple[Part, ...]) -> list[tuple[Part, ...]] | None:
    """All words that a word with brace expansions becomes, or ``None`` where they are too many to list."""
    choices: list[list[tuple[Part, ...]]] = []
    total = 1
    for part in parts:
        options: list[tuple[Part, ...]] | None = [(part,)]
        if isinstance(part, Braces):
            options = _alternatives(part)
        total *= max(len(options or ()), 1)
        if options is None or total > _MOST_WORDS:
            return None
        choices.append(options)
    return [tuple(part for chosen in combination for part in chosen) for combination in product(*choices)]


def _alternatives(braces: Braces) -> list[tuple[Part, ...]] | None:
    """What one brace expansion becomes, or ``None`` where that is too much to list."""
    found: list[tuple[Part, ...]] = []
    for word in braces.alternatives:
        ways = _without_braces(word.parts)
        if ways is None or len(found) + len(ways) > _MOST_WORDS:
            return None
        found += ways
    # What a long sequence leaves out stands for itself.
    return [*found, (braces,)] if braces.elided else found


class _Fields:
    """Builds the fields of one word: unquoted values are split at white space."""

    def __init__(self, machine: Interpreter, scope: Scope) -> None:
        self.machine, self.scope = machine, scope
        self.done: list[Arg] = []
        self._begin()

    def _begin(self) -> None:
        """Begin a field."""
        self.text = ""
        self.glob = self.loose = False
        self.maybe = False
        """Whether it has text that is not known, so that it may be no word at all."""
        self.open = False
        """Whether it is a field even where its text is empty."""
        self.made = False
        """Whether a command printed a part of it."""
        self.numbers = True
        """Whether all that is not known of it are numbers of a service or the clock."""

    def of(self, parts: tuple[Part, ...]) -> list[Arg]:
        """The fields that the parts of a word become."""
        for part in parts:
            if isinstance(part, Param) and self._list(part):
                continue
            if isinstance(part, Braces):
                self._add_left_out(part)
                continue
            text = text_of(part, self.machine, self.scope)
            if isinstance(part, (Param, CommandSub)) and not part.quoted:
                self._split(text, made=isinstance(part, CommandSub))
            else:
                self.text += text
                self.numbers &= _is_number(text)
                self.glob |= isinstance(part, Glob)
                self.open = True
        self._close()
        return self.done

    def _list(self, part: Param) -> bool:
        """Expand ``"$@"`` and ``"${a[@]}"`` where their elements are known."""
        if part.operator or (part.name not in ("@", "*") and _subscript(part) not in ("@", "*")):
            return False
        items = self.scope.positional if part.name in ("@", "*") else self.scope.arrays.get(part.name)
        if items is None:
            self.loose = True
            return False
        self.numbers = False
        if part.quoted and "*" in (part.name, _subscript(part)):
            text = " ".join(item.text for item in items)
            self.text += make_unknown_text(text) if self.scope.ifs_changed else text
            self.open = True
            return True
        for index, item in enumerate(items):
            if index:
                self._close()
            if not part.quoted:
                self._split(item.text)
            else:
                self.text += item.text
                self.open = True
            self.glob |= item.glob
            self.loose |= item.loose
        return True

    def _add_left_out(self, sequence: Braces) -> None:
        """Add what a long sequence leaves out: several words, which are numbers or any letters."""
        first = sequence.alternatives[0].literal or ""
        self.text += PLAIN if first.lstrip("-").isdigit() else OPAQUE
        self.open = self.loose = True
        self.numbers = False

    def _split(self, text: str, *, made: bool = False) -> None:
        """Add text that the shell splits; ``made`` is whether a command printed it."""
        if self.scope.ifs_changed and text and (self.scope.ever.letters or not text.isalnum()):
            text = make_unknown_text(text)
        pieces = re.split(r"[ \t\n]+", text)
        for index, piece in enumerate(pieces):
            if index:
                self._close()
            # It may be no word at all, and then the others stand elsewhere.
            self.maybe |= not is_known(text)
            self.numbers &= _is_number(text)
            self.made |= made
            self.loose |= OPAQUE in text
            self.text += piece
            self.open |= bool(piece)
            self.glob |= any(mark in piece for mark in "*?[")

    def _close(self) -> None:
        """End the field that was begun, and begin the next one."""
        if self.open:
            loose = self.loose or (self.maybe and (self.made or not self.text.strip(MAY_BE_EMPTY)))
            text = _cut(self.text)
            self.done.append(Arg(text, self.glob, loose, numbers=self.numbers and PLAIN in text))
        self._begin()


def _is_number(text: str) -> bool:
    """Whether nothing of a text is unknown but a number of a service or the clock."""
    return isinstance(text, Number) or is_known(text)


def _subscript(part: Param) -> str | None:
    return part.subscript.literal if part.subscript is not None else None


def text_of(part: Part, machine: Interpreter, scope: Scope) -> str:
    """The text that a part of a word becomes."""
    if isinstance(part, Literal):
        return _safe(part.text)
    if isinstance(part, Glob):
        return part.text
    if isinstance(part, Tilde):
        return _home(part, machine, scope)
    if isinstance(part, Param):
        # By its whole name: docs/architecture.md, "The hot path".
        import lockgate.shell.expansion.parameters as parameters

        return parameters.parameter(part, machine, scope, expand_one)
    if isinstance(part, CommandSub):
        shape = machine.capture(part.script, scope)
        text = _cut(shape.rstrip("\n"))
        return Number(text) if isinstance(shape, Number) else text
    if isinstance(part, ProcessSub):
        return machine.name_substitution(machine.capture(part.script, scope, writing=part.direction == ">"))
    if isinstance(part, Arith):
        evaluate(part, machine, scope)
        return PLAIN
    # All of them are visited. Which one it is depends on who takes it: of several assignments the last one holds in
    # bash (the first one behind ``readonly``), where zsh and dash make one of them.
    return make_unknown_text("", *(expand_one(word, machine, scope) for word in part.alternatives))


def evaluate(part: Arith, machine: Interpreter, scope: Scope) -> None:
    """Record what the evaluation of an arithmetic expression does."""
    from lockgate.shell.expansion.arithmetic import evaluate_pieces

    evaluate_pieces(
        ((text_of(inner, machine, scope), isinstance(inner, Literal)) for inner in part.parts), machine, scope
    )


def _home(part: Tilde, machine: Interpreter, scope: Scope) -> str:
    if part.user in ("+", "-"):
        return scope.value("PWD" if part.user == "+" else "OLDPWD")
    if part.user:
        return "/root" if part.user == "root" else f"/home/{part.user}"
    return scope.value("HOME") if "HOME" in scope.variables else machine.around.home
