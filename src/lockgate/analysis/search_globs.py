"""Expands the patterns of a search tool's ``glob``, and describes what reading their files means."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Label
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.host_view import HostView
from lockgate.resources.paths import read_effects

if TYPE_CHECKING:
    import re

_BRACES = lazy_re(r"\{([^{}]*)\}")
"""Braces with no others in them."""
_LITERAL = lazy_re(r"(?s)\\(.)|\[[!^]?\]?[^\]]*\]")
"""What ripgrep takes for letters: one behind a backslash, and a class, in which braces and commas mean themselves."""
_MARKS = frozenset("{},\\")
_MOST = 256
"""Patterns of one text that are looked at."""


def glob_effects(glob: str, root: str, cwd: str, around: HostView) -> tuple[Effect, ...]:
    """Effects of reading the files below a folder that a glob picks.

    Args:
        glob: What the tool is given.
        root: The folder that is searched.
        cwd: The folder that relative paths start at.
        around: The view of this machine.
    """
    patterns = _patterns(glob)
    if patterns is None:
        because = "its glob stands for more patterns than are looked at, and any file can be one of theirs"
        return (
            Effect(EffectKind.READ_SECRET, root, "tool:many-patterns", because, gives=Label.SECRET),
            Effect(EffectKind.INGEST, root, "tool:many-patterns", because, gives=Label.UNTRUSTED),
        )
    picked = [pattern for pattern in patterns if not pattern.startswith("!")]
    return tuple(effect for each in picked for effect in read_effects(f"{root}/**/{each.lstrip('/')}", cwd, around))


def _patterns(glob: str) -> list[str] | None:
    """The patterns that the client makes of one text: parts between spaces, and without braces also between commas.

    ``None`` where they are too many.
    """
    if glob.count("{") > _MOST:
        return None
    words = glob.split()
    parts = [part for word in words for part in ([word] if "{" in word else word.split(",")) if part]
    todo = [_LITERAL.sub(_read, part) for part in parts]
    done: dict[str, None] = {}
    while todo:
        pattern = todo.pop()
        braces = _BRACES.search(pattern)
        choices = braces[1].split(",") if braces else []
        if len(done) + len(todo) + len(choices) > _MOST:
            return None
        if braces is None:
            done[pattern] = None
            continue
        head, tail = pattern[: braces.start()], pattern[braces.end() :]
        todo += dict.fromkeys(f"{head}{choice}{tail}" for choice in choices)
    return list(done)


def _read(match: re.Match[str]) -> str:
    """A letter that is written as an escape or a class, without marks that would be taken for others."""
    text: str = match[1] or match[0]
    return text if _MARKS.isdisjoint(text) and text not in "*?[]!" else "?"
