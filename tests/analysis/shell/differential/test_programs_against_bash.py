"""Whatever a command is made of, real bash executes no program that the analysis did not expect."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from judging import misses, report, shrunk

from support.grammar import Grammar
from support.stress import times
from support.stub_oracle import executed

_HERE = Path(__file__).parent
_GRAMMAR = Grammar(_HERE / "grammar.toml", deepest=6)
_COMMANDS = int(os.environ.get("PROGRAM_COMMANDS", times(500)))
_SEED = os.environ.get("PROGRAM_SEED", "3")


@pytest.mark.stress
def test_random_commands() -> None:
    texts = list(_GRAMMAR.texts(_COMMANDS, _SEED))

    found, followed = misses(texts)
    report(found)

    assert followed > len(texts) // 3
    assert found == {}


def test_past_misses() -> None:
    table = tomllib.loads((_HERE / "past_misses.toml").read_text(encoding="utf-8"))

    assert misses(table["texts"])[0] == {}


@pytest.mark.slow
def test_most_commands_execute_something() -> None:
    """A command that fails at once would prove nothing."""
    texts = list(_GRAMMAR.texts(200, "run"))

    assert sum(bool(commands) for commands in executed(texts)) > len(texts) * 3 // 4


def test_wrappers_and_stubs_are_real() -> None:
    texts = ["env -i c1 'a  b'; nosuch x", "echo a | xargs git push", "find . -exec c3 {} \\;", "c6 | sh", "exit; c1"]

    assert [[command.argv for command in commands] for commands in executed(texts)] == [
        [("/bin/c1", "a  b"), ("nosuch", "x")],
        [("/usr/bin/git", "push", "a")],
        [("/usr/bin/c3", "."), ("/usr/bin/c3", "./a.txt")],
        [("/usr/bin/c6",), ("/usr/bin/c8", "c9")],
        [],
    ]


@pytest.mark.slow
def test_a_miss_is_found_and_made_small() -> None:
    """The judge itself: a program that nobody expected is told, and the rest of the text is taken away."""

    def unexpected(texts: list[str]) -> list[str]:
        ran = executed(texts)
        return [
            text
            for text, commands in zip(texts, ran, strict=True)
            if any(one.argv[0] == "/usr/bin/c3" for one in commands)
        ]

    assert shrunk("c1 && { c2 || c3 'a b'; } | cat\necho done", unexpected) in ("c3", "c3;", "c3|")
