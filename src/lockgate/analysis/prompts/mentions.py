"""Files and resources that a text mentions with ``@``.

Claude Code attaches them without a tool, so no other event tells of it. The forms are those of version 2.1.329.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Label
from lockgate.resources.host_view import HostView
from lockgate.resources.paths import read_effects

_MENTION = lazy_re(r"""(?<![\w@/.])@(?:"([^"\n]+)"|([^\s"'`,;()<>]+))""")
_RESOURCE = lazy_re(r"[\w.-]+:[a-z][a-z0-9+.-]*://|[\w-]+:(?!//|\d[\d:,-]*$).", re.IGNORECASE)
"""``SERVER:URI``; what stands behind a file's name as a line of it is none, and an address of the web is none."""
_LINES = lazy_re(r"#L?\d.*")


def mention_effects_of(text: str, cwd: str, around: HostView, most: int = 200) -> tuple[Effect, ...]:
    """The effects of what a text mentions with ``@``.

    Args:
        text: The text.
        cwd: The folder that relative paths start at.
        around: The view of this machine.
        most: How many mentions are looked at.
    """
    found: dict[Effect, None] = {}
    for name in islice(find_mentions(text), most):
        if _RESOURCE.match(name):
            found[
                Effect(
                    EffectKind.INGEST,
                    name,
                    "mention:resource",
                    "the prompt attaches a resource of an MCP server, which others may have written",
                    gives=Label.UNTRUSTED,
                )
            ] = None
            continue
        path = _LINES.sub("", name).rstrip(".!?:")
        found.update(dict.fromkeys(read_effects(path, cwd, around)))
    return tuple(found)


def find_mentions(text: str) -> Iterator[str]:
    """What stands behind each ``@`` of a text, each once."""
    seen: set[str] = set()
    for match in _MENTION.finditer(text):
        name = match[1] or match[2]
        if name not in seen:
            seen.add(name)
            yield name
