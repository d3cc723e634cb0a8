"""What holds for every text: an answer, in time; and for every tree: written down and read, it is the same."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reader_fuzz import mutants
from reader_writer import normal, scripts, written

from lockgate.shell.grammar import cursor as _cursor
from lockgate.shell.grammar.reader import read
from lockgate.shell.grammar.tree import Script, Unparsed, commands, walk

_AGENT: list[str] = tomllib.loads((Path(__file__).parent / "agent_commands.toml").read_text(encoding="utf-8"))[
    "commands"
]
_SHELL_TEXT = st.lists(
    st.sampled_from(
        [*"'\"`$\\#;&|<>(){}[]!~*?=,:/-+@%^\n\t aE1", "$(", "${", "$((", "<<E\n", "\nE\n", "c1 ", "if ", "case x in "]
    ),
    max_size=60,
).map("".join)
_CONTROLS = [chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))]


@given(st.text() | _SHELL_TEXT, st.sampled_from(["bash", "sh"]))
def test_every_text_gets_an_answer(text: str, dialect: str) -> None:
    answer = read(text, dialect)

    if isinstance(answer, Unparsed):
        assert answer.reason
        assert answer.reason[-1] != "."
        assert 0 <= answer.position <= len(text)
    else:
        assert len(list(walk(answer))) <= len(text)


@given(st.sampled_from(_AGENT), st.integers(0, 400), st.sampled_from([*_CONTROLS, "\ud800", "\udfff"]))
def test_a_control_character_anywhere_is_refused(text: str, position: int, character: str) -> None:
    position %= len(text) + 1

    assert isinstance(read(text[:position] + character + text[position:]), Unparsed)


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@given(scripts())
def test_a_written_tree_is_read_as_it_was(tree: Script) -> None:
    answer = read(written(tree))

    assert not isinstance(answer, Unparsed), answer
    assert normal(answer) == normal(tree)


@given(st.sampled_from(_AGENT), st.sampled_from(_AGENT))
def test_lists_are_read_as_their_parts(first: str, second: str) -> None:
    one, other, both = read(first), read(second), read(f"{first}\n{second}")

    assert isinstance(one, Script)
    assert isinstance(other, Script)
    assert isinstance(both, Script)
    assert len(list(walk(both))) == len(list(walk(one))) + len(list(walk(other)))


@pytest.mark.parametrize("text", _AGENT)
def test_reads_what_agents_write(text: str) -> None:
    assert not isinstance(read(text), Unparsed)


def test_what_sh_reads_bash_reads_in_the_same_way() -> None:
    for text in mutants(_AGENT, 1_000, 1):
        strict = read(text, "sh")
        if not isinstance(strict, Unparsed) and "time" not in text:
            assert read(text) == strict


# ---------------------------------------------------------------- limits

# fmt: off
_PIECES = (
    "(", "$(", "`", "{", "{ ", "$((", "${x:-", "[", "[[", '"$(', "a=(", "<(", "case x in x) ", "if ", "time ", "! ",
    "coproc ", "{a,", "a[", "f() { ", "<<E ", "\\\n", '"', "$'", "~", "${#", "x|", "&&", "<<<", "$(`", "((", "for ",
    "~:", "a=~:", "[a", "*", "{a..b}", "${x/", "\"${x:-'", "\\\\`", "`\\`", "$(cat <<E\n", "x=", "a\\\n", "{}", "{,}",
    ";", "# ", "\n", "a ", "[[ a && ", "[[ ( ", "[[ x =~ (", "{1..256}", "=[", '${x:-"', "c1;",
)
# fmt: on


@pytest.mark.sampled
@pytest.mark.parametrize("piece", _PIECES)
def test_long_repetitions_take_a_bounded_number_of_steps(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is counted and not timed: what is read again is bounded by a budget, however deep the nesting."""
    spent: list[int] = []
    plain = _cursor.Cursor.spend

    def counted(cursor: _cursor.Cursor, length: int) -> None:
        spent.append(length)
        plain(cursor, length)

    monkeypatch.setattr(_cursor.Cursor, "spend", counted)
    for text in (piece * (65_000 // len(piece)), piece * 5_000 + ")" * 5_000, piece * 5_000 + "}" * 5_000):
        assert isinstance(read(text[: _cursor.MAX_LENGTH]), Script | Unparsed)

    assert sum(spent) <= 3 * (_cursor.MAX_REREAD + _cursor.MAX_LENGTH)


@pytest.mark.parametrize(
    ("opening", "closing"), [("$(", ")"), ("( ", ")"), ("{ ", ";}"), ('"$(', ')"'), ("${x:-", "}"), ("<(", ")")]
)
def test_deep_nesting_is_refused(opening: str, closing: str) -> None:
    assert not isinstance(read("c1 " * (opening[0] not in "({") + opening * 40 + "a" + closing * 40), Unparsed)

    answer = read("c1 " * (opening[0] not in "({") + opening * 5_000 + "a" + closing * 5_000)

    assert isinstance(answer, Unparsed)
    assert "levels deep" in answer.reason


def test_a_long_text_is_refused_unread() -> None:
    assert not isinstance(read("c1;" * (65_536 // 3)), Unparsed)
    assert isinstance(read("c" * 65_537), Unparsed)


# ---------------------------------------------------------------- walking


def test_walk_goes_in_the_order_of_the_text() -> None:
    script = read(
        'c1 "$(c2 `c3`)" > >(c4); for i in $(c5); do f() { c6; }; done <<< ${x:-$(c7)}; [[ $(c8) ]]; ((a[$(c9)0]))'
    )

    assert isinstance(script, Script)
    assert [command.words[0].literal for command in walk(script)] == [
        f"c{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 9)
    ]


def test_commands_tell_what_they_stand_in() -> None:
    script = read("c1 | c2 $(c3)")

    assert isinstance(script, Script)
    assert [(found.command.words[0].literal, found.inside) for found in commands(script)] == [
        ("c1", ("Script", "Pipeline")),
        ("c2", ("Script", "Pipeline")),
        ("c3", ("Script", "Pipeline", "Simple", "Word", "CommandSub", "Script")),
    ]
