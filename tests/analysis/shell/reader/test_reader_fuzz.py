"""Random edits of texts that bash reads, run in real bash; and every text that the reader once misread."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from reader_fuzz import mutants
from reader_support import missed

from lockgate.shell.grammar.reader import read
from lockgate.shell.grammar.tree import Script, Unparsed
from support.bash_oracle import run
from support.stress import times

_HERE = Path(__file__).parent
_MUTANTS = int(os.environ.get("SHELL_MUTANTS", times(1000)))
_SEED = int(os.environ.get("SHELL_SEED", "1"))

_BUILTINS = ("trap", "command ", "kill")
"""What these are given runs too, but that is for who knows the builtins to say; `kill` would end the oracle."""


def _table(name: str) -> dict[str, list[str]]:
    return tomllib.loads((_HERE / name).read_text(encoding="utf-8"))


def corpus() -> list[str]:
    """What is mutated: every place with a canary in it, every readable case, and commands as agents write them."""
    texts = [context.replace("@", "c1") for context in _table("canaries.toml")["contexts"]]
    texts += [case["text"] for case in _table("cases.toml")["cases"] if "commands" in case]  # type: ignore[index]
    agent = _table("agent_commands.toml")["commands"]
    return texts + [text for text in agent if not any(word in text for word in _BUILTINS)]


def _misses(texts: list[str]) -> dict[str, list[tuple[str, ...]]]:
    misses = {}
    texts = [text for text in texts if not isinstance(read(text), Unparsed)]
    for text, commands in zip(texts, run(texts), strict=True):
        lost = missed(text, [command.argv for command in commands])
        if lost:
            misses[text] = lost
    return misses


@pytest.mark.stress
def test_mutants() -> None:
    texts = list(mutants(corpus(), _MUTANTS, _SEED))

    assert sum(isinstance(read(text), Script) for text in texts) > len(texts) // 4
    assert _misses(texts) == {}


def test_past_misses() -> None:
    assert _misses(_table("past_misses.toml")["texts"]) == {}
