"""Identifies the code of a program of this package. A hook sends it, and the gate compares it with its own.

A digest of all the code would take longer than the hook does. So it is told by the facts that the system keeps of two
files: the program's own, and ``build``, which no two builds have in common. The time of the last change of a file's
facts is one of them: nobody can set it, and an upgrade that keeps sizes and times changes it all the same.

``clients/hook/ask_resident.py`` and ``native/request.c`` tell the same in the same words, and import nothing for it.
"""

from __future__ import annotations

import os

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

BUILD = "build"
"""The file of the package that says which build it is; see :mod:`lockgate.core.version`."""
_FACTS = 5
_ALL = (1 << 64) - 1
_MOST = 64
"""Things told that are remembered."""


def code_of(program: str) -> str:
    """What a program tells of the code beside it: the facts of two files, then its own path.

    Raises:
        OSError: There is no such program.
    """
    found = os.stat(program)
    try:
        build: os.stat_result | None = os.stat(os.path.join(os.path.dirname(program), BUILD))
    except OSError:
        build = None
    return f"{_facts(found)} {_facts(build) if build else ' '.join('0' * _FACTS)} {program}"


class OwnCode:
    """The code that a gate has loaded, by the programs that may ask it."""

    def __init__(self, programs: Iterable[str]) -> None:
        """Look at them. To be made before anything else is loaded.

        Args:
            programs: Absolute paths.
        """
        self.told = {name: code_of(name) for name in programs if os.path.exists(name)}
        self._same: dict[str, bool] = dict.fromkeys(self.told.values(), True)

    @property
    def hook(self) -> str:
        """What the first of the programs tells."""
        return next(iter(self.told.values()), "")

    def is_told_by(self, code: str) -> bool | None:
        """Whether a program that tells this is of the same code; ``None`` where no program tells such a thing."""
        found = self._same.get(code)
        if found is None:
            *facts, program = code.split(" ", 2 * _FACTS)
            if len(facts) != 2 * _FACTS or not program.startswith("/") or not all(map(str.isdigit, facts)):
                return None
            found = any(self._is(facts, program, own) for own in self.told)
            if len(self._same) < _MOST:
                self._same[code] = found
        return found

    def _is(self, facts: list[str], program: str, own: str) -> bool:
        """Whether it is this very program, by whichever spelling of its path."""
        known = self.told[own].split(" ", 2 * _FACTS)[:-1]
        return facts == known and os.path.realpath(program) == os.path.realpath(own)


def _facts(found: os.stat_result) -> str:
    numbers = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return " ".join(str(number & _ALL) for number in numbers)
