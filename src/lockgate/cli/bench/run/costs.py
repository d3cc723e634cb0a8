"""Compares measured costs with those of something else in the same round."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple


class Clock(StrEnum):
    """A clock that measures a run."""

    WALL = "wall"
    CPU = "cpu"


class Cost(NamedTuple):
    """The cost of one run, in milliseconds."""

    wall: float
    cpu: float
    """Processor time, in the program and in the system for it. Other work on the machine hardly changes it."""

    def by(self, clock: Clock) -> float:
        """What one clock says."""
        return self.wall if clock is Clock.WALL else self.cpu


class Spread(NamedTuple):
    """A median, and the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of at least one value."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


class Series(NamedTuple):
    """The measurements of one thing."""

    name: str
    what: str
    costs: list[Cost]
    interleaved: bool = True
    """Whether its n-th cost is of the same moment as that of the others."""

    def spread(self, clock: Clock) -> Spread:
        """Milliseconds by one clock."""
        return Spread.of(self._times(clock))

    def ratio(self, base: Series, clock: Clock) -> Spread:
        """How many times what another one took: round by round where both were measured in turns."""
        if not (self.interleaved and base.interleaved):
            usual = base.spread(clock).median
            return Spread.of([time / usual for time in self._times(clock)])
        pairs = zip(self._times(clock), base._times(clock), strict=True)
        return Spread.of([time / other for time, other in pairs])

    def _times(self, clock: Clock) -> list[float]:
        # The system may count the processor time of a very short program as none at all.
        return [max(cost.by(clock), 0.001) for cost in self.costs]
