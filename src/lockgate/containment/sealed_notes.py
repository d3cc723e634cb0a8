"""Seals of small files in the state folder, with the key of this installation: nobody believes one without a seal."""

from __future__ import annotations

import os

from lockgate.system.digests import blake2b
from lockgate.system.files import read_regular

HOST = b"lockgate host 1"
"""For what was found out about this host."""
INSTALL = b"lockgate inst 1"
"""For what an install may ask package indexes for."""
_KEY, _MOST = "key", 64


def seal_of(state: str, purpose: bytes, text: str) -> str:
    """A keyed hash of a text for one purpose; empty where there is no key yet."""
    try:
        key = read_regular(os.path.join(state, _KEY), _MOST, follow=False)
    except OSError:
        return ""
    return blake2b(text.encode(), key=key, person=purpose, digest_size=32).hexdigest() if key else ""
