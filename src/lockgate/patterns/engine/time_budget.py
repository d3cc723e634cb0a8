"""Measures each group's time. Common work counts for all groups, and a rule's work for its own group."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.model import Expired

if TYPE_CHECKING:
    from lockgate.patterns.engine.request import GroupUse


class CheckTimer:
    """The time of one check."""

    def __init__(self, uses: Sequence[GroupUse], shortest: float, clock: Callable[[], float]) -> None:
        """The time runs from here.

        Args:
            uses: The groups, and how many seconds each has.
            shortest: The fewest seconds that any of them has.
            clock: Seconds.
        """
        self.clock = clock
        self.expired: dict[str, Expired] = {}
        """Groups that could not be evaluated whole, by their ids."""
        self._uses = uses
        self._began = clock()
        self._shortest = shortest
        self._spent: dict[str, float] = {}
        """Seconds of each group that had time for itself alone."""
        self._alone = 0.0

    def seconds_left(self, use: GroupUse, now: float) -> float:
        """Seconds that a group has left; 0 or less where its time is over."""
        return use.timeout - self._spent.get(use.group.id, 0.0) - self._share_of_seconds(now)

    def spend(self, use: GroupUse, seconds: float) -> None:
        """Count seconds for one group alone."""
        self._spent[use.group.id] = self._spent.get(use.group.id, 0.0) + seconds
        self._alone += seconds

    def seconds_since_start(self) -> float:
        """Seconds since the beginning."""
        return max(self.clock() - self._began, 0.0)

    def expire(self, use: GroupUse, because: str) -> None:
        """Record that a group cannot be evaluated whole. The first reason stands."""
        self.expired.setdefault(use.group.id, Expired(use.group.id, because, use.fallback))

    def expire_all(self, because: str) -> None:
        """Record that no group can be evaluated whole."""
        for use in self._uses:
            self.expire(use, because)

    def are_all_expired(self) -> bool:
        """Whether no group is left to evaluate."""
        return len(self.expired) == len(self._uses)

    def check_clock(self) -> bool:
        """Expire the groups whose time is over; whether none is left to evaluate."""
        now = self.clock()
        if now - self._began > self._shortest:  # seldom: before that, no group can have used up its time
            for use in self._uses:
                if use.group.id not in self.expired and self.seconds_left(use, now) < 0:
                    self.expire(use, "time")
        return bool(self.expired) and self.are_all_expired()

    def until_over(self) -> Callable[[], bool]:
        """A cheap test of whether the time of all groups is over, for loops that ask often."""
        now = self.clock()
        last = now + max(
            (self.seconds_left(use, now) for use in self._uses if use.group.id not in self.expired), default=0.0
        )
        return lambda: self.clock() > last and self.check_clock()

    def _share_of_seconds(self, now: float) -> float:
        return now - self._began - self._alone
