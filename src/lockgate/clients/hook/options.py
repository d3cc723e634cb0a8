"""Parses a hook's command line, as an installer has written it."""

from __future__ import annotations

from collections.abc import Sequence

from lockgate.core.errors import BadInputError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.folders import Folders, folders

if TYPE_CHECKING:
    from collections.abc import Mapping

DEADLINE = 3.0
"""Seconds for everything; the client waits longer."""


class HookOptions:
    """What the command line says; each class attribute but the client is an option, and its value the default."""

    client: str = ""
    home: str = ""
    state: str = ""
    config: str = ""
    event: str = ""
    settings: str = ""
    plugin: str = ""
    remote: str = ""
    key_file: str = ""
    ca_file: str = ""
    asked: float = 0.0
    """Seconds in which the native client has asked a gate already, which gave no answer; then this process decides."""
    missed: float = 0.0
    """Seconds in which the native client has looked for a gate, which was not there or has ended."""
    forged: str = ""
    """``yes`` where what the native client has asked did not prove that it is the gate."""
    deadline: float = DEADLINE

    def where(self, environ: Mapping[str, str]) -> Folders:
        """The folders: those of the command line, or of an environment where it does not name all."""
        if self.home and self.state and self.config:
            return Folders(self.home, self.state, self.config)
        return folders(environ)


def parse(arguments: Sequence[str]) -> HookOptions:
    """Read a command line: the client's name, then options.

    Raises:
        BadInputError: It has an unknown option, or one without its value.
    """
    options = HookOptions()
    rest = list(arguments)
    if rest and not rest[0].startswith("-"):
        options.client = rest.pop(0)
    while rest:
        name, given, value = rest.pop(0).partition("=")
        field = name.removeprefix("--").replace("-", "_")
        if not name.startswith("--") or field not in HookOptions.__annotations__ or field == "client":
            raise BadInputError(f"unknown argument {name!r}")
        if not given:
            if not rest:
                raise BadInputError(f"{name} needs a value")
            value = rest.pop(0)
        read = _READERS.get(field)
        setattr(options, field, read(value) if read else value)
    return options


def read_announced_event(arguments: Sequence[str]) -> str | None:
    """The event that a command line names, read before anything can fail."""
    for index, argument in enumerate(arguments):
        if argument == "--event" and index + 1 < len(arguments):
            return arguments[index + 1]
        if argument.startswith("--event="):
            return argument.partition("=")[2]
    return None


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0.05 <= seconds <= 600:
        raise BadInputError(f"--deadline must be between 0.05 and 600 seconds, not {value!r}")
    return seconds


def _spent(value: str) -> float:
    if not (value.isascii() and value.isdigit() and len(value) <= 10):
        raise BadInputError(f"--asked and --missed must be a number of milliseconds, not {value!r}")
    return int(value) / 1000


_READERS = {"deadline": _seconds, "asked": _spent, "missed": _spent}
"""The options that are no text."""
