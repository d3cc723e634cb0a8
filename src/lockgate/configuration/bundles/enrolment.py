"""A person's acts on a fleet: installing a bundle by hand, pinning keys, leaving."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from lockgate.configuration.bundles import storage
from lockgate.configuration.bundles.acceptance import check_acceptance
from lockgate.configuration.bundles.accepted import Accepted, Current, bundle_folder, read_accepted
from lockgate.configuration.bundles.keys import PublicKey
from lockgate.configuration.bundles.pins import Pins, encode, own_path, pins_of
from lockgate.configuration.bundles.update import News, accept_bundle
from lockgate.core.errors import BundleError

_WAIT = 5.0
Tell = Callable[[Sequence[News]], None]
"""Writes down what has happened, before it is kept."""
PINNED, UNPINNED = "policy-pinned", "policy-unpinned"
"""Events of the audit."""


def install(state: str, data: bytes, now: float, source: str, tell: Tell) -> Current:
    """Put a bundle in force on this machine.

    Args:
        state: The state folder.
        data: The bundle's file.
        now: The time, in seconds since the epoch.
        source: Where it comes from.
        tell: Writes the act down.

    Raises:
        BundleError: It is refused, or cannot be kept; what was in force still is.
        StoreError: The folder is not this user's own, or the audit cannot be written.
    """
    pins = pins_of(state)
    if pins is None:
        raise BundleError(
            "no key is pinned on this machine; run: lockgate policy pin --fleet NAME 'ssh-ed25519 AAAA...'"
        )
    if pins.problem:
        raise BundleError(f"{pins.path}: {pins.problem}")
    with _alone(state):
        accepted = _read_or_renew(state)
        news: list[News] = []
        envelopes: dict[str, bytes] = {}
        accepted = accept_bundle(data, pins, accepted, now, source, news, envelopes)
        assert accepted.current is not None
        tell(news)
        storage.write(state, accepted, envelopes or {accepted.current.digest: data})
        return accepted.current


def would_take(state: str, pins: Pins, data: bytes, now: float, source: str) -> Current:
    """What would be in force on this machine if a bundle was installed. Changes nothing.

    Raises:
        BundleError: It would be refused; the message says why.
    """
    return check_acceptance(data, pins, read_accepted(state), now, source)


def pin(state: str, fleet: str, keys: Sequence[PublicKey], source: str, tell: Tell) -> None:
    """Write which keys this user's gate takes a fleet's policy by.

    Raises:
        BundleError: It cannot be kept.
        StoreError: The folder is not this user's own, or the audit cannot be written.
    """
    with _alone(state):
        tell([News(PINNED, {"fleet": fleet, "keys": [key.id for key in keys], "source": source})])
        storage.put(own_path(state), encode(fleet, tuple(keys), source))


def leave(state: str, tell: Tell) -> None:
    """Forget the fleet: its keys, and the policy that is in force. The highest serials stay known.

    Raises:
        BundleError: It cannot be kept.
        StoreError: The folder is not this user's own, or the audit cannot be written.
    """
    with _alone(state):
        accepted = _read_or_renew(state)
        fleet = accepted.current.fleet if accepted.current else ""
        tell([News(UNPINNED, {"fleet": fleet})])
        storage.write(state, accepted._replace(current=None, looked={}), {})
        if os.path.lexists(own_path(state)):
            os.unlink(own_path(state))


def _read_or_renew(state: str) -> Accepted:
    """What was accepted so far; nothing where that is damaged: a person puts it right."""
    try:
        return read_accepted(state)
    except BundleError:
        return Accepted()


@contextmanager
def _alone(state: str) -> Iterator[None]:
    try:
        with storage.hold_lock(state, _WAIT) as alone:
            if not alone:
                raise BundleError("another process is accepting a policy: try again")
            yield
    except OSError as error:
        raise BundleError(f"{bundle_folder(state)} cannot be written: {error.strerror}") from error
