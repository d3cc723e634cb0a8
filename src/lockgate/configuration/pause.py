"""A person's pause: no call is held back for a while, and the decisions are recorded all the same.

The moment stands in a file of the state folder, which agents cannot write. The file counts only where it has a seal of
this installation, and where the audit tells of this pause and not of its end. A pause is for this machine, not for the
containers that it decides for. What protects the gate itself (``tamper_self``) holds on, and so do the patterns that
take secrets out of results.
"""

from __future__ import annotations

import json
import os
from hmac import compare_digest

from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store import chain_links
from lockgate.store.audit.record import event_record
from lockgate.store.rows import AuditQuery
from lockgate.system.files import read_regular, replace
from lockgate.system.folders import PAUSE

if TYPE_CHECKING:
    from typing import Any

    from lockgate.configuration.load import Configuration
    from lockgate.store.protocol import Transaction
    from lockgate.system.uptime import Instant

LONGEST = 8 * 3600.0
"""Seconds that a pause lasts at most."""
FORBIDDEN = "forbidden"
"""What a configuration says under ``pause`` where nobody may pause."""
_MOST_BYTES = 400
_UNSEALED = "a pause was written that `lockgate pause` of this installation did not begin; it did not count"
_TAKEN_BACK = "a pause was put back that is over by the audit, or of which the audit does not tell; it did not count"


class Pause(Record):
    """The content of a pause's file."""

    until: float = 0.0
    """When the pause ends, in seconds since the epoch; 0 where nothing is paused."""
    problem: str = ""
    """What is wrong with the file, where somebody else has written it or put it back; without a full stop."""


def look_at_pause(tx: Transaction, state: str, now: Instant) -> Pause:
    """Whether a person has paused the gate.

    A file that :func:`begin` did not write here is no pause. Nor is one of another start of the machine, nor one that
    the audit does not bear out.

    Args:
        tx: A transaction of this installation's store.
        state: The state folder.
        now: This moment.
    """
    try:
        *kept, seq, seal = json.loads(read_regular(os.path.join(state, PAUSE), _MOST_BYTES, follow=False))
        if not (type(seq) is int and seq > 0 and compare_digest(str(seal), _seal(tx, kept, seq))):
            return Pause(problem=_UNSEALED)
        boot, up, up_until, began, until = kept
        # A clock that was set back would bring back a pause that is over. One that goes on where the machine as a whole
        # was stopped ends it in time.
        runs = boot == now.boot and up <= now.up < up_until <= up + LONGEST
        if not (now.boot and runs and began - 1 <= now.at < until <= began + LONGEST):
            return Pause()
    except FileNotFoundError:
        return Pause()
    except (OSError, ValueError, TypeError, OverflowError, RecursionError):
        return Pause(problem=_UNSEALED)
    return Pause(until=float(until)) if _goes_on(tx, seq, until) else Pause(problem=_TAKEN_BACK)


def _seal(tx: Transaction, kept: list[Any], seq: int) -> str:
    return tx.hash_with_key(
        chain_links.PURPOSE_PAUSE, chain_links.canonical({"gate": tx.gate, "pause": kept, "seq": seq})
    )


def _goes_on(tx: Transaction, seq: int, until: float) -> bool:
    """Whether the audit tells of a pause in a record, and of nothing that ended it since."""
    links = chain_links.read_to_head(tx, seq, tx.gate)
    put_back = tx.put_back()
    if (put_back is not None and put_back.reason) or links is None:
        return False
    body = json.loads(links[0].body)
    return (body.get("event"), body.get("until")) == ("pause", until) and not _is_recorded_since(tx, seq)


def _is_recorded_since(tx: Transaction, seq: int) -> bool:
    queries = (AuditQuery(event=event) for event in ("pause", "resume", "accepted"))
    return any(tx.find_audit(query, after=seq, limit=1, gate=tx.gate) for query in queries)


def begin(tx: Transaction, state: str, now: Instant, seconds: float) -> float:
    """Begin a pause and record it, or change the one that there is; gives when it ends.

    Args:
        tx: The transaction, by which it is recorded.
        state: The state folder, which must be there.
        now: This moment.
        seconds: How long, at most :data:`LONGEST`.

    Raises:
        OSError: It cannot be written.
        ValueError: It would be longer, or no time at all, or the system does not tell one start from another.
    """
    if not 0 < seconds <= LONGEST:
        raise ValueError(f"a pause lasts more than 0 and at most {LONGEST:.0f} seconds")
    if not now.boot:
        raise ValueError("a clock that is set back could bring the pause back")
    path, until = os.path.join(state, PAUSE), now.at + seconds
    seq = _record(tx, now, "pause", {"seconds": seconds, "until": until})
    kept = [now.boot, now.up, now.up + seconds, now.at, until]
    sealed = json.dumps([*kept, seq, _seal(tx, kept, seq)])
    replace(path, sealed.encode(), draft=f"{path}.{os.getpid()}.{os.urandom(4).hex()}")
    return until


def end(tx: Transaction, state: str, now: Instant) -> bool:
    """End a pause and record it; whether there was a file of one. Raises ``OSError`` where it cannot be removed.

    It is recorded as well where somebody has taken the file away: it could be put back later.
    """
    was = True
    try:
        os.unlink(os.path.join(state, PAUSE))
    except FileNotFoundError:
        was = False
    begun = tx.find_audit(AuditQuery(event="pause"), limit=1, gate=tx.gate)
    if was or (begun and not _is_recorded_since(tx, begun[0].seq)):
        _record(tx, now, "resume", {})
    return was


def _record(tx: Transaction, now: Instant, event: str, facts: dict[str, Any]) -> int:
    return tx.append_audit(now.at, event_record(Context("cli", Subject("")), event, facts)).seq


def may_pause(configuration: Configuration) -> bool:
    """Whether a person may pause: no layer forbids it, and no fleet's policy is missing."""
    return configuration.options.pause != FORBIDDEN and not configuration.locked


def pause_configuration(configuration: Configuration) -> Configuration:
    """A configuration as it is meanwhile: it lets every call run, and tells what it would have said."""
    from lockgate.policy.profiles import PAUSED, read_shipped_profiles

    observe = read_shipped_profiles()["observe"]
    policies = [
        policy
        if policy.profile.shadow
        else policy._replace(
            profile=observe._replace(
                name=PAUSED, shadow=policy.profile, unknown_services=policy.profile.unknown_services
            )
        )
        for policy in configuration.policies
    ]
    return configuration._replace(policies=tuple(policies), judges=False)
