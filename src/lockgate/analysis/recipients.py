"""Whom a message of an agent reaches."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind

_ELSEWHERE = lazy_re(r"^(?:bridge|did):|^(?:session|cse)_|\[(?:session|cse)_[\w-]+\]$", re.IGNORECASE)


def reached(recipient: str) -> tuple[Effect, ...]:
    """The effect of a message to a session of the same account that runs on another machine or in the cloud.

    Claude Code 2.1.329 takes its address, its id, and its name with the id in brackets. A name alone may be that of
    anybody, and mostly is that of an agent of this session.

    Args:
        recipient: To whom the message goes, in the client's words.
    """
    if not _ELSEWHERE.search(recipient.strip()):
        return ()
    because = "the message reaches a session on another machine or in the cloud"
    return (Effect(EffectKind.EGRESS, recipient, "tool:message", because),)
