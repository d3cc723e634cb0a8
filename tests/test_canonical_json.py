"""JSON: the one text of a value, by a shorter way than the standard library, and reading what others write."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.system.digests import canonical_json, json_object, strict_decoder, usual_json

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


def _plainly(value: Any, **options: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), **options)


@given(_VALUES)
def test_it_is_what_the_standard_library_writes(value: Any) -> None:
    assert canonical_json()(value) == _plainly(value)
    assert usual_json()(value) == json.dumps(value)


def test_lone_surrogates_are_written_as_escapes() -> None:
    assert canonical_json()({"\udcff": "\ud800"}) == '{"\\udcff":"\\ud800"}'


def test_nothing_is_kept_from_one_text_to_the_next() -> None:
    write = canonical_json()
    with pytest.raises(TypeError):
        write([1, {"a": object()}])
    assert write([1, {"a": 2}]) == '[1,{"a":2}]'


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")], ids=str)
def test_a_number_that_json_does_not_have(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json()([number])
    assert canonical_json(allow_nan=True)([number]) == _plainly([number])


def test_what_json_does_not_have_is_made_into_something_else() -> None:
    write = canonical_json(default=str)
    assert write([1j, {"a": {2}}]) == _plainly([1j, {"a": {2}}], default=str)


def test_what_has_no_end_is_an_error() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        canonical_json()(endless)


def test_another_interpreter_writes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"b": [1, 2.5, None, "é"], "a": {"d": True, "c": "\n"}}
    quickly = canonical_json()(value)
    monkeypatch.setattr("json.encoder.c_make_encoder", None)
    assert canonical_json()(value) == quickly == _plainly(value)


@pytest.mark.parametrize("text", ['{"a": 1}', b'{"a": 1}', ' {"a": 1}\n'])
def test_an_object_of_anybodys_making_is_read(text: str | bytes) -> None:
    assert json_object(text) == {"a": 1}


@pytest.mark.parametrize("text", ["", "[]", "1", "null", '"a"', '{"a": 1', b"\xff", "[" * 100_000, '{"a":' * 100_000])
def test_all_else_is_no_object_and_no_error(text: str | bytes) -> None:
    assert json_object(text) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1, "a": 2}', "has an object with the same key twice"),
        ('[{"b": {"a": 1, "a": 1}}]', "has an object with the same key twice"),
        ("NaN", "holds NaN, which is not JSON"),
        ("[-Infinity]", "holds -Infinity, which is not JSON"),
    ],
)
def test_what_two_readers_may_read_differently_is_refused(text: str, why: str) -> None:
    def refuse(said: str) -> NoReturn:
        raise LookupError(said)

    with pytest.raises(LookupError, match=re.escape(why)):
        strict_decoder(refuse).decode(text)
