"""Remembers recent callers, to refresh their configuration before they ask again."""

from __future__ import annotations

import time

from lockgate.core.errors import LockgateError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.caller import reset, stand_in_for
from lockgate.system.error_log import note, place_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.core.events import Context
    from lockgate.service.resident.identity import StoreIdentity
    from lockgate.system.caller import Caller
    from lockgate.system.ttl_cache import TtlCache

SECONDS = 60.0
"""Seconds after the last question for which the machine is looked at ahead of the next one."""
_MOST = 8
"""Projects and environments for which it is."""


class RecentCallers:
    """Recent callers, by project and environment."""

    def __init__(self, folder: str, cache: TtlCache, state: StoreIdentity) -> None:
        """Nobody has asked yet.

        Args:
            folder: The state folder, with the log.
            cache: What was seen of the machine.
            state: Whether the state folder still has the store that decisions are kept in.
        """
        self._folder = folder
        self._cache = cache
        self._state = state
        self._asked: dict[tuple[str, int], tuple[float, Caller, Context]] = {}
        """When, and in which session; who asked last stands last."""

    def note(self, asking: Caller, context: Context) -> None:
        """Note who asks."""
        name = context.workspace, asking.mark
        self._asked.pop(name, None)
        self._asked[name] = time.monotonic(), asking, context
        if len(self._asked) > _MOST:
            del self._asked[next(iter(self._asked))]

    def look_ahead(self, look_for: Callable[[Context], None]) -> None:
        """Look anew, on behalf of each of them. What goes wrong is left to their next question.

        Args:
            look_for: Looks up all that a decision asks of the machine.
        """
        since = time.monotonic() - SECONDS
        for name, (at, asking, context) in list(self._asked.items()):
            if at < since or self._state.has_changed():
                del self._asked[name]
                continue
            token = stand_in_for(asking)
            try:
                with self._cache.bypass():
                    look_for(context)
            except LockgateError:
                del self._asked[name]
            except Exception as error:  # noqa: BLE001 - the next question meets it too, and is refused for it
                del self._asked[name]
                note(self._folder, "look", type(error).__name__, place_of(error))
            finally:
                reset(token)
