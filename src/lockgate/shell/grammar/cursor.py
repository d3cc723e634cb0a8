"""Holds the reader's place in a text and its limits, and refuses what cannot be read."""

from __future__ import annotations

from collections.abc import Callable

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn

    from lockgate.shell.grammar.tree import Param, Script

MAX_LENGTH = 65_536
"""Longest text, in characters."""
MAX_DEPTH = 48
"""Deepest nesting of substitutions and compound commands."""
MAX_REREAD = 4 * MAX_LENGTH
"""How many characters of here-documents and backquotes may be read again, over all levels of nesting."""
MAX_ELEMENTS = 1_024
"""How many elements of sequences like ``{1..99}`` a tree may hold."""

END = "\0"
"""Stands after the last character. The text itself never holds one."""

_OPERATOR_CHARACTERS = frozenset("|&;<>()")


class Refused(Exception):  # noqa: N818 - it is an outcome and no error; `read` turns it into `Unparsed`
    """The text is not in the subset that is read exactly. Never leaves the reader."""

    def __init__(self, reason: str, position: int, hint: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.hint = hint


class RecursiveRules:
    """The two rules that rules below them need: the grammar is recursive, the imports are not."""

    __slots__ = ("parameter", "script")

    def __init__(
        self,
        script: Callable[[Cursor, frozenset[str]], Script],
        parameter: Callable[[Cursor, bool], Param],
    ) -> None:
        self.script = script
        """Reads commands up to one of the closing tokens, which it leaves unread."""
        self.parameter = parameter
        """Reads ``${...}`` from its dollar sign on; the flag tells whether it stands in double quotes."""


class CursorLimits:
    """What all cursors over one text share."""

    __slots__ = ("arithmetic", "bodies", "depth", "elements", "reread", "substitutions")

    def __init__(self) -> None:
        self.depth = 0
        self.arithmetic = 0
        """How many arithmetic expressions and subscripts the cursor stands in."""
        self.bodies = 0
        """How many here-documents were read."""
        self.substitutions = 0
        """How many command substitutions the cursor stands in."""
        self.reread = MAX_REREAD
        self.elements = MAX_ELEMENTS


class Cursor:
    """A text and the place in it that has been read so far."""

    __slots__ = ("base", "bodies_end", "body_line", "joint", "limits", "pos", "posix", "rules", "text")

    def __init__(self, text: str, rules: RecursiveRules, posix: bool, limits: CursorLimits, base: int = 0) -> None:
        self.text = text + END
        self.pos = 0
        self.rules = rules
        self.posix = posix
        """Whether only what POSIX shells read in the same way is accepted."""
        self.limits = limits
        self.base = base
        self.body_line = -1
        """Where the line ends after which here-document bodies stand, or -1."""
        self.bodies_end = -1
        """Where those bodies end."""
        self.joint = False
        """Whether a reserved word may follow the last command with no separator between."""

    def refuse(self, reason: str, hint: str = "", at: int | None = None) -> NoReturn:
        """Give up: the text cannot be read exactly."""
        raise Refused(reason, self.base + (self.pos if at is None else at), hint)

    def refuse_outside_bash(self, what: str, hint: str = "") -> None:
        """Refuse what a POSIX shell would read differently."""
        if self.posix:
            self.refuse(f"{what} is not read by every `sh`", hint or "run it with bash, or write it in POSIX syntax")

    def refuse_in_arithmetic(self, what: str) -> None:
        """Refuse what bash loses track of inside an arithmetic expression or a subscript."""
        if self.limits.arithmetic:
            self.refuse(f"{what} inside an arithmetic expression or subscript", "put the result into a variable first")

    def spend(self, length: int) -> None:
        """Account for that many characters that are looked at once more."""
        self.limits.reread -= length
        if self.limits.reread < 0:
            self.refuse("nested substitutions are too long", "write the commands one by one")

    def inner(self, text: str) -> Cursor:
        """A cursor over text that was taken out of this one: a here-document's body, the inside of backquotes."""
        self.spend(len(text))
        return Cursor(text, self.rules, self.posix, self.limits, self.base + self.pos)

    def enter_level(self) -> None:
        """Enter one level of nesting; ``limits.depth`` is lowered again by who leaves it."""
        self.limits.depth += 1
        if self.limits.depth > MAX_DEPTH:
            self.refuse(f"nested more than {MAX_DEPTH} levels deep", "write the commands one by one")

    def skip_blanks(self) -> None:
        """Skip spaces, tabs and line continuations between words."""
        text = self.text
        pos = self.pos
        while True:
            character = text[pos]
            if character == " " or character == "\t":
                pos += 1
            elif character == "\\" and text[pos + 1] == "\n":
                follower = text[pos + 2]
                if text[pos - 1] in _OPERATOR_CHARACTERS and (follower in _OPERATOR_CHARACTERS or follower == "\\"):
                    self.refuse("line continuation inside an operator", "write the command on one line", at=pos)
                pos += 2
            else:
                self.pos = pos
                return

    def take(self, token: str, reason: str) -> None:
        """Step over a token that must stand here."""
        if not self.text.startswith(token, self.pos):
            self.refuse(reason)
        self.pos += len(token)
