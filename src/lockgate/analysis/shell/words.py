"""Expanding words as far as they are known before anything runs.

Every command inside a word is visited on the way, whether or not its output can be known.
"""

from __future__ import annotations

import re
from itertools import product

from lockgate.analysis.shell.scope import (
    ENVIRONMENT,
    OPAQUE,
    PLAIN,
    Arg,
    Scope,
    blur,
    harmless,
    known,
    marks_of,
    unknown,
)
from lockgate.analysis.shell.syntax import (
    Arith,
    Braces,
    CommandSub,
    Glob,
    Literal,
    Param,
    Part,
    ProcessSub,
    Tilde,
    Word,
)
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.analysis.shell.commands import Machine

_MOST_WORDS = 200
_MOST_TEXT = 20_000
_MAY_BE_EMPTY = f"{PLAIN}{ENVIRONMENT} \n\t"
_PASSING = frozenset({"#", "##", "%", "%%", "/", "//", "/#", "/%", ":", "^", "^^", ",", ",,", "@U", "@L", "@u", "@Q"})
_FOLDERS = {
    "TMPDIR": "/tmp",  # noqa: S108 - the meaning of the variable, no file is made
    "TMP": "/tmp",  # noqa: S108
    "TEMP": "/tmp",  # noqa: S108
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_CACHE_HOME": "~/.cache",
    "XDG_DATA_HOME": "~/.local/share",
    "XDG_STATE_HOME": "~/.local/state",
    "CARGO_HOME": "~/.cargo",
}
"""Variables that name folders: their usual default is a good reading where nothing else is known."""


def expand_all(words: tuple[Word, ...], machine: Machine, scope: Scope) -> list[Arg]:
    """The words that a command gets."""
    return [arg for word in words for arg in expand(word, machine, scope)]


def expand(word: Word, machine: Machine, scope: Scope) -> list[Arg]:
    """The words that one word becomes: none, one or several."""
    literal = word.literal
    if literal is not None:
        return [Arg(_safe(literal))]
    result: list[Arg] = []
    for parts in _without_braces(word.parts):
        if len(result) >= _MOST_WORDS:
            result.append(Arg(OPAQUE))
            break
        result += _Fields(machine, scope).of(parts)
    return result


def expand_one(word: Word, machine: Machine, scope: Scope) -> str:
    """The text of a word where the shell does not split it (assignments, here-documents, redirections)."""
    literal = word.literal
    if literal is not None:
        return _safe(literal)
    return _cut("".join(_text(part, machine, scope) for part in word.parts))


def _safe(text: str) -> str:
    """Literal text; a control character that was written as an escape must not pass for a placeholder."""
    return text if known(text) else text.replace(PLAIN, OPAQUE).replace(ENVIRONMENT, OPAQUE)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else OPAQUE


