"""Commands hidden in every place, spelled in every way: what real bash runs is in the tree, or the text is refused."""

from __future__ import annotations

import os
import random
import tomllib
from pathlib import Path

import pytest
from reader_support import missed

from lockgate.shell.grammar.reader import read
from lockgate.shell.grammar.tree import Unparsed
from support.bash_oracle import run
from support.stress import times

_TABLE = tomllib.loads((Path(__file__).parent / "canaries.toml").read_text(encoding="utf-8"))
_CONTEXTS: list[str] = _TABLE["contexts"]
_NAMES: list[str] = _TABLE["names"]

_SAMPLE = int(os.environ.get("SHELL_CANARIES", times(1000)))
"""How many of the pairs are run; all of them (about 88,000) take ten minutes."""
_SEED = int(os.environ.get("SHELL_SEED", "1"))


def _pairs() -> list[str]:
    pairs = [outer.replace("@", inner.replace("@", "c1")) for outer in _CONTEXTS for inner in _CONTEXTS]
    pairs += [context.replace("@", name) for context in _CONTEXTS for name in _NAMES]
    return pairs


def _misses(texts: list[str]) -> dict[str, list[tuple[str, ...]]]:
    misses = {}
    for text, commands in zip(texts, run(texts), strict=True):
        lost = missed(text, [command.argv for command in commands])
        if lost:
            misses[text] = lost
    return misses


def test_there_are_enough_places() -> None:
    assert len(set(_CONTEXTS)) >= 250
    assert len(set(_NAMES)) >= 30


def test_every_place_really_runs_its_command() -> None:
    """A canary that bash never runs would prove nothing."""
    texts = [context.replace("@", "c1") for context in _CONTEXTS]
    silent = [text for text, ran in zip(texts, run(texts), strict=True) if "c1" not in {one.argv[0] for one in ran}]

    assert silent == ["echo $((c1))", "((c1))"]


def test_single_canaries() -> None:
    assert _misses([context.replace("@", "c1") for context in _CONTEXTS] + _NAMES) == {}


@pytest.mark.stress
def test_canaries_in_pairs() -> None:
    pairs = _pairs()
    random.Random(_SEED).shuffle(pairs)

    assert _misses(pairs[:_SAMPLE]) == {}


@pytest.mark.parametrize("context", _CONTEXTS)
def test_most_places_are_read(context: str) -> None:
    """The places that are refused are known: refusing is safe, but it must not spread unseen."""
    refused = isinstance(read(context.replace("@", "c1")), Unparsed)

    assert refused == (context in _TABLE["refused"])


def test_without_bubblewrap_the_tests_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")

    with pytest.raises(pytest.fail.Exception, match=r"scripts/setup_system\.sh"):
        run(["c1"])
