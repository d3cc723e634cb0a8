"""What agents were answered while something was broken, and whether it was right."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection
from dataclasses import dataclass, field

from lockgate.cli.bench.run.stories import verdict_of

_STRICTNESS = {"silent": 0, "told": 0, "changed": 1, "contain": 1, "ask": 2, "block": 3, "deny": 3}
"""Of verdicts. An ``allow`` is not among them: it keeps the client from asking its user."""


def judged(code: int, stdout: bytes, wanted: Collection[str]) -> str:
    """Whether an answer is ``right``, ``refused`` (otherwise strict enough), or ``wrong``.

    A client takes the exit code 2 for a refusal, and goes on after any other but 0.
    """
    if code == 2:
        return "refused"
    if code:
        return "wrong"
    try:
        verdict = verdict_of(code, stdout)
    except (ValueError, AttributeError):
        return "wrong"
    if verdict in wanted:
        return "right"
    least = min(_STRICTNESS[each] for each in wanted)
    return "refused" if _STRICTNESS.get(verdict, -1) >= least else "wrong"


@dataclass
class Line:
    """What came of one kind of fault."""

    injected: int = 0
    answers: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    """Sessions that have read something untrusted, and of which the store does not say so."""
    unrecorded: set[str] = field(default_factory=set)
    """Calls that were answered, and that the audit does not have."""
    chains: list[bool] = field(default_factory=list)
    slowest: float = 0.0
    """Seconds that a hook took at most."""

    @property
    def fine(self) -> bool:
        """Whether all that is promised was kept."""
        return not (self.wrong or self.lost or self.unrecorded) and self.chains != [] and all(self.chains)


class Book:
    """All lines, and what the store must know. Several threads write into it."""

    def __init__(self) -> None:
        self.lines: dict[str, Line] = {}
        self.readers: set[str] = set()
        """Sessions in which a call was let run that reads what a stranger wrote."""
        self.answered: set[str] = set()
        """Calls that were answered other than by the refusal of a hook that could not decide."""
        self._now = ""
        self._lock = threading.Lock()

    def begin(self, name: str) -> None:
        """Other hosts, whose stores know nothing of what was."""
        with self._lock:
            self.readers, self.answered = set(), set()
        self.turn(name)

    def turn(self, name: str) -> Line:
        """From now on all that happens is put down to this."""
        with self._lock:
            self._now = name
            return self.lines.setdefault(name, Line())

    def answer(self, found: str, what: str, seconds: float) -> None:
        """Put an answer down."""
        with self._lock:
            line = self.lines[self._now]
            line.answers += 1
            line.refused += found == "refused"
            line.slowest = max(line.slowest, seconds)
            if found == "wrong":
                line.wrong.append(what)

    def has_read(self, session: str) -> None:
        """A session has read something untrusted, or may have."""
        with self._lock:
            self.readers.add(session)

    def was_answered(self, call: str) -> None:
        """A call was decided."""
        with self._lock:
            self.answered.add(call)

    def known(self) -> tuple[set[str], set[str]]:
        """Sessions that have read and calls that were answered, up to now."""
        with self._lock:
            return set(self.readers), set(self.answered)

    def table(self) -> str:
        """All lines, as Markdown."""
        heads = ("fault", "injected", "answers", "refused", "wrong", "labels lost", "unrecorded", "chain", "slowest")
        rows = [heads, tuple("---" if not number else "---:" for number in range(len(heads)))]
        for name, line in self.lines.items():
            counts = (line.injected, line.answers, line.refused, len(line.wrong), len(line.lost), len(line.unrecorded))
            holds = "holds" if line.chains and all(line.chains) else "BROKEN"
            rows.append((name, *map(str, counts), holds, f"{line.slowest:.1f} s"))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def figures(self) -> str:
        """All lines, as JSON."""
        found = {}
        for name, line in self.lines.items():
            found[name] = {**vars(line), "lost": sorted(line.lost), "unrecorded": sorted(line.unrecorded)}
        return json.dumps(found, indent=2)
