"""Holds the files that one command runs and that were followed, and where in them the analysis is."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from lockgate.shell.grammar.tree import Simple

SPAN = 1 << 20
"""Positions in the first file count from here, in the second from twice this: more than a file or a text is long."""
NO_LINE = SPAN - 1
"""A position in a file that stands for no line of it."""
_MOST_COMMANDS = 1200
"""Commands of all followed files that are analysed for one command."""


class FollowedFile(Record):
    """A file that was opened."""

    name: str
    """As a person reads it: from the project's root."""
    text: str
    changed: float
    base: int
    """What positions in it count from."""
    path: str
    """Absolute."""


class FollowedFiles:
    """All files that one command runs, and where in them it is."""

    __slots__ = ("depth", "files", "left", "place", "silent", "swallowed")

    def __init__(self) -> None:
        self.files: list[FollowedFile] = []
        self.left = _MOST_COMMANDS
        """Commands that may still be analysed."""
        self.place = 0
        """The position of the command that is being followed."""
        self.depth = 0
        """How many files run one inside the other at this place."""
        self.swallowed: dict[int, Simple] = {}
        """Commands whose output is not printed, by identity."""
        self.silent = False
        """Whether the command that is being followed is one of them."""

    def enter(self, node: Simple) -> tuple[int, bool]:
        """Go to a command. Returns what `leave` needs to go back to the one around it."""
        before = (self.go_to(node.position), self.silent)
        self.silent = self.silent or id(node) in self.swallowed
        return before

    def leave(self, before: tuple[int, bool]) -> None:
        """Go back."""
        self.place, self.silent = before

    def go_to(self, position: int) -> int:
        """Go to a position, and return the one before. A position in a text that is no file's changes nothing."""
        before = self.place
        if position >= SPAN:
            self.place = position
        return before

    def where(self) -> str:
        """The file and the line, for a person."""
        number, position = divmod(self.place, SPAN)
        if not 0 < number <= len(self.files):
            return ""
        file = self.files[number - 1]
        if position == NO_LINE:
            return file.name
        return f"{file.name}:{file.text.count(chr(10), 0, position) + 1}"
