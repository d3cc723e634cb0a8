"""Caches what a resident process has read of the machine, for a limited time."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeVar

    _Asked = TypeVar("_Asked")
    _Found = TypeVar("_Found")

_UNSEEN = float("-inf"), None
"""What is remembered of what was never looked up: when it was, and what was found."""


class TtlCache:
    """Shared by all who remember what they have looked up."""

    MOST = 1024
    """Projects, transcripts and callers of which they remember it."""

    def __init__(self, seconds: float) -> None:
        """Begin.

        Args:
            seconds: How long a look holds; 0 for never to be taken for the next one.
        """
        self.seconds = seconds

    def holds(self, at: float, now: float) -> bool:
        """Whether a look still holds; both moments are those of one clock, in seconds."""
        return now - at <= self.seconds

    def remember(
        self, read: Callable[[_Asked, _Found | None], _Found], about: Callable[[_Asked], Hashable]
    ) -> Callable[[_Asked], _Found]:
        """The same look-up, which looks at the machine only so often for each thing that it is about.

        Args:
            read: Looks at the machine; told what it has found before.
            about: What it depends on.
        """
        kept: dict[Hashable, tuple[float, _Found]] = {}

        def look_up(asked: _Asked) -> _Found:
            name = about(asked)
            now = time.monotonic()
            at, found = kept.get(name, _UNSEEN)
            if found is not None and self.holds(at, now):
                return found
            if len(kept) >= self.MOST:
                kept.clear()
            found = read(asked, found)
            kept[name] = (now, found)
            return found

        return look_up

    @contextmanager
    def bypass(self) -> Iterator[None]:
        """Look anew at everything that is asked for meanwhile, however recent the last look is."""
        seconds, self.seconds = self.seconds, -1.0
        try:
            yield
        finally:
            self.seconds = seconds
