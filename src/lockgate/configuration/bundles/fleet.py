"""Finds the fleet's policy that is in force on this machine.

Where nothing has changed since the last look, that is read from two small files, and no signature is verified. Whatever
goes wrong, the last bundle that was accepted stays in force; where there is none, nothing but local work is allowed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from lockgate.configuration.bundles import manifest
from lockgate.configuration.bundles.accepted import Accepted, Current, bundle_folder, read_accepted, read_envelope
from lockgate.configuration.bundles.envelope import from_base64
from lockgate.configuration.bundles.pins import Pins, pins_of
from lockgate.configuration.bundles.sources import FileSource, StoreSource
from lockgate.configuration.bundles.update import News, UpdateResult, take
from lockgate.configuration.layers.files import digest_of
from lockgate.core.errors import BundleError, ConfigError
from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.audit.record import event_record

if TYPE_CHECKING:
    from lockgate.configuration.bundles.protocol import BundleSource
    from lockgate.store.protocol import Store

_WAIT = 0.5
"""Seconds that a look waits for another process that is accepting a bundle. It decides by the same one without it."""

_LOCKED = "until then every call is denied that does more than local work"


class Fleet(Record):
    """The fleet policy that is in force."""

    name: str
    """The fleet; empty where the pins cannot be read and nothing was accepted yet."""
    pins: Pins | None
    current: Current | None
    """The bundle in force; ``None``: nothing but local work is allowed."""
    problems: tuple[ConfigError, ...]
    """What is wrong: a bundle that was refused, one that has expired, pins that cannot be used."""
    state: str
    """The state folder."""
    unkept: Mapping[str, bytes] = {}
    """Bundles that were accepted just now and could not be kept, by the hash of their payload."""
    highest: Mapping[str, int] = {}
    """By fleet: the highest serial that this machine has ever accepted."""

    @property
    def digest(self) -> str:
        """Changes with all that this comes to."""
        return self.current.digest if self.current else "none"

    def files(self) -> Mapping[str, bytes]:
        """The policy files in force, by name.

        Raises:
            BundleError: What was accepted is not there any more, or was changed.
        """
        if self.current is None:
            return {}
        data = self.unkept.get(self.current.digest) or read_envelope(self.state, self.current.digest)
        return manifest.files_of(_payload(data, self.current.digest))


def _payload(data: bytes, digest: str) -> bytes:
    """The payload that was verified, known by its hash: whatever else the file says by now does not matter."""
    try:
        payload = from_base64(json.loads(data)["payload"], "payload")
    except (BundleError, ValueError, TypeError, KeyError, RecursionError):
        payload = b""
    if digest_of(payload) != digest:
        raise BundleError("the bundle in force was changed on the disk; install it again")
    return payload


def look(
    state: str,
    now: float,
    *,
    tell: Callable[[Sequence[News]], None] | None = None,
    store: Store | None = None,
) -> Fleet | None:
    """The fleet's policy now, ``None`` where this machine belongs to no fleet.

    Args:
        state: The state folder.
        now: The time, in seconds since the epoch.
        tell: Writes down what has happened, before it is kept. Without it nothing is kept either, and a bundle that has
            just come holds for this look alone.
        store: Where bundles come from beside the file that the pins name.

    Raises:
        StoreError: The store cannot be read, or the audit not be written.
    """
    pins = pins_of(state)
    try:
        accepted, broken = read_accepted(state), ""
    except BundleError as error:
        accepted, broken = Accepted(), str(error)
    if pins is None and accepted.current is None and not broken:
        return None
    if pins is None or pins.problem or broken:
        return _keep_last_bundle(state, pins, accepted, broken, now)
    sources = _sources(pins, store)
    step = take(state, pins, accepted, sources, now)
    unkept: Mapping[str, bytes] = step.envelopes
    if step.accepted != accepted and tell is not None:
        step, unkept = _keep(state, pins, sources, now, tell, step)
    return _fleet(state, pins, step.accepted, now, unkept)


def _sources(pins: Pins, store: Store | None) -> list[BundleSource]:
    found: list[BundleSource] = [FileSource(pins.source)] if pins.source else []
    if store is not None:
        found.append(StoreSource(store, pins.fleet))
    return found


def _keep(
    state: str,
    pins: Pins,
    sources: Sequence[BundleSource],
    now: float,
    tell: Callable[[Sequence[News]], None],
    step: UpdateResult,
) -> tuple[UpdateResult, Mapping[str, bytes]]:
    """Keep what has changed. Where that cannot be, it holds for this look alone."""
    from lockgate.configuration.bundles import storage

    try:
        with storage.hold_lock(state, _WAIT) as alone:
            if not alone:
                return step, step.envelopes
            accepted = read_accepted(state)  # another process may have been faster
            step = take(state, pins, accepted, sources, now)
            if step.accepted != accepted:
                tell(step.news)
                storage.write(state, step.accepted, step.envelopes)
    except (OSError, BundleError):
        return step, step.envelopes
    return step, {}


def _fleet(state: str, pins: Pins, accepted: Accepted, now: float, unkept: Mapping[str, bytes]) -> Fleet:
    current = accepted.current
    found = [ConfigError(source, 0, "", f"refused: {each.problem}") for source, each in accepted.looked.items()]
    found = [problem for problem, each in zip(found, accepted.looked.values(), strict=True) if each.problem]
    if current is None:
        text = f"no valid policy of the fleet {pins.fleet} has come yet: {_LOCKED}"
        found.append(ConfigError(pins.path, 0, "", text))
    elif current.pins != pins.digest:
        text = "the policy in force cannot be verified with the keys that are pinned now; run: lockgate policy status"
        found.append(ConfigError(pins.path, 0, "", text))
    return Fleet(pins.fleet, pins, current, (*found, *_expiry_errors(accepted, now)), state, unkept, _highest(accepted))


def _keep_last_bundle(state: str, pins: Pins | None, accepted: Accepted, broken: str, now: float) -> Fleet:
    """What holds where nothing can be accepted: the last bundle, and the reason."""
    current = accepted.current
    found = []
    if pins is None:
        where = current.fleet if current else "a fleet"
        text = f"the keys of {where} are gone, and its policy stays in force; to leave it: lockgate policy unpin --all"
        found.append(ConfigError(bundle_folder(state), 0, "", text))
    elif pins.problem:
        found.append(ConfigError(pins.path, 0, "", pins.problem))
    if broken:
        found.append(ConfigError(bundle_folder(state), 0, "", broken))
    if current is None:
        found.append(ConfigError(bundle_folder(state), 0, "", _LOCKED))
    named = current or pins
    return Fleet(
        named.fleet if named else "",
        pins,
        current,
        (*found, *_expiry_errors(accepted, now)),
        state,
        highest=_highest(accepted),
    )


def _highest(accepted: Accepted) -> dict[str, int]:
    return {fleet: serial for fleet, (serial, _) in accepted.highest.items()}


def _expiry_errors(accepted: Accepted, now: float) -> tuple[ConfigError, ...]:
    current = accepted.current
    if current is None or not current.expires or max(now, accepted.clock) < current.expires:
        return ()
    when = manifest.format_time(current.expires)
    text = f"the policy {current.fleet}/{current.serial} expired at {when}; it stays in force until a newer one comes"
    if now < current.expires:
        told = manifest.format_time(accepted.clock)
        text += f"; this machine's clock has told {told} before: it was ahead then, or is behind now"
    return (ConfigError(current.source, 0, "", text),)


def audit_writer(store: Store, by: str) -> Callable[[Sequence[News]], None]:
    """A function that appends what has happened to the audit, and raises ``StoreError`` where that cannot be.

    Args:
        store: Keeps the audit.
        by: Who does it: ``gate``, or ``cli`` for a person.
    """

    def tell(news: Sequence[News]) -> None:
        if not news:
            return
        with store.transaction() as tx:
            for each in news:
                tx.append_audit(store.clock(), event_record(Context(by, Subject("")), each.event, each.facts))

    return tell
