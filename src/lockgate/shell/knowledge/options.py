"""Matches the words of a command against its option grammar.

Where a spelling can be read in two ways, the reading with effects is taken: an abbreviation that fits several long
options, a word that may be an option at run time.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.shell.knowledge.lookup import COMMAND, DIGITS, NO_VALUE, OPTIONAL, TWO, VALUE, ProgramEntry
from lockgate.shell.state.abstract_text import OPAQUE, is_known
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from collections.abc import Sequence

_WALKS = "left-out left-out-next left-out-glob only-names not-names follows-links takes-hidden"
HARMLESS = frozenset({"local", "composed", *_WALKS.split()})
"""Roles that have no effect whatever the value is."""


_EITHER = "either"
"""The role of an option that has a value for some of the programs that share an entry, and none for others."""


_GREEDY = frozenset({"argv", "argv-inside", "package-argv", "project-argv", "shell-argv", "lock-argv"})
"""Roles that take all words from where they stand."""


_NO = frozenset({"", "0", "f", "n", "no", "false", "off", "none", "never", "disable", "without"})
"""Values with which a switch says that it is off: what Go, apt and others read."""
_SWITCHES = _NO | {"1", "t", "y", "yes", "true", "on", "always", "auto", "enable", "with"}
"""Values that only say whether a switch is on."""


class Option(Record):
    """One option that was given."""

    name: str
    role: str
    value: tuple[Arg, ...] = ()
    holds: bool = True
    """Whether it is surely on: ``--dry-run=false`` is not."""

    @property
    def names(self) -> tuple[str, ...]:
        """What `when` may call it: its name, and its name with its value where that is known."""
        value = self.value[0].static if len(self.value) == 1 else None
        return (self.name,) if value is None else (self.name, f"{self.name}={value}")


class Matched(Record):
    """A command's words, sorted."""

    options: list[Option]
    operands: list[Arg]
    unknown: list[Arg]
    """Options that the grammar does not have."""
    surprises: list[Arg]
    """Words that could turn out to be any option."""

    @property
    def given(self) -> set[str]:
        """Names of the options that were given."""
        return {option.name for option in self.options}


def may_be_undone(names: Sequence[str], options: list[Option], matched: Matched) -> bool:
    """Whether options of these names, of which one was given, may mean nothing in the end.

    One says the opposite (``--dry-run=false``, or ``bash -n +n``), or is not known (``--dry-run --no-dry-run``). Or it
    is given again with another value, of which most programs take the last one (``--dry-run=client --dry-run=none``).
    """
    wanted = set(names)
    bare = {name.partition("=")[0] for name in names}
    opposite = any(operand.text.startswith("+") for operand in matched.operands)
    return bool(opposite or matched.unknown or matched.surprises) or any(
        not option.holds or wanted.isdisjoint(option.names) for option in options if option.name in bare
    )


def asks_only(entry: ProgramEntry, options: list[Option], matched: Matched) -> bool:
    """Whether an option is given with which the program only prints help, and nothing else that could count.

    The same word may be an argument of code (``python3 -c 1 --version``) or an option's value (``frob --title
    --version``). So it counts only where no operand and no option stands beside it that is unknown or does something.
    """
    if matched.operands or matched.surprises:
        return False
    asked = entry.help
    given = {option.name for option in options} | {arg.text for arg in matched.unknown}
    does = any(option.role not in HARMLESS and option.name not in asked for option in options)
    unknown = any(arg.text not in asked for arg in matched.unknown)
    return not (given.isdisjoint(asked) or does or unknown)


def match(entry: ProgramEntry, args: list[Arg]) -> Matched:
    """Sort the words after the command's name."""
    return _Matcher(entry, args).run()


def takes_command(entry: ProgramEntry) -> bool:
    """Whether operands from some point on are a command, so that options end where it begins."""
    return not _GREEDY.isdisjoint(entry.operands)


def _count_before_command(entry: ProgramEntry) -> int:
    """How many operands stand before the command that others are."""
    if entry.stops or entry.commands or "assignments" in entry.operands:
        return 0
    return next((at for at, role in enumerate(entry.operands) if role in _GREEDY), 0)


