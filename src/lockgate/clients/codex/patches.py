"""A command of Codex that its shell never sees: ``apply_patch`` with a here-document, which Codex carries out itself.

A hook is told it as a command. Contained, it would be another command, and no shell has such a program. Codex takes a
script for a patch if it is this one statement, with ``cd FOLDER &&`` before it at most. It refuses a patch that it
cannot read: ``codex-rs/apply-patch/src/invocation.rs``. What is read here is a part of that, quoted word for word.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import Record

_STATEMENT = lazy_re(
    r"(?:cd (?P<folder>[\w./+@-]+) && )?apply_patch <<(?P<quote>['\"])(?P<mark>\w+)(?P=quote)\n"
    r"(?P<patch>\*\*\* Begin Patch\n[^\0\r]*\n\*\*\* End Patch)\n(?P=mark)\n?"
)


class Patch(Record):
    """What Codex changes by itself."""

    text: str
    folder: str
    """Where the patch's names begin, from the command's folder; empty for that folder."""


def patch_in(command: str) -> Patch | None:
    """The patch that a command is; ``None`` where a shell runs it."""
    found = _STATEMENT.fullmatch(command)
    # The shell's text ends at the first such line, and what follows would be commands.
    if found is None or found["mark"] in found["patch"].split("\n"):
        return None
    return Patch(found["patch"], found["folder"] or "")
