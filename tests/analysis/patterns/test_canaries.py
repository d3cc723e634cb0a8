"""Canaries look like real keys, are never the same twice, and can be found."""

from __future__ import annotations

import random
import re
from binascii import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.patterns.known_values.canary_formats import SHAPES, make
from lockgate.patterns.known_values.values import SHORTEST

LOOKS = {
    "aws": r"aws_access_key_id = AKIA[A-Z2-7]{16}\naws_secret_access_key = [A-Za-z0-9+/]{40}",
    "github": r"ghp_[A-Za-z0-9]{36}",
    "env": r"PROD_API_SECRET=[A-Za-z0-9]{40}",
    "url": r"https://backup\.invalid/export/[a-z0-9]{24}",
    "text": r"[A-Za-z0-9]{32}",
}


def test_every_shape_is_tested() -> None:
    assert set(LOOKS) == set(SHAPES)


@pytest.mark.parametrize("shape", LOOKS)
@given(seed=st.integers())
def test_what_it_looks_like(shape: str, seed: int) -> None:
    made = make(shape, random.Random(seed).randrange)
    assert re.fullmatch(LOOKS[shape], made.text)
    assert all(value in made.text and len(value) >= 2 * SHORTEST for value in made.values)


@given(st.integers())
def test_the_checksum_of_a_github_token_holds(seed: int) -> None:
    (value,) = make("github", random.Random(seed).randrange).values
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    number = 0
    for digit in value[-6:]:
        number = number * 62 + digits.index(digit)
    assert number == crc32(value[4:-6].encode())


@pytest.mark.parametrize("shape", LOOKS)
def test_it_uses_the_numbers_that_it_is_given(shape: str) -> None:
    source = random.Random(7)
    assert make(shape, source.randrange) != make(shape, source.randrange)
    assert make(shape, lambda _: 0) == make(shape, lambda _: 0)
