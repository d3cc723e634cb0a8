"""What this machine notes of the central record of heads: the last anchor that it had made.

It lies outside of the database, so that whoever can rewrite all anchors there contradicts it.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from lockgate.store.rows import AnchorRow
from lockgate.system.files import read_regular, replace

NOTES = "anchor.json"
"""The file in the state folder."""
_MOST = 10_000


def note(path: str, anchor: AnchorRow) -> None:
    """Note an anchor, unless a later one is noted already. What cannot be written is left: the next one follows."""
    before = read_noted(path)
    if before is None or before.n < anchor.n:
        with suppress(OSError):
            replace(path, json.dumps(anchor._asdict()).encode(), draft=f"{path}.{os.urandom(6).hex()}")


def read_noted(path: str) -> AnchorRow | None:
    """The anchor that was noted last; ``None`` where there is none, or it cannot be read."""
    try:
        found = json.loads(read_regular(path, _MOST, follow=False))
    except (OSError, ValueError):
        return None
    match found:
        case {
            "n": int(n),
            "at_us": int(at_us),
            "gate": str(gate),
            "seq": int(seq),
            "head": str(head),
            "previous": str(previous),
            "digest": str(digest),
        }:
            return AnchorRow(n, at_us, gate, seq, head, previous, digest)
    return None
