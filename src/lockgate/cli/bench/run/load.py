"""Simulates many agents in one cheap thread: what a gate answers, how soon, and whether rightly."""

from __future__ import annotations

import gc
import selectors
import socket
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lockgate.cli.bench.run.stories import BenchRequest, verdict_of

_PART = 1 << 18
_PATIENCE = 10.0
"""Seconds without any answer after which a load is given up."""


class LoadResult(NamedTuple):
    """The outcome of a load."""

    seconds: float
    """From the first question to the last answer."""
    waits: list[float]
    """Seconds that each question took, from when it was due."""
    verdicts: Counter[str]
    wrong: list[str]
    """Answers with another verdict than they must have."""
    declined: int
    """Questions that a hook would have to decide by itself."""
    late: int
    """Questions that were asked more than a millisecond after they were due: the load itself did not keep up."""

    @property
    def answered(self) -> int:
        """How many answers there were."""
        return sum(self.verdicts.values())

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answered / self.seconds if self.seconds else 0.0

    def wait(self, share: float) -> float:
        """What so many of the questions waited at most, in milliseconds."""
        if not self.waits:
            return 0.0
        return sorted(self.waits)[min(int(len(self.waits) * share), len(self.waits) - 1)] * 1000

    @property
    def median(self) -> float:
        """The median of all waits in milliseconds."""
        return statistics.median(self.waits) * 1000 if self.waits else 0.0


class _Talk:
    """One connection."""

    __slots__ = ("due", "heard", "question", "socket", "source")

    def __init__(self, link: socket.socket, question: BenchRequest, source: int, due: float) -> None:
        self.socket = link
        self.question = question
        self.source = source
        self.due = due
        self.heard = b""


class Load:
    """A load on one or several gates."""

    def __init__(self, paths: Sequence[str]) -> None:
        """Ask nothing yet.

        Args:
            paths: The sockets.
        """
        self._paths = paths
        self._selector = selectors.DefaultSelector()
        self._talks: set[_Talk] = set()
        self._waits: list[float] = []
        self._verdicts: Counter[str] = Counter()
        self._wrong: list[str] = []
        self._declined = 0
        self._late = 0

    def run_closed(self, sources: Sequence[Iterable[BenchRequest]], until: float = float("inf")) -> LoadResult:
        """Ask of each source the next question as soon as its last one is answered.

        Args:
            sources: Questions in order, each for one agent at a time; the n-th asks the n-th gate in turn.
            until: When to ask nothing more, by the performance counter.
        """
        rest = [iter(source) for source in sources]
        gc.disable()
        try:
            began = time.perf_counter()
            for number in range(len(rest)):
                self._next(rest, number)
            while self._talks:
                more = time.perf_counter() < until
                for source in self._answers(_PATIENCE):
                    if more:
                        self._next(rest, source)
        finally:
            gc.enable()
            self._selector.close()
        return self._result(time.perf_counter() - began)

    def open(self, questions: Iterable[BenchRequest], rate: float) -> LoadResult:
        """Ask at a rate, whether or not there are answers. A wait counts from when its question was due.

        Args:
            questions: In order; those of one session must be far enough from each other.
            rate: How many a second.
        """
        gc.disable()
        try:
            began = time.perf_counter()
            for number, question in enumerate(questions):
                due = began + number / rate
                while (left := due - time.perf_counter()) > 0:
                    self._answers(left)
                self._late += left < -0.001
                self._ask(question, number, due)
            while self._talks:
                self._answers(_PATIENCE)
        finally:
            gc.enable()
            self._selector.close()
        return self._result(time.perf_counter() - began)

    def _next(self, rest: list[Iterator[BenchRequest]], source: int) -> None:
        question = next(rest[source], None)
        if question is not None:
            self._ask(question, source, time.perf_counter())

    def _ask(self, question: BenchRequest, source: int, due: float) -> None:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.settimeout(_PATIENCE)  # where a thousand others wait to be accepted, one more waits here
        link.connect(self._paths[source % len(self._paths)])
        link.sendall(question.data)
        link.setblocking(False)
        talk = _Talk(link, question, source, due)
        self._talks.add(talk)
        self._selector.register(link, selectors.EVENT_READ, talk)

    def _answers(self, seconds: float) -> list[int]:
        """Hear what is said, for so long at most; the sources whose question was answered."""
        done = []
        ready = self._selector.select(seconds)
        if not ready and seconds >= _PATIENCE:
            raise TimeoutError(f"no answer to {len(self._talks)} questions")
        for key, _ in ready:
            talk: _Talk = key.data
            try:
                part = talk.socket.recv(_PART)
            except BlockingIOError:
                continue
            except OSError:
                part = b""
            talk.heard += part
            if not part or _is_whole(talk.heard):
                self._end(talk, time.perf_counter())
                self._talks.discard(talk)
                self._selector.unregister(talk.socket)
                talk.socket.close()
                done.append(talk.source)
        return done

    def _end(self, talk: _Talk, now: float) -> None:
        heard = talk.heard
        while heard[:1] == b"W":
            heard = heard[5:]
        if heard[:1] != b"A" or not _is_whole(heard):
            self._declined += 1
            return
        verdict = verdict_of(heard[1], heard[10 : 10 + int.from_bytes(heard[2:6], "big")])
        self._verdicts[verdict] += 1
        self._waits.append(now - talk.due)
        if verdict not in talk.question.verdicts:
            self._wrong.append(f"{verdict} instead of {'/'.join(sorted(talk.question.verdicts))}: {heard[:300]!r}")

    def _result(self, seconds: float) -> LoadResult:
        return LoadResult(seconds, self._waits, self._verdicts, self._wrong, self._declined, self._late)


def _is_whole(heard: bytes) -> bool:
    while heard[:1] == b"W":
        heard = heard[5:]
    if heard[:1] == b"N":
        return True
    if len(heard) < 10:
        return False
    return len(heard) >= 10 + int.from_bytes(heard[2:6], "big") + int.from_bytes(heard[6:10], "big")
