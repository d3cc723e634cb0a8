"""A person's pause: until a moment no call is held back, and what would have been decided is recorded.

The moment stands in a file of the state folder, which agents cannot write. A pause is for this machine, not for the
containers that it decides for. What protects the gate itself (``tamper_self``) holds on, and so do the patterns that
take secrets out of results.
"""

from __future__ import annotations

import json
import os

from lockgate.core.record import TYPE_CHECKING
from lockgate.system.files import read_regular, replace
from lockgate.system.folders import PAUSE

if TYPE_CHECKING:
    from lockgate.configuration.load import Configuration
    from lockgate.system.uptime import Instant

LONGEST = 8 * 3600.0
"""Seconds that a pause lasts at most."""
FORBIDDEN = "forbidden"
"""What a configuration says under ``pause`` where nobody may pause."""
_MOST_BYTES = 200


def paused_until(state: str, now: Instant) -> float:
    """When the pause ends that a person has begun, in seconds since the epoch; 0 where there is none.

    A file that cannot be read, or says what :func:`begin` cannot have written, is no pause. Nor is one of another start
    of the machine.

    Args:
        state: The state folder.
        now: This moment.
    """
    try:
        boot, up, up_until, began, until = json.loads(
            read_regular(os.path.join(state, PAUSE), _MOST_BYTES, follow=False)
        )
        # A clock that was set back would bring back a pause that is over. One that goes on where the machine as a whole
        # was stopped ends it in time.
        runs = boot == now.boot and up <= now.up < up_until <= up + LONGEST
        return float(until) if now.boot and runs and began - 1 <= now.at < until <= began + LONGEST else 0.0
    except (OSError, ValueError, TypeError, OverflowError, RecursionError):
        return 0.0


def begin(state: str, now: Instant, seconds: float) -> float:
    """Begin a pause, or change the one that there is; gives when it ends.

    Args:
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
    kept = json.dumps([now.boot, now.up, now.up + seconds, now.at, until])
    replace(path, kept.encode(), draft=f"{path}.{os.getpid()}.{os.urandom(4).hex()}")
    return until


def end(state: str) -> bool:
    """End a pause; whether there was a file of one. Raises ``OSError`` where it cannot be removed."""
    try:
        os.unlink(os.path.join(state, PAUSE))
    except FileNotFoundError:
        return False
    return True


def may_pause(configuration: Configuration) -> bool:
    """Whether a person may pause: no layer forbids it, and no fleet's policy is missing."""
    return configuration.options.pause != FORBIDDEN and not configuration.locked


def paused(configuration: Configuration) -> Configuration:
    """A configuration as it is meanwhile: it lets every call run, and tells what it would have said."""
    from lockgate.policy.profiles import PAUSED, shipped

    observe = shipped()["observe"]
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
