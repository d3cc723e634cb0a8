"""Measures the pattern library on the corpus: ``python evals/patterns/run.py [--packages] [--compare] [--misses]``.

A text counts as found where there is at least one finding that ``lockgate scan`` would report. The exit status is 0
where the least rates are met, else 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import comparison  # noqa: E402
import packages_of_others  # noqa: E402
from corpus import Example, examples  # noqa: E402
from scanner import open_scanner  # noqa: E402

from lockgate.cli.scan.findings import FindingFilter, check, matches_in  # noqa: E402
from lockgate.patterns.engine.scanner import Scanner  # noqa: E402
from lockgate.patterns.model import PatternMatch  # noqa: E402

LEAST_RECALL = 0.95
LEAST_PRECISION = 0.90
_SHOWN = 300


class Outcome(NamedTuple):
    """What was found in an example."""

    example: Example
    found: bool
    """Whether there is any finding."""
    in_place: bool = False
    """Whether a finding overlaps the value."""
    rules: Sequence[str] = ()

    @property
    def wrong(self) -> bool:
        """Whether it was missed, or is a false alarm."""
        return self.found != self.example.positive


class Score(NamedTuple):
    """Counts of one group, or of all."""

    name: str
    positives: int
    hits: int
    in_place: int
    negatives: int
    alarms: int

    @property
    def recall(self) -> float:
        """The part of the positives that is found."""
        return self.hits / self.positives if self.positives else 1.0

    @property
    def precision(self) -> float:
        """The part of what is found that is positive."""
        return self.hits / (self.hits + self.alarms) if self.hits + self.alarms else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def measured(scanner: Scanner, corpus: Iterable[Example]) -> list[Outcome]:
    """All examples, scanned as ``lockgate scan`` does."""
    wanted = FindingFilter()
    return [_outcome(example, matches_in(check(scanner, example.text), wanted)) for example in corpus]


def _outcome(example: Example, matches: Sequence[PatternMatch]) -> Outcome:
    in_place = any(match.start < example.end and match.end > example.start for match in matches)
    return Outcome(example, bool(matches), in_place, sorted({match.rule for match in matches}))


def score(name: str, outcomes: Sequence[Outcome]) -> Score:
    """The counts of some outcomes."""
    positives = [outcome for outcome in outcomes if outcome.example.positive]
    negatives = [outcome for outcome in outcomes if not outcome.example.positive]
    return Score(
        name,
        len(positives),
        sum(outcome.found for outcome in positives),
        sum(outcome.in_place for outcome in positives),
        len(negatives),
        sum(outcome.found for outcome in negatives),
    )


def groups(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes by group, positives first."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.example.group, []).append(outcome)
    return found


def passes(whole: Score) -> bool:
    """Whether the least rates are met."""
    return whole.recall >= LEAST_RECALL and whole.precision >= LEAST_PRECISION


def table(outcomes: Sequence[Outcome], others: Sequence[bool] | None) -> Iterable[str]:
    """The table, line by line; ``others`` is what the other tool found in each."""
    other = dict(zip(map(id, outcomes), others, strict=True)) if others else None
    title = f"{'group':26} {'n':>6} {'found':>6} {'rate':>7} {'in place':>9}"
    yield title + (f" {'detect-secrets':>15}" if other else "")
    for name, those in groups(outcomes).items():
        counts = score(name, those)
        count = counts.positives or counts.negatives
        hits = counts.hits if counts.positives else counts.alarms
        place = f"{counts.in_place / count:9.1%}" if counts.positives else " " * 9
        kind = "" if counts.positives else "(harmless) "
        row = f"{kind + name:26} {count:6} {hits:6} {hits / count:7.1%} {place}"
        yield row + (f" {sum(other[id(each)] for each in those) / count:15.1%}" if other else "")
    yield ""
    yield _overall("Lockgate", score("Lockgate", outcomes))
    if other:
        theirs = [Outcome(each.example, other[id(each)]) for each in outcomes]
        yield _overall("detect-secrets", score("detect-secrets", theirs))


def _overall(name: str, counts: Score) -> str:
    return f"{name:26} recall {counts.recall:.3f}  precision {counts.precision:.3f}  F1 {counts.f1:.3f}"


def _told(outcomes: Iterable[Outcome], *, positive: bool) -> Iterable[str]:
    for outcome in outcomes:
        example = outcome.example
        if outcome.wrong and example.positive == positive:
            what = "missed" if positive else "alarm " + ", ".join(outcome.rules)
            yield f"{what}  [{example.group}: {example.form}]  {example.text[:_SHOWN]!r}"


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", type=float, default=1.0, help="how much of the corpus")
    parser.add_argument("--packages", action="store_true", help="with source code of packages, which it downloads")
    parser.add_argument("--compare", action="store_true", help="with detect-secrets, which it installs")
    parser.add_argument("--misses", action="store_true", help="list what was missed")
    parser.add_argument("--alarms", action="store_true", help="list false alarms")
    parser.add_argument("--json", action="store_true", help="print the corpus as JSON lines instead")
    arguments = parser.parse_args(given)
    folder = packages_of_others.fetch() if arguments.packages else None
    corpus = list(examples(arguments.seed, arguments.part, folder))
    if arguments.json:
        for example in corpus:
            print(json.dumps(example._asdict()))
        return 0
    outcomes = measured(open_scanner(), corpus)
    others = comparison.found([example.text for example in corpus]) if arguments.compare else None
    for positive, wanted in ((True, arguments.misses), (False, arguments.alarms)):
        for line in _told(outcomes, positive=positive) if wanted else ():
            print(line)
    print("\n".join(table(outcomes, others)))
    whole = score("all", outcomes)
    if not passes(whole):
        print(f"FAILED: recall must be {LEAST_RECALL}, precision {LEAST_PRECISION}")
    return int(not passes(whole))


if __name__ == "__main__":
    sys.exit(main())
