"""The patterns that the ``glob`` of a search tool stands for, and what it means to read what they pick."""

from __future__ import annotations

from lockgate.analysis.paths import read_effects
from lockgate.analysis.surroundings import Surroundings
from lockgate.lazy import lazy_re
from lockgate.model import Effect, EffectKind, Label

_BRACES = lazy_re(r"\{([^{}]*)\}")
"""Braces with no others in them."""
_MOST = 256
"""Patterns of one text that are looked at."""


def picked_effects(glob: str, root: str, cwd: str, around: Surroundings) -> tuple[Effect, ...]:
    """Effects of reading the files below a folder that a glob picks.

    Args:
        glob: What the tool is given.
        root: The folder that is searched.
        cwd: The folder that relative paths start at.
        around: The surroundings.
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
    todo = [part for word in words for part in ([word] if "{" in word else word.split(",")) if part]
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
