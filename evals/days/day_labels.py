"""What came of a day: which steps were stopped, and which gave something else than without Lockgate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from clients import Result, Run
from comparing import Done, difference, varying
from days import ACT, HARMLESS, Day, Step

_NOTE = re.compile(r"\n?\[This command modified \d+ files? you've previously read: .*\]")
STOPS = ("ask", "deny")


class Outcome(NamedTuple):
    """One step of a day with Lockgate."""

    step: Step
    verdict: str
    """The strictest that a call of it got; ``none`` where the client asked nobody."""
    rules: tuple[str, ...]
    """Why it was not allowed."""
    gave: tuple[str, ...]
    """Labels that its results gave."""
    difference: str
    """From the runs without Lockgate; empty for a stop, too."""
    varies: str
    """What varies between the runs without Lockgate by itself."""
    gained: bool = False
    """Each run without Lockgate failed, and the one with it did not: the client stands in the way by itself."""

    @property
    def stopped(self) -> bool:
        """It did not run unasked."""
        return self.verdict in STOPS

    @property
    def needless(self) -> bool:
        """It was stopped, and nobody would have minded it."""
        return self.stopped and self.step.label == HARMLESS


class Judged(NamedTuple):
    """A day."""

    outcomes: tuple[Outcome, ...]
    files: tuple[str, ...]
    """Files of the project that are not the same afterwards."""

    def wrong(self, day: Day) -> bool:
        """Whether something is not as it should be."""
        stopped = any(one.stopped if day.clean else one.needless for one in self.outcomes)
        return stopped or self.differs or (day.clean and self.sourced)

    @property
    def differs(self) -> bool:
        """Whether an output or a file is another one than without Lockgate, where that did not fail."""
        return bool(self.others) or bool(self.files)

    @property
    def others(self) -> list[Outcome]:
        """Steps that gave another output, and not only since they failed without Lockgate."""
        return [one for one in self.outcomes if one.difference and not one.gained]

    @property
    def sourced(self) -> bool:
        """Something that the agent was given gave the session a label."""
        return any(one.gave for one in self.outcomes)


def judged(day: Day, bare: Sequence[Run], guarded: Run) -> Judged:
    """Compare a day with Lockgate with some without."""
    decisions = {record["call"]: record for record in _bodies(guarded, "decision")}
    given: dict[str, list[str]] = {}
    for record in _bodies(guarded, "outcome"):
        given.setdefault(record["call"], []).extend(_labels(record.get("gave", ())))
    outcomes = []
    for place, step in enumerate(day.steps):
        records = [decisions[call] for call in guarded.ids[place] if call in decisions]
        verdict = max((str(record["verdict"]) for record in records), key=_strictness, default="none")
        gave = tuple(label for call in guarded.ids[place] for label in given.get(call, ()))
        results = [run.results[place] for run in bare]
        other = "" if verdict in STOPS else _difference(results, guarded.results[place])
        varies = varying([_done(result) for result in results]) or ""
        gained = bool(other) and all(result.failed for result in results) and not guarded.results[place].failed
        outcomes.append(Outcome(step, verdict, tuple(_rules(records)), gave, other, varies, gained))
    # A step that was stopped for a reason has left nothing: what differs then is no fault.
    files = () if _acted(outcomes) else tuple(_files(bare, guarded))
    return Judged(tuple(outcomes), files)


def _bodies(run: Run, event: str) -> Iterator[dict[str, Any]]:
    for record in run.records:
        body = record.get("body", {})
        if body.get("event") == event and body.get("call"):
            yield body


def _labels(gave: Sequence[Any]) -> list[str]:
    return [entry["label"] if isinstance(entry, dict) else str(entry) for entry in gave]


def _strictness(verdict: str) -> int:
    return ("none", "allow", "contain", *STOPS).index(verdict)


def _rules(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    for record in records:
        for reason in record["reasons"]:
            yield f"{reason['row']} by {reason['rule']}: {reason['because']}"


def _done(result: Result) -> Done:
    """Without Claude Code's own note that a command has changed what was read: it looks for that in its words."""
    result = result._replace(text=_NOTE.sub("", result.text))
    return Done(int(result.failed), result.text, 0.0, "allow")


def _difference(bare: Sequence[Result], guarded: Result) -> str:
    return difference([_done(result) for result in bare], _done(guarded))


def _acted(outcomes: Sequence[Outcome]) -> bool:
    return any(one.needless for one in outcomes)


def _files(bare: Sequence[Run], guarded: Run) -> Iterator[str]:
    first = bare[0].tree
    varies = {name for run in bare for name in run.tree.keys() | first.keys() if run.tree.get(name) != first.get(name)}
    for name in sorted(first.keys() | guarded.tree.keys()):
        if name not in varies and first.get(name) != guarded.tree.get(name):
            yield name


def acts(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The wanted acts that were stopped."""
    return [one for one in outcomes if one.stopped and one.step.label == ACT]
