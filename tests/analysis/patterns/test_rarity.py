import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.patterns.credentials import randomness as rarity
from lockgate.patterns.credentials.trigrams import build

ALPHABET = string.ascii_letters + string.digits


def test_the_table_tells_its_examples_apart() -> None:
    assert build.wrong_examples() == []


def test_the_table_is_one_byte_for_each_three_classes() -> None:
    assert build.TABLE.stat().st_size == rarity.CLASSES**3


@given(st.text())
def test_a_score_is_a_share(text: str) -> None:
    assert 0.0 <= rarity.score(text) <= 1.0


def test_random_keys_are_rarer_than_names() -> None:
    keys = [key for key in build.random_keys(2_000) if len(key) >= 20]
    assert sum(rarity.score(key) > 0.5 for key in keys) / len(keys) > 0.97
    names = [name for name in dir(string) + dir(st) + dir(pytest) if len(name) > 4]
    assert sum(rarity.score(name) > 0.5 for name in names) / len(names) < 0.02


@pytest.mark.parametrize("text", ["", "a", "ab", "a1"])
def test_too_little_to_look_at_is_not_random(text: str) -> None:
    assert rarity.score(text) < 0.5


def test_more_of_the_same_chance_is_more_certain() -> None:
    key = "q9Xk2LmVz8RtYw4PbN7sDf3GhJ6"
    assert rarity.score(key) > rarity.score(key[:8])
