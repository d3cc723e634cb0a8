"""How well passwords are told from what only looks like one: ``run.py [FOLDER] [--misses] [--part tuned|heldout]``.

A text counts as found if any rule without a format of its own, or of connection strings, matches. Prints for each
part the recall of values that machines and people made, precision, F1, and how well rarity tells values from dummies
against Shannon's entropy (area under the curve).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import log2
from pathlib import Path
from random import Random
from typing import Any

import generate
import re2
import yaml

from lockgate.patterns.credentials import randomness as rarity
from lockgate.patterns.model import Candidate
from lockgate.patterns.validators import VALIDATORS

LIBRARY = Path(generate.__file__).resolve().parents[3] / "src/lockgate/patterns/library"
FILES = ("generic.yaml", "secrets_connections.yaml")
WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class Rule:
    """One rule of the library."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.id = fields.get("id", fields["type"])
        self.regex = re2.compile(("(?m)" if fields.get("multiline") else "") + fields["pattern"])
        self.bounded = fields.get("boundary", "word") != "none"
        validators = [{name: None} if isinstance(name, str) else name for name in fields.get("validate", [])]
        self.validators = [(VALIDATORS[name], number) for one in validators for name, number in one.items()]

    def values(self, text: str) -> Iterable[str]:
        """The values that it finds."""
        start = 0
        while match := self.regex.search(text, start):
            start = match.start() + 1
            if self.bounded and not _stands_alone(text, *match.span()):
                continue
            groups = match.groupdict()
            value = groups.get("value") or match.group()
            around = text[max(0, match.start() - 80) : match.start()], text[match.end() : match.end() + 80]
            candidate = Candidate(value, match.group(), groups.get("key") or "", *around)
            if all(validate(candidate, number) is not False for validate, number in self.validators):
                yield value
                start = match.end()


def _stands_alone(text: str, start: int, end: int) -> bool:
    if start and text[start - 1] in WORD and text[start] in WORD:
        return False
    return not (end < len(text) and text[end] in WORD and text[end - 1] in WORD)


def rules() -> list[Rule]:
    """Those without a format of their own."""
    files = [
        yaml.safe_load((LIBRARY / name).read_text(encoding="utf-8")) for name in FILES if (LIBRARY / name).exists()
    ]
    groups = [group for file in files for group in file["patterns"].get("input", {}).values()]
    return [Rule(fields) for group in groups for fields in group["rules"]]


def area(score: Callable[[str], float], real: Sequence[str], dummies: Sequence[str]) -> float:
    """How often a real value scores more than a dummy, ties being half."""
    scores = sorted([(score(text), 1) for text in real] + [(score(text), 0) for text in dummies])
    ranks, place = 0.0, 0
    while place < len(scores):
        end = place
        while end < len(scores) and scores[end][0] == scores[place][0]:
            end += 1
        ranks += sum(label for _, label in scores[place:end]) * (place + end + 1) / 2
        place = end
    return (ranks - len(real) * (len(real) + 1) / 2) / (len(real) * len(dummies))


def entropy(text: str) -> float:
    """Shannon's, in bits for each character."""
    return -sum(count / len(text) * log2(count / len(text)) for count in Counter(text).values())


def measure(part: str, folder: Path | None, known: Sequence[Rule], *, misses: bool) -> None:
    """Print the figures of one part."""
    seen: Counter[tuple[str, bool]] = Counter()
    wrong: Counter[str] = Counter()
    for row in generate.examples(part, folder):
        by = [rule.id for rule in known if any(True for _ in rule.values(row["text"]))]
        seen[row["kind"], bool(by)] += 1
        if bool(by) != bool(row["label"]):
            wrong[f"{row['kind']} {row['form']}"] += 1
            if misses:
                print(f"{'missed' if row['label'] else 'false ' + by[0]} [{row['form']}] {row['text'][:200]!r}")
    print(f"\n{part}")
    for kind in ("dummy", "package"):
        print(f"  {kind:8} {seen[kind, True]} of {seen[kind, True] + seen[kind, False]} found")
    false = seen["dummy", True] + seen["package", True]
    positives = sum(seen[kind, found] for kind in ("machine", "human") for found in (True, False))
    for name, kinds in (("machine", ("machine",)), ("human", ("human",)), ("both", ("machine", "human"))):
        found = sum(seen[kind, True] for kind in kinds)
        missed = sum(seen[kind, False] for kind in kinds)
        print(_figures(name, found, missed, false * (found + missed) / positives))
    print("  most wrong:", ", ".join(f"{name} {count}" for name, count in wrong.most_common(8)))
    _print_areas(part)


def _print_areas(part: str) -> None:
    chance, words = Random(part), generate.PARTS[part]
    dummies = [chance.choice(words.DUMMIES) for _ in range(1_000)]
    for kind, make in (("machine", generate.machine_made), ("human", generate.human_made)):
        real = [make(words, chance) for _ in range(1_000)]
        scores = {"rarity": rarity.score, "entropy": entropy}
        areas = ", ".join(f"{name} {area(score, real, dummies):.3f}" for name, score in scores.items())
        print(f"  {kind:8} against dummies: {areas}")


def _figures(kind: str, found: int, missed: int, false: float) -> str:
    """Recall, precision and F1; ``false`` is this kind's share of what was found wrongly."""
    precision, recall = found / max(1, found + false), found / max(1, found + missed)
    score = 2 * precision * recall / max(0.001, precision + recall)
    return f"  {kind:8} recall {recall:.3f}  precision {precision:.3f}  F1 {score:.3f}"


def main() -> int:
    """Measure all parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="where packages.py put the packages")
    parser.add_argument("--misses", action="store_true", help="print what was told wrong")
    parser.add_argument("--part", choices=generate.PARTS, action="append")
    arguments = parser.parse_args()
    known = rules()
    for part in arguments.part or generate.PARTS:
        measure(part, arguments.folder, known, misses=arguments.misses)
    return 0


if __name__ == "__main__":
    sys.exit(main())
