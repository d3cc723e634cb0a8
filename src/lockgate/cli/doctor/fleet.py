"""What ``lockgate doctor`` says of the policy of a fleet."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Literal

from lockgate.configuration.bundles.fleet import Fleet, look
from lockgate.configuration.bundles.keys import NOT_INSTALLED
from lockgate.configuration.layers.files import joined
from lockgate.core.errors import StoreError
from lockgate.store.opening import open_existing
from lockgate.system.libraries import installed

Found = tuple[Literal["ok", "warn", "fail"], str, str]
"""How it is, what was seen, and how to mend it."""
_MEND = "see docs/fleet-policy.md, and run: lockgate policy status"


def fleet(state: str) -> Iterator[Found]:
    """Whether the fleet's policy is in force. Nothing is said of a machine that belongs to no fleet.

    Args:
        state: The state folder.
    """
    if not joined(state):
        return
    try:
        found = _look(state)
    except StoreError:
        return  # the state has a check of its own
    if found is None:
        return
    current = found.current
    if not installed("cryptography"):
        yield "fail", NOT_INSTALLED, "until then no new policy can be verified"
    for problem in found.problems:
        yield ("fail" if current is None else "warn"), str(problem), _MEND
    if current is not None and not found.problems:
        who = "the administrator's keys" if found.pins and found.pins.managed else "keys that this user has pinned"
        yield "ok", f"{current.fleet}/{current.serial} is in force and binds, by {who}", ""


def _look(state: str) -> Fleet | None:
    store = open_existing(state)
    if store is None:
        return look(state, time.time())
    try:
        return look(state, store.clock(), store=store)
    finally:
        store.close()
