"""An object of a service that a call reads, and how the words of a command name it."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal

    ObjectPart = Literal["", "talk", "diff"]
    """What of an object is read beside its own text: what was said about it, or what it changes."""
    Service = Literal["github", "gitlab"]


HOST_PATTERN = r"([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)"
"""The name of a service's host in an address."""


class ServiceObject(Record):
    """An issue or a pull request of a repository, or the newest of them or of its commits."""

    host: str
    """In lower case."""
    owner: str
    repository: str
    kind: str
    """``issues``, ``pulls``, ``merge_requests``, ``commits`` or ``contents``, as the paths of the API have it."""
    number: int = 0
    """0 for the list of them."""
    part: ObjectPart = ""
    service: Service = "github"
    which: str = ""
    """The id of one commit, or the path of one file; empty for the newest commits."""
    ref: str = ""
    """The branch, tag or commit in which a file is read; empty for the default branch."""

    @property
    def name(self) -> str:
        """Its name in the audit, and in the store."""
        number = f"/{self.number}" if self.number else ""
        part = f" ({self.part})" if self.part else ""
        kind = f"-/{self.kind}" if self.service == "gitlab" else self.kind
        which = f"/{self.which}" * bool(self.which) + f"?ref={self.ref}" * bool(self.ref)  # a file's name has its case
        return f"{self.host}/{self.owner}/{self.repository}/{kind}{number}{part}".lower() + which


def split_options(
    words: Sequence[str], values: frozenset[str], flags: frozenset[str]
) -> tuple[dict[str, str], list[str]] | None:
    """Options and operands; ``None`` where an option is none of those, stands twice, or has no value."""
    options: dict[str, str] = {}
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        name, is_joined, value = word.partition("=")
        if not word.startswith("-"):
            operands.append(word)
            continue
        if word in flags:
            name = word
        elif name in values and (is_joined and name.startswith("--")):
            pass
        elif word in values:
            value = next(rest, "\0")
        else:
            return None
        if name in options or value == "\0":
            return None
        options[name] = value
    return options, operands


def only_push_address(folder: str, repository: Callable[[str], Any]) -> tuple[str, ...]:
    """The addresses to which the repository of a folder pushes; none where that is not known."""
    at = repository(folder) if folder else None
    return tuple((at.pushes_to("") if at is not None else None) or ())
