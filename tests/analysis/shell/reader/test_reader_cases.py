"""The table of cases, and real bash's word on every row of it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from reader_support import Pattern, fits, pattern

from lockgate.shell.grammar.reader import read
from lockgate.shell.grammar.tree import Unparsed, walk
from support.bash_oracle import Command, accepts, run

_TABLE = tomllib.loads((Path(__file__).parent / "cases.toml").read_text(encoding="utf-8"))
_CASES: list[dict[str, Any]] = _TABLE["cases"]
_READ = [case for case in _CASES if "commands" in case]
_REFUSED = [case for case in _CASES if "unparsed" in case]


def _expected(case: dict[str, Any]) -> list[Pattern]:
    return [tuple(None if word == "<?>" else word for word in words) for words in case["commands"]]


@pytest.mark.parametrize("case", _READ, ids=lambda case: case["text"])
def test_lists_every_command_with_its_words(case: dict[str, Any]) -> None:
    script = read(case["text"])

    assert not isinstance(script, Unparsed), script
    assert [pattern(command) for command in walk(script)] == _expected(case)


@pytest.mark.parametrize("case", _REFUSED, ids=lambda case: case["text"])
def test_refuses_with_a_reason(case: dict[str, Any]) -> None:
    script = read(case["text"])

    assert isinstance(script, Unparsed)
    assert case["unparsed"] in script.reason
    assert 0 <= script.position <= len(case["text"])


@pytest.fixture(scope="module")
def ran() -> dict[str, list[Command]]:
    texts = [case["text"] for case in _READ]
    return dict(zip(texts, run(texts), strict=True))


@pytest.mark.parametrize("case", _READ, ids=lambda case: case["text"])
def test_bash_runs_what_is_listed(case: dict[str, Any], ran: dict[str, list[Command]]) -> None:
    expected = _expected(case)
    argvs = [command.argv for command in ran[case["text"]]]
    idle = [words[0] for words in expected if words and words[0] in case.get("idle", ())]
    canaries = [words for words in expected if words and words[0] and words[0][0] == "c" and words[0][1:].isdigit()]

    assert [argv for argv in argvs if not any(fits(words, argv) for words in expected)] == []
    assert [words for words in canaries if not any(fits(words, argv) for argv in argvs)] == [
        words for words in canaries if words[0] in idle
    ]


def test_bash_agrees_on_the_syntax_of_refused_texts() -> None:
    expected = {case["text"]: case["bash"] for case in _REFUSED if case["bash"] != "either"}

    assert dict(zip(expected, accepts(list(expected)), strict=True)) == expected


@pytest.mark.parametrize("text", _TABLE["bash_only"])
def test_sh_refuses_what_only_bash_reads(text: str) -> None:
    assert isinstance(read(text, "sh"), Unparsed)
    assert not isinstance(read(text), Unparsed)


@pytest.mark.parametrize("text", _TABLE["posix"])
def test_sh_reads_posix_as_bash_does(text: str) -> None:
    assert not isinstance(read(text, "sh"), Unparsed)
    assert [pattern(command) for command in walk(read(text, "sh"))] == [
        pattern(command) for command in walk(read(text))
    ]


def test_time_is_an_ordinary_word_for_sh() -> None:
    assert [pattern(command) for command in walk(read("time c1", "sh"))] == [("time", "c1")]


def test_knows_no_other_dialect() -> None:
    assert isinstance(read("c1", "fish"), Unparsed)
