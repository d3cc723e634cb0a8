"""For how long a process that stays takes what it has seen of the machine for what it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Sight:
    """Shared by all who remember what they have looked up."""

    def __init__(self, seconds: float) -> None:
        """Begin.

        Args:
            seconds: How long a look holds; 0 for never to be taken for the next one.
        """
        self.seconds = seconds

    def holds(self, at: float, now: float) -> bool:
        """Whether a look still holds; both moments are those of one clock, in seconds."""
        return now - at <= self.seconds

    @contextmanager
    def anew(self) -> Iterator[None]:
        """Have everything that is asked for meanwhile looked at, however new the last look is."""
        seconds, self.seconds = self.seconds, -1.0
        try:
            yield
        finally:
            self.seconds = seconds