class _Matcher:
    """Sorts the words of one command."""

    def __init__(self, entry: ProgramEntry, args: list[Arg]) -> None:
        self.entry, self.args, self.at = entry, args, 0
        self.result = Matched([], [], [], [])
        runs = takes_command(entry)
        self.stops = entry.stops or bool(entry.commands) or runs
        self.before = _count_before_command(entry) if runs else 0
        """How many operands stand before a command, with options between them (``kubectl exec POD -c x -- ls``)."""

    def run(self) -> Matched:
        """Read word by word, up to where no option can follow."""
        args, style = self.args, self.entry.style
        if self.entry.bundle and args and _is_bundle(args[0], self.entry):
            self._read_bundle(args[0].text)
        while self.at < len(args):
            arg = args[self.at]
            text = arg.text
            self.at += 1
            if text == "--" and style == "gnu":
                self._read_rest()
            elif style == "dd":
                self._take_key_and_value(arg)
            elif len(text) > 1 and text[0] == "-":
                self._read_option(arg)
            elif self._add_operand(arg):
                self._read_rest()
        return self.result

    def _read_rest(self) -> None:
        self.result.operands.extend(self.args[self.at :])
        self.at = len(self.args)

    def _add_operand(self, arg: Arg) -> bool:
        """Record an operand. Returns whether no option can follow."""
        if arg.text[:1] == OPAQUE:
            self.result.surprises.append(arg)
        self.result.operands.append(arg)
        return self.stops and len(self.result.operands) > self.before

    def _read_option(self, arg: Arg) -> None:
        text = arg.text
        if self.entry.style in ("single-dash", "find") or text in self.entry.options:
            self._read_long(arg, exact=True)
        elif text.startswith("--"):
            self._read_long(arg, exact=False)
        else:
            self._read_cluster(arg)

    def _read_long(self, arg: Arg, *, exact: bool) -> None:
        name, equals, value = arg.text.partition("=")
        found = name if name in self.entry.options else self._find_similar(name, exact=exact)
        if found is None and (attached := self._find_attached(arg.text)):
            self.result.options.append(
                Option(attached, self.entry.options[attached][0], (Arg(arg.text[len(attached) :], arg.glob),))
            )
            return
        if found is None:
            self._add_unknown(arg, name)
            return
        if found not in (name, _other_dash(name)):
            # It is short for this option, or an option of its own that nobody has listed.
            self.result.unknown.append(arg)
        role, words = self.entry.options[found]
        if equals and words == NO_VALUE and value.casefold() not in _SWITCHES:
            # What is listed is the option without a value.
            self.result.unknown.append(arg)
        if words == COMMAND:
            values = self._take_until_semicolon()
        elif equals:
            values = (Arg(value, arg.glob),)
        else:
            values = self._take_value(role) if words in (VALUE, TWO) else ()
            values += self._take_next() if words == TWO else ()
        holds = not equals or words in (VALUE, TWO, COMMAND) or (is_known(value) and value.casefold() not in _NO)
        self._keep(Option(found, role, values, holds))

    def _keep(self, option: Option) -> None:
        """Record an option; after some all words that follow are the operands of what it runs."""
        self.result.options.append(option)
        if option.name in self.entry.ends:
            self._read_rest()

    def _find_attached(self, text: str) -> str:
        """The short option with an effect that a word begins with (``-o/etc/x``), where words begin with one dash."""
        if self.entry.style != "single-dash" or text.startswith("--"):
            return ""
        names = (name for name in (text[:2], text[:3], text[:4]) if name in self.entry.options)
        # Such a value counts only where it stands in a word of its own.
        harmless = HARMLESS | {_EITHER}
        return next(
            (n for n in names if self.entry.options[n][1] == VALUE and self.entry.options[n][0] not in harmless), ""
        )

    def _find_similar(self, name: str, *, exact: bool) -> str | None:
        options = self.entry.options
        if self.entry.style in ("single-dash", "find"):
            other = _other_dash(name)
            return other if other in options else None
        if exact or not is_known(name) or len(name) < 3 or name in self.entry.help:
            return None
        candidates = [option for option in options if option.startswith(name)]
        candidates.sort(key=lambda option: options[option][0] in HARMLESS)
        return candidates[0] if candidates else None

    def _add_unknown(self, arg: Arg, name: str) -> None:
        if OPAQUE in name:
            self.result.surprises.append(arg)
        if self.result.unknown[-1:] != [arg]:
            self.result.unknown.append(arg)

    def _read_cluster(self, arg: Arg) -> None:
        text = arg.text
        position = 1
        seen = set()
        while position < len(text):
            letter = text[position]
            position += 1
            name = f"-{letter}"
            role, words = self.entry.options.get(name, ("", NO_VALUE))
            if words == NO_VALUE:
                # A flag that stands there again says nothing new.
                if letter not in seen:
                    seen.add(letter)
                    self._add_flag(name, role, arg)
                continue
            rest = text[position:]
            values: tuple[Arg, ...] = ()
            if words in (VALUE, OPTIONAL) and rest:
                values = (Arg(rest, arg.glob),)
                if role == _EITHER and self._has_effect(rest):
                    self._add_unknown(arg, name)
            elif words == VALUE:
                values = self._take_value(role)
            elif words == COMMAND:
                values = self._take_until_semicolon()
            self._keep(Option(name, role, values))
            if words != DIGITS:
                return
            position = len(text) - len(rest.lstrip("0123456789"))

    def _add_flag(self, name: str, role: str, arg: Arg) -> None:
        """Record one letter of a cluster that takes no value, or is not known."""
        if role:
            self._keep(Option(name, role))
            return
        self._add_unknown(arg, name)

    def _read_bundle(self, text: str) -> None:
        """``tar xzf file``: letters first, then their values in order."""
        self.at = 1
        for letter in text:
            name = f"-{letter}"
            if name in self.entry.options:
                role, words = self.entry.options[name]
                self.result.options.append(Option(name, role, self._take_next() if words == VALUE else ()))

    def _take_key_and_value(self, arg: Arg) -> None:
        name, equals, value = arg.text.partition("=")
        key = f"{name}="
        if equals and key in self.entry.options:
            self.result.options.append(Option(key, self.entry.options[key][0], (Arg(value, arg.glob),)))
        elif self.entry.operands:
            self._add_operand(arg)
        else:
            self.result.unknown.append(arg)

    def _take_value(self, role: str) -> tuple[Arg, ...]:
        """The next word as an option's value, unless it is an option itself where this one may have no value."""
        following = self.args[self.at].text if self.at < len(self.args) else ""
        return () if role == _EITHER and len(following) > 1 and following.startswith("-") else self._take_next()

    def _has_effect(self, letters: str) -> bool:
        """Whether one of these letters is an option with an effect, so that they may be more than a value."""
        options = self.entry.options
        return any(options.get(f"-{letter}", ("local",))[0] not in {*HARMLESS, _EITHER} for letter in letters)

    def _take_next(self) -> tuple[Arg, ...]:
        if self.at >= len(self.args):
            return ()
        self.at += 1
        return (self.args[self.at - 1],)

    def _take_until_semicolon(self) -> tuple[Arg, ...]:
        start = self.at
        while self.at < len(self.args):
            text = self.args[self.at].text
            if text == ";" or (text == "+" and self.at > start and self.args[self.at - 1].text == "{}"):
                break
            self.at += 1
        values = tuple(self.args[start : self.at])
        self.at += 1
        return values


