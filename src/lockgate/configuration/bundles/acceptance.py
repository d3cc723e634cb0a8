"""Checks whether a bundle is accepted: its signature, fleet, time, and serial.

Nothing of a bundle is believed, or even read, before a pinned key has vouched for its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lockgate.configuration.bundles import envelope, manifest
from lockgate.configuration.bundles.accepted import Accepted, Current
from lockgate.configuration.bundles.envelope import Envelope
from lockgate.configuration.bundles.keys import PublicKey, verifies
from lockgate.configuration.bundles.manifest import CONFIGURATION, LOCKBOX, PATTERNS, Bundle
from lockgate.configuration.bundles.pins import Pins
from lockgate.configuration.layers.files import digest_of
from lockgate.core.display_text import visible
from lockgate.core.errors import BundleError, ConfigError
from lockgate.core.record import Record
from lockgate.system.libraries import library

CLOCKS_DIFFER = 86_400.0
"""Seconds by which the clock of whoever built a bundle may be ahead."""


class NotYetError(BundleError):
    """A bundle is refused for now: the same one may be accepted later."""


class OldError(BundleError):
    """A bundle is refused because a newer one was accepted before."""


class Verified(Record):
    """A bundle that a key has vouched for."""

    bundle: Bundle
    digest: str
    """SHA-256 of its payload, hexadecimal."""
    key: PublicKey


def verify_signed(data: bytes, keys: Sequence[PublicKey]) -> Verified:
    """Read a bundle that one of these keys has signed.

    Raises:
        BundleError: None has, or it is no bundle.
    """
    found = envelope.decode(data)
    key = signer(found, keys)
    if key is None:
        raise BundleError("no pinned key has signed it" if found.signatures else "it is not signed")
    return Verified(manifest.decode(found.payload), digest_of(found.payload), key)


def signer(found: Envelope, keys: Sequence[PublicKey]) -> PublicKey | None:
    """The first of these keys that has signed an envelope.

    Raises:
        MissingLibraryError: The library is not installed.
    """
    message = found.signed
    return next((key for key in keys if any(verifies(key, each.value, message) for each in found.signatures)), None)


def check_acceptance(data: bytes, pins: Pins, accepted: Accepted, now: float, source: str) -> Current:
    """What would be in force if this bundle was taken now.

    Args:
        data: The bundle's file.
        pins: What this machine takes a bundle by.
        accepted: What it has accepted before.
        now: The time, in seconds since the epoch.
        source: Where the bundle comes from.

    Raises:
        BundleError: It is refused; the message says why.
        NotYetError: It is refused for now.
    """
    verified = verify_signed(data, pins.keys)
    bundle, digest = verified.bundle, verified.digest
    if bundle.fleet != pins.fleet:
        raise BundleError(f"it is for the fleet {bundle.fleet}, and this machine belongs to {pins.fleet}")
    _refuse_old(bundle, digest, accepted)
    in_force = accepted.current is not None and accepted.current.digest == digest
    if not in_force:
        # Not by when this machine has seen it expire: its clock may have been ahead. A serial only goes up.
        _refuse_time(bundle, accepted.current.created if accepted.current else 0.0, now)
        _refuse_invalid(bundle)
    return Current(
        fleet=bundle.fleet,
        serial=bundle.serial,
        digest=digest,
        created=bundle.created,
        expires=bundle.expires,
        files=manifest.digests(bundle),
        key=verified.key.id,
        pins=pins.digest,
        at=now,
        source=source,
    )


def _refuse_old(bundle: Bundle, digest: str, accepted: Accepted) -> None:
    serial, known = accepted.highest.get(bundle.fleet, (0, ""))
    if bundle.serial < serial:
        raise OldError(f"it is old: its serial is {bundle.serial}, and {serial} was accepted before")
    if bundle.serial == serial and digest != known:
        raise BundleError(f"its serial {serial} was accepted before, with another content")


def _refuse_time(bundle: Bundle, clock: float, now: float) -> None:
    if bundle.created > now + CLOCKS_DIFFER:
        raise NotYetError(
            f"it is from the future ({manifest.format_time(bundle.created)}): is this machine's clock right?"
        )
    if bundle.expires and bundle.expires <= max(now, clock):
        raise NotYetError(f"it expired at {manifest.format_time(bundle.expires)}")  # or the clock is ahead


def _refuse_invalid(bundle: Bundle) -> None:
    found = problems(bundle)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise BundleError(f"its policy is not valid: {visible(str(found[0]), 300)}{more}")


def problems(bundle: Bundle) -> list[ConfigError]:
    """Everything that is wrong with the policy files, each with its file, line and key, by the readers of a gate."""
    for name in ("yaml", "jsonschema", "regex"):
        library(name)
    return [*_configuration(bundle), *_patterns(bundle)]


def _configuration(bundle: Bundle) -> Iterator[ConfigError]:
    from lockgate.policy.validation import parse

    for name in (LOCKBOX, CONFIGURATION):
        if name not in bundle.files:
            continue
        parsed = parse(bundle.files[name], name)
        yield from parsed.problems
        for plugin in (parsed.value or {}).get("plugins", ()):
            if ("/" in plugin or plugin.endswith(".py")) and not plugin.startswith(("/", "~")):
                # It would be looked for beside a file that is in no folder.
                yield ConfigError(name, 0, "plugins", f"{plugin!r} must be an absolute path, or an entry point's name")


def _patterns(bundle: Bundle) -> Iterator[ConfigError]:
    if PATTERNS in bundle.files:
        from lockgate.patterns.library.loading import load, real_checks

        yield from load(bundle.files[PATTERNS], PATTERNS, real_checks()).problems
