"""The pattern library meets its rates on a part of its corpus, and the corpus is what it should be."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "evals/patterns"
sys.path.append(str(FOLDER))

import people  # noqa: E402
import run  # noqa: E402
from corpus import Example, examples  # noqa: E402
from encodings_of_text import ENCODINGS  # noqa: E402
from formats import FORMATS  # noqa: E402
from scanner import open_scanner  # noqa: E402

PART = 0.1
LEAST = {
    "passwords, human-made": 0.7,
    "passwords, odd notations": 0.75,
    "keys that are assigned": 0.85,
    "encoded and in pieces": 0.85,
}
"""Groups of which less than ``LEAST_RECALL`` is enough for now."""


@pytest.fixture(scope="module")
def outcomes():
    return run.measured(open_scanner(), examples(part=PART))


def test_the_rates_are_met(outcomes):
    counts = run.score("all", outcomes)
    assert run.passes(counts), counts


def test_each_group_is_found(outcomes):
    for name, those in run.groups(outcomes).items():
        counts = run.score(name, those)
        if counts.positives:
            missed = [outcome.example.text for outcome in those if outcome.wrong]
            assert counts.recall >= LEAST.get(name, run.LEAST_RECALL), (name, missed)


def test_what_is_found_is_in_its_place(outcomes):
    positives = [outcome for outcome in outcomes if outcome.example.positive and outcome.found]
    astray = [outcome.example.text for outcome in positives if not outcome.in_place]
    assert len(astray) <= 0.01 * len(positives), astray


def test_harmless_texts_alarm_nobody(outcomes):
    alarms = [
        (outcome.rules, outcome.example.text) for outcome in outcomes if outcome.wrong and not outcome.example.positive
    ]
    assert len(alarms) <= 0.01 * sum(not outcome.example.positive for outcome in outcomes), alarms


def test_the_corpus_is_the_same_each_time_and_another_with_another_seed():
    def texts(seed: int) -> list[str]:
        return [example.text for example in examples(seed, 0.01)]

    assert texts(1) == texts(1)
    assert set(texts(1)) != set(texts(2))


def test_the_corpus_is_large_and_of_many_kinds():
    corpus = list(examples())
    assert len({example.text for example in corpus}) == len(corpus)
    counts = Counter((example.group, example.positive) for example in corpus)
    assert sum(count for (_, positive), count in counts.items() if positive) >= 4_000
    assert sum(count for (_, positive), count in counts.items() if not positive) >= 3_000
    assert len(counts) >= 15
    assert len({example.rule for example in corpus if example.rule}) >= 400


def test_spans_hold_the_value():
    for example in examples(part=0.01):
        if example.positive:
            assert 0 <= example.start < example.end <= len(example.text), example


def test_formats_and_encodings_are_many():
    assert len(FORMATS) >= 80
    assert len(ENCODINGS) >= 15


@pytest.mark.parametrize(
    ("body", "digit"),
    # The samples of the Luhn algorithm's own description and of ISO/IEC 7812.
    [("7992739871", "3"), ("400000000000000", "2"), ("37828224631000", "5")],
)
def test_luhn(body, digit):
    assert people.luhn_digit(body) == digit


def _example(text: str, *, positive: bool = True) -> Example:
    return Example(text, "g", "f", positive, 0, len(text))


def test_counting():
    outcomes = [
        run.Outcome(_example("a"), found=True, in_place=True),
        run.Outcome(_example("b"), found=True),
        run.Outcome(_example("c"), found=False),
        run.Outcome(_example("d", positive=False), found=True),
        run.Outcome(_example("e", positive=False), found=False),
    ]
    counts = run.score("all", outcomes)
    assert (counts.positives, counts.hits, counts.in_place, counts.negatives, counts.alarms) == (3, 2, 1, 2, 1)
    assert counts.recall == counts.precision == counts.f1 == pytest.approx(2 / 3)
    assert not run.passes(counts)


def test_misses_and_alarms_are_told(capsys, monkeypatch):
    key = "ghp_" + hashlib.sha256(b"a").hexdigest()[:36]
    corpus = [_example("nothing here"), _example(key, positive=False)]
    monkeypatch.setattr(run, "examples", lambda *_: corpus)
    assert run.main(["--misses", "--alarms"]) == 1
    told = capsys.readouterr().out
    assert "missed  [g: f]  'nothing here'" in told
    assert "alarm secrets_detection/github_pat_classic  [g: f]" in told
    assert "FAILED" in told