def _other_dash(name: str) -> str:
    """A long option with one dash for two, or with two for one."""
    return name[1:] if name.startswith("--") else f"-{name}"


def _is_bundle(arg: Arg, entry: ProgramEntry) -> bool:
    text = arg.text
    return not text.startswith("-") and arg.static is not None and all(f"-{letter}" in entry.options for letter in text)


def _find_repeated(roles: list[str]) -> int:
    """Where the role stands that takes any number of words, -1 where none does."""
    for index, role in enumerate(roles):
        if role.endswith("...") or role in _GREEDY:
            return index
    return -1


def assign_roles(roles: list[str], operands: list[Arg]) -> list[tuple[str, list[Arg]]]:
    """Give each operand its role: fixed positions from both ends, the role that ends in ``...`` takes the middle."""
    repeated = _find_repeated(roles)
    if repeated < 0:
        pairs = [(role, [arg]) for role, arg in zip(roles, operands, strict=False)]
        return [*pairs, *((roles[-1], [arg]) for arg in operands[len(roles) :])] if roles else []
    after = len(roles) - repeated - 1
    head = operands[:repeated]
    end = max(len(operands) - after, repeated)
    middle, tail = operands[repeated:end], operands[end:]
    result = [(role, [arg]) for role, arg in zip(roles, head, strict=False)]
    result.append((roles[repeated].removesuffix("..."), middle))
    result += [(role, [arg]) for role, arg in zip(roles[repeated + 1 :], tail, strict=False)]
    return result
