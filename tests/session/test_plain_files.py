"""A file whose place makes it secret, of which every shown line tells no secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labelled import DIGEST, MAIN, NONE, S, U, never

from lockgate.core.model import Analysis, Effect, EffectKind, Label, ToolCall
from lockgate.gate.session import expect, labels_of, settle_result
from lockgate.gate.session.own_words import plain_lines, says_nothing
from lockgate.resources.data import build
from lockgate.store.protocol import Transaction

ROWS = [row for row in build.load(Path(build.HERE, "places.yaml")) if "plain" in row]
READ = ToolCall("Read", {"file_path": ".env"}, call_id="c1")
PLAIN = "# Local dev - use localhost API\n\nVITE_API_URL=http://localhost:3000\nDEBUG=true\n"


def reading(*effects: tuple[str, Label], what: str = ".env") -> Analysis:
    kinds = {U: EffectKind.INGEST, S: EffectKind.READ_SECRET}
    return Analysis(tuple(Effect(kinds[gives], what, rule, "a test", gives=gives) for rule, gives in effects))


DOTENV = ("place:secret/dotenv", S)


@pytest.mark.parametrize(
    ("line", "plain"),
    [(line, True) for row in ROWS for line in row["shows_plain"]]
    + [(line, False) for row in ROWS for line in row["shows_secret"]],
)
def test_each_example_of_the_table(line: str, plain: bool) -> None:
    assert says_nothing(line, plain_lines(READ, reading(DOTENV))) is plain


def test_the_table_has_examples_of_both_kinds() -> None:
    assert [row["name"] for row in ROWS] == ["secret/dotenv"]
    assert all(row["shows_plain"] and row["shows_secret"] for row in ROWS)


SEARCH = ToolCall("Grep", {"pattern": "x", "glob": "*.{md,env*}"}, call_id="c1")
BELOW = reading(DOTENV, what="./**/*.env*")
OTHERS = "content\ndocs/a.md:3:a line\n--\ndocs/a.md-4-the next"


@pytest.mark.parametrize(
    ("analysis", "text", "left"),
    [
        pytest.param(BELOW, OTHERS, NONE, id="lines of other files"),
        pytest.param(BELOW, f"{OTHERS}\napi/.env:5:A=b", {S}, id="a line of such a file"),
        pytest.param(BELOW, f"{OTHERS}\napi/.env:5:DB_HOST=localhost", NONE, id="a plain line of such a file"),
        pytest.param(BELOW, "env:5:VITE_X=/.env:7:A=rosebud", {S}, id="a folder that is called like a plain line"),
        pytest.param(BELOW, f"{OTHERS}\napi/PROD.ENV-5-A=b", {S}, id="a line beside one, in other letters"),
        pytest.param(BELOW, f"{OTHERS}\napi/.env:5:A=b\rc", {S}, id="a line that is drawn over itself"),
        pytest.param(BELOW, "x:1:" + "a" * 3000, {S}, id="a line that is too long to be looked at"),
        pytest.param(reading(DOTENV), "A=b", {S}, id="the file itself, which the lines do not name"),
        pytest.param(reading(DOTENV, ("config:secret", S), what="./**/x"), OTHERS, {S}, id="a place of a person's too"),
    ],
)
def test_a_search_is_of_the_files_that_it_shows(
    tx: Transaction, analysis: Analysis, text: str, left: set[Label]
) -> None:
    expect(tx, MAIN, SEARCH, analysis, DIGEST, 1.0)
    settle_result(tx, MAIN, SEARCH, text, 2.0, digest=DIGEST, fresh=never)
    assert labels_of(tx, MAIN) == left


def test_the_mark_stands_in_each_name() -> None:
    for row in ROWS:
        assert all(row["mark"] in pattern.casefold() for pattern in row["match"])


@pytest.mark.parametrize(
    ("call", "analysis", "text", "left"),
    [
        pytest.param(READ, reading(DOTENV), PLAIN, NONE, id="plain lines alone"),
        pytest.param(READ, reading(DOTENV), f"{PLAIN}DB_PASSWORD=rosebud", {S}, id="one line more"),
        pytest.param(READ, reading(DOTENV), f"VITE_X=a\u2028DB_PASSWORD=rosebud\n{PLAIN}", {S}, id="two lines in one"),
        pytest.param(READ, reading(("config:secret", S)), PLAIN, {S}, id="a place that a person named"),
        pytest.param(READ, reading(DOTENV, ("config:secret", S)), PLAIN, {S}, id="also such a place"),
        pytest.param(READ, reading(("place:secret/private-key", S)), PLAIN, {S}, id="a place that is never plain"),
        pytest.param(READ, reading(DOTENV, ("place:vendored/x", U)), PLAIN, {S, U}, id="of a stranger, too"),
        pytest.param(READ._replace(tool="Bash"), reading(DOTENV), PLAIN, {S}, id="a shell command"),
        pytest.param(READ._replace(tool="mcp__files__read"), reading(DOTENV), PLAIN, {S}, id="an unknown tool"),
        pytest.param(READ, reading(DOTENV)._replace(keeps=frozenset({S})), PLAIN, {S}, id="kept in a file"),
    ],
)
@pytest.mark.parametrize("seen", [True, False])
def test_what_was_shown_decides(
    tx: Transaction, call: ToolCall, analysis: Analysis, text: str, left: set[Label], seen: bool
) -> None:
    if seen:
        expect(tx, MAIN, call, analysis, DIGEST, 1.0)
        assert labels_of(tx, MAIN) == analysis.gives
    settle_result(tx, MAIN, call, text, 2.0, digest=DIGEST, fresh=never if seen else lambda: analysis)
    assert labels_of(tx, MAIN) == left


def test_what_goes_on_in_the_background_is_not_plain(tx: Transaction) -> None:
    expect(tx, MAIN, READ, reading(DOTENV), DIGEST, 1.0)
    settle_result(tx, MAIN, READ, PLAIN, 2.0, digest=DIGEST, fresh=never, background=True)
    assert labels_of(tx, MAIN) == {S}


NAMES = ["DB_PASSWORD", "API_TOKEN", "STRIPE_SECRET", "VITE_TOKEN", "NAME"]


@given(st.sampled_from(NAMES), st.text("aB3/+", min_size=6))
def test_no_value_under_a_name_of_a_secret_is_plain(name: str, value: str) -> None:
    assert not says_nothing(f"{name}={value}", plain_lines(READ, reading(DOTENV)))


@pytest.mark.parametrize("word", ["a", "a1b", "a-b", "A_", " a", "a.", "(a"])
def test_a_long_line_is_told_at_once(word: str) -> None:
    for begun in ("# ", "VITE_", "", "A="):
        assert not says_nothing(begun + word * 300 + "\x00", plain_lines(READ, reading(DOTENV)))
