"""Looks once at the sources of bundles: accepts or refuses them, and records that in the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockgate.configuration.bundles.accepted import Accepted, Current, Looked, read_envelope
from lockgate.configuration.bundles.pins import Pins
from lockgate.core.errors import BundleError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.core.version import __version__

if TYPE_CHECKING:
    from typing import Any

    from lockgate.configuration.bundles.protocol import BundleSource

_AGAIN = 60.0
"""Seconds after which a bundle is looked at again that was refused for a reason that may pass."""
_SETTLED = 2.0
"""Seconds after which anything new is looked at once more: a file that is written twice within one tick of the file
system's clock looks the same."""
ACCEPTED, REFUSED, REVOKED = "policy-accepted", "policy-refused", "policy-revoked"
"""Events of the audit."""


class News(Record):
    """Something that the audit shall tell."""

    event: str
    facts: Mapping[str, Any]


class UpdateResult(Record):
    """The outcome of a look, before it is stored."""

    accepted: Accepted
    news: tuple[News, ...]
    envelopes: Mapping[str, bytes]
    """Bundles that are to be kept, by the hash of their payload."""


def take(state: str, pins: Pins, accepted: Accepted, sources: Sequence[BundleSource], now: float) -> UpdateResult:
    """Look at all sources, and take what is accepted. Writes nothing."""
    news: list[News] = []
    envelopes: dict[str, bytes] = {}
    accepted = _keep_vouched(state, pins, accepted, news)
    looked: dict[str, Looked] = {}
    for source in sources:
        facts = source.facts()
        if not facts:
            continue
        before = accepted.looked.get(source.name)
        facts = f"{__version__} {pins.digest} {facts}"
        if (
            before is not None
            and before.facts == facts
            and (not before.again or before.again - _AGAIN <= now < before.again)
        ):
            looked[source.name] = before
            continue
        accepted, looked[source.name] = _try(pins, accepted, source, facts, now, news, envelopes)
    current = accepted.current
    clock = accepted.clock
    if current is not None and current.expires and clock < current.expires <= now:
        clock = now  # an expired bundle stays expired, also where the clock is put back
    return UpdateResult(accepted._replace(looked=looked, clock=clock), tuple(news), envelopes)


def _keep_vouched(state: str, pins: Pins, accepted: Accepted, news: list[News]) -> Accepted:
    """What was accepted, as far as today's pins vouch for it."""
    current = accepted.current
    if current is None or current.pins == pins.digest:
        return accepted
    if current.fleet != pins.fleet:
        return accepted._replace(current=None)
    from lockgate.configuration.bundles.acceptance import verify_signed
    from lockgate.configuration.bundles.keys import MissingLibraryError

    try:
        verified = verify_signed(read_envelope(state, current.digest), pins.keys)
        if verified.digest != current.digest:
            raise BundleError("it was changed on the disk")
    except MissingLibraryError:
        return accepted  # said by whoever looks at the sources; nothing is known to be wrong with it
    except BundleError as error:
        news.append(News(REVOKED, {**_facts(current), "because": str(error)}))
        return accepted._replace(current=None)
    return accepted._replace(current=current._replace(pins=pins.digest, key=verified.key.id))


def _try(
    pins: Pins,
    accepted: Accepted,
    source: BundleSource,
    facts: str,
    now: float,
    news: list[News],
    envelopes: dict[str, bytes],
) -> tuple[Accepted, Looked]:
    """Accept or refuse what a source has now."""
    from lockgate.configuration.bundles.acceptance import NotYetError, OldError
    from lockgate.configuration.bundles.keys import MissingLibraryError

    before = accepted.looked.get(source.name)
    again = now + _SETTLED if before is None or before.facts != facts else 0.0
    try:
        data = source.read()
        accepted = accept_bundle(data, pins, accepted, now, source.name, news, envelopes)
    except BundleError as error:
        if isinstance(error, OldError) and again == 0.0 and before is not None and not before.problem:
            return accepted, Looked(facts, "", 0.0)  # it was good, and a newer one came from elsewhere
        if isinstance(error, (NotYetError, MissingLibraryError)):
            again = now + _AGAIN
        if before is None or (before.facts, before.problem) != (facts, str(error)):
            news.append(News(REFUSED, {"fleet": pins.fleet, "source": source.name, "because": str(error)}))
        return accepted, Looked(facts, str(error), again)
    return accepted, Looked(facts, "", again)


def accept_bundle(
    data: bytes,
    pins: Pins,
    accepted: Accepted,
    now: float,
    source: str,
    news: list[News],
    envelopes: dict[str, bytes],
) -> Accepted:
    """What is accepted with one more bundle.

    Raises:
        BundleError: It is refused.
    """
    from lockgate.configuration.bundles.acceptance import check_acceptance

    current = check_acceptance(data, pins, accepted, now, source)
    before = accepted.current
    if before is not None and before.digest == current.digest:
        return accepted._replace(current=before._replace(pins=current.pins, key=current.key))
    envelopes[current.digest] = data
    news.append(News(ACCEPTED, _facts(current)))
    highest = {**accepted.highest, current.fleet: (current.serial, current.digest)}
    # When this machine has seen a policy expire counts no more: its clock may have been ahead then.
    clock = max(before.created if before is not None else 0.0, current.created)
    return accepted._replace(current=current, highest=highest, clock=clock)


def _facts(current: Current) -> dict[str, Any]:
    names = ("fleet", "serial", "digest", "key", "source")
    return {name: getattr(current, name) for name in names}