def _without_braces(parts: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    if not any(isinstance(part, Braces) for part in parts):
        return [parts]
    choices: list[list[tuple[Part, ...]]] = []
    total = 1
    for part in parts:
        if isinstance(part, Braces):
            options = [inner for word in part.alternatives for inner in _without_braces(word.parts)]
        else:
            options = [(part,)]
        total *= max(len(options), 1)
        if total > _MOST_WORDS:
            # Too many to list: each part once, so that all commands in them are still visited, and unknown text.
            return [*_one_by_one(choices), *options, (Param(""),)]
        choices.append(options)
    return [tuple(part for chosen in combination for part in chosen) for combination in product(*choices)]


def _one_by_one(choices: list[list[tuple[Part, ...]]]) -> list[tuple[Part, ...]]:
    """All alternatives of a brace expansion one by one."""
    return [option for options in choices for option in options]


class _Fields:
    """Builds the fields of one word: unquoted values are split at white space."""

    def __init__(self, machine: Machine, scope: Scope) -> None:
        self.machine, self.scope = machine, scope
        self.done: list[Arg] = []
        self.text = ""
        self.glob = self.loose = self.maybe = self.open = self.made = False

    def of(self, parts: tuple[Part, ...]) -> list[Arg]:
        for part in parts:
            if isinstance(part, Param) and self._list(part):
                continue
            text = _text(part, self.machine, self.scope)
            if isinstance(part, (Param, CommandSub)) and not part.quoted:
                self.made |= isinstance(part, CommandSub)
                self._split(text)
            else:
                self.text += text
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
        if part.quoted and "*" in (part.name, _subscript(part)):
            text = " ".join(item.text for item in items)
            self.text += unknown(text) if self.scope.ifs_changed else text
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

    def _split(self, text: str) -> None:
        if self.scope.ifs_changed and text and (self.scope.ever.letters or not text.isalnum()):
            text = unknown(text)
        # It may be no word at all.
        self.maybe |= not known(text)
        self.loose |= OPAQUE in text
        pieces = re.split(r"[ \t\n]+", text)
        for index, piece in enumerate(pieces):
            if index:
                self._close()
            self.text += piece
            self.open |= bool(piece)
            self.glob |= any(mark in piece for mark in "*?[")

    def _close(self) -> None:
        if self.open:
            loose = self.loose or (self.maybe and (self.made or not self.text.strip(_MAY_BE_EMPTY)))
            self.done.append(Arg(_cut(self.text), self.glob, loose))
        self.text = ""
        self.glob = self.loose = self.maybe = self.open = self.made = False


def _subscript(part: Param) -> str | None:
    return part.subscript.literal if part.subscript is not None else None


def _text(part: Part, machine: Machine, scope: Scope) -> str:
    if isinstance(part, Literal):
        return _safe(part.text)
    if isinstance(part, Glob):
        return part.text
    if isinstance(part, Tilde):
        return _home(part, machine, scope)
    if isinstance(part, Param):
        return _parameter(part, machine, scope)
    if isinstance(part, CommandSub):
        return _cut(machine.capture(part.script, scope).rstrip("\n"))
    if isinstance(part, ProcessSub):
        return machine.substituted(machine.capture(part.script, scope, writing=part.direction == ">"))
    if isinstance(part, Arith):
        evaluate(part, machine, scope)
        return PLAIN
    return expand_one(part.alternatives[0], machine, scope) if part.alternatives else ""


def _home(part: Tilde, machine: Machine, scope: Scope) -> str:
    if part.user in ("+", "-"):
        return scope.value("PWD" if part.user == "+" else "OLDPWD")
    if part.user:
        return "/root" if part.user == "root" else f"/home/{part.user}"
    return scope.value("HOME") if "HOME" in scope.variables else machine.around.home


def _parameter(part: Param, machine: Machine, scope: Scope) -> str:
    if part.subscript is not None and part.subscript.literal not in ("@", "*"):
        index(part.subscript, machine, scope)
    arguments = [expand_one(word, machine, scope) for word in part.arguments]
    operator = part.operator
    if operator == ":":
        for text in arguments:
            evaluated(text, machine, scope)
    if operator.startswith("!indirect") and not harmless(scope.value(part.name)):
        unsafe_arithmetic(machine)
    if operator == "@P" and not harmless(scope.value(part.name)):
        machine.findings.execute(
            f"${{{part.name}@P}}", "shell:prompt-expansion", "`@P` runs the commands that the variable's text holds"
        )
    value = _element(part, scope)
    if part.name in scope.arrays and machine.around.may_be_zsh:
        value = _in_zsh(part, scope, value)
    if not operator:
        return value
    if operator == "#length":
        return PLAIN
    if operator in (":-", "-", ":=", "=", ":+", "+", ":?", "?"):
        return _default(part.name, operator, value, arguments, scope, machine)
    return _changed(operator, value, arguments)


def index(word: Word, machine: Machine, scope: Scope) -> None:
    """Keep what the evaluation of an array's index does."""
    text = expand_one(word, machine, scope)
    if not harmless(text):
        machine.findings.execute(
            "array index", "shell:arithmetic", "an array index is evaluated, and the text in it could hold a command"
        )
    else:
        evaluated(text, machine, scope)


def evaluated(text: str, machine: Machine, scope: Scope) -> None:
    """Keep that a text is evaluated as arithmetic, in which a name stands for its value, which is evaluated too."""
    if not harmless(text.lstrip("-")):
        unsafe_arithmetic(machine)
    evaluate(Arith((Literal(text),)), machine, scope)


def _element(part: Param, scope: Scope) -> str:
    if part.subscript is None:
        if part.name in scope.arrays:
            items = scope.arrays[part.name]
            return items[0].text if items else ""
        if part.name.isdigit() and part.name != "0":
            if scope.positional is None:
                return OPAQUE
            position = int(part.name)
            return scope.positional[position - 1].text if position <= len(scope.positional) else ""
        if part.name == "@" or part.name == "*":
            return " ".join(item.text for item in scope.positional) if scope.positional is not None else OPAQUE
        return scope.value(part.name)
    items = scope.arrays.get(part.name, ())
    index = part.subscript.literal
    if index in ("@", "*") and items:
        return " ".join(item.text for item in items)
    if index is not None and index.isdigit() and int(index) < len(items):
        return items[int(index)].text
    if items and all(harmless(item.text) for item in items):
        return PLAIN
    return OPAQUE + marks_of(scope.variables.get(part.name, ""))


def _in_zsh(part: Param, scope: Scope, value: str) -> str:
    """An element of an array where zsh may run: it counts them from 1, and the bare name is all of them."""
    if part.subscript is None:
        return value if len(scope.arrays[part.name]) < 2 else OPAQUE
    index = part.subscript.literal or ""
    return OPAQUE if index.isdigit() and any(item.text != value for item in scope.arrays[part.name]) else value


def _default(name: str, operator: str, value: str, arguments: list[str], scope: Scope, machine: Machine) -> str:
    word = arguments[0] if arguments else ""
    there = name in scope.variables or name.isdigit() or name in ("@", "*")
    kind = operator[-1]
    if kind in "-=" and not there and name in _FOLDERS:
        value = _FOLDERS[name].replace("~", machine.around.home)
    elif kind in "-=":
        # Without a colon it matters whether it is empty or unset, which is not known.
        unset = there and value == "" and operator[0] == ":"
        sure = there and OPAQUE not in value and value.strip(_MAY_BE_EMPTY) != ""
        value = word if unset else (value if sure else blur(value, word))
    elif kind == "+":
        sure = there and OPAQUE not in value and value.strip(_MAY_BE_EMPTY) != ""
        value = word if sure else ("" if there and not value and operator[0] == ":" else blur("", word))
    if kind == "=":
        scope.assign(name, value)
    return value


def _changed(operator: str, value: str, arguments: list[str]) -> str:
    """``${x%y}`` and its kin."""
    if operator not in _PASSING or OPAQUE in value or any(OPAQUE in argument for argument in arguments):
        return unknown(value, *arguments)
    word = arguments[0] if arguments else ""
    if known(value + word) and not any(mark in word for mark in "*?[\\"):
        if operator in ("#", "##"):
            return value.removeprefix(word)
        if operator in ("%", "%%"):
            return value.removesuffix(word)
        if operator == "//" and word:
            return value.replace(word, arguments[1] if len(arguments) > 1 else "")
    # The rest is a part or a respelling of the value: harmless where no part of the value is more than a name.
    parts = value + "".join(arguments)
    if not re.fullmatch(r"[\w./:@+,= \x01\x02*?~%-]*", parts) or re.search(r"(^|[/ ])-", parts):
        return OPAQUE
    return ENVIRONMENT if ENVIRONMENT in parts else PLAIN


def evaluate(part: Arith, machine: Machine, scope: Scope) -> None:
    """Visit an arithmetic expression; it evaluates the text of variables again, also what stands in an index."""
    text = ""
    for inner in part.parts:
        piece = _text(inner, machine, scope)
        text += piece
        if not isinstance(inner, Literal) and not harmless(piece.lstrip("-")):
            unsafe_arithmetic(machine)
    for name in re.findall(r"[A-Za-z_]\w*", text):
        if name in scope.variables and not harmless(scope.value(name).lstrip("-")):
            unsafe_arithmetic(machine)
    for match in re.finditer(r"\b([A-Za-z_]\w*)\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)", text):
        scope.assign(match.group(1), PLAIN)
    for match in re.finditer(r"(?:\+\+|--)\s*([A-Za-z_]\w*)", text):
        scope.assign(match.group(1), PLAIN)


def unsafe_arithmetic(machine: Machine) -> None:
    """Keep that arithmetic evaluates text that is not known."""
    machine.findings.execute(
        "arithmetic",
        "shell:arithmetic",
        "arithmetic evaluates text that is not known before it runs, and an array index in it could hold a command",
    )
