"""Patterns over names, against a reference that tries every name."""

from __future__ import annotations

import fnmatch
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.resources.globs import (
    common_beginning,
    common_ending,
    longest_text,
    name_matches,
    names_meet,
    path_matches,
    paths_meet,
)

ALPHABET = "ab."
EVERY_NAME = ["".join(letters) for size in range(9) for letters in itertools.product(ALPHABET, repeat=size)]
patterns = st.text(st.sampled_from([*ALPHABET, "*", "?"]), max_size=4)


def matched(pattern: str) -> set[str]:
    expression = re.compile(fnmatch.translate(pattern))
    return {name for name in EVERY_NAME if expression.match(name)}


@given(patterns, st.text(ALPHABET, max_size=5))
def test_a_pattern_matches_what_the_standard_library_matches(pattern, name):
    assert name_matches(pattern, name) == (name in matched(pattern))


@given(st.text(st.sampled_from([*ALPHABET, "*", "?", "[", "]"]), max_size=6))
def test_all_names_that_a_pattern_matches_begin_and_end_alike_and_hold_a_text(pattern):
    for name in filter(lambda name: name_matches(pattern, name), EVERY_NAME):
        assert name.startswith(common_beginning(pattern))
        assert name.endswith(common_ending(pattern))
        assert longest_text(pattern) in name


@given(patterns, patterns)
def test_two_patterns_meet_where_some_name_matches_both(left, right):
    hidden = left[:1] == "." and right[:1] in {"*", "?"}
    assert names_meet(left, right) == (left == right or (not hidden and bool(matched(left) & matched(right))))


names = st.lists(st.sampled_from(["**", "a", "b", "*", "a*"]), max_size=4).map(tuple)
plain = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=5).map(tuple)


@given(names, plain)
def test_a_path_without_marks_meets_what_matches_it(pattern, path):
    assert path_matches(pattern, path) == paths_meet(pattern, path)


@given(names, names, plain)
def test_two_patterns_that_match_one_path_meet(left, right, path):
    if path_matches(left, path) and path_matches(right, path):
        assert paths_meet(left, right)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("settings.json", "s[a-f]ttings.json", True),
        ("settings.json", "s[!e]ttings.json", False),
        ("settings.json", "s[^x]ttings.json", True),
        ("settings.json", "[[:alpha:]]ettings.json", True),
        ("a]b", "a[]]b", True),
        ("[slug]", "[slug]", True),
        ("x", "[slug]", False),
        ("a", "[", False),
        ("st*", "*s[0-9]", True),
        ("st*", "*a[0-9]", True),
        ("settings.json", "s[[:alpha:]-]*", True),
        ("settings.json", "s[]e]ttings.json", True),
        ("settings.json", "s[!]e]ttings.json", False),
        ("settings.json", "s[[:alpha:]", False),
        ("st*", "st[0-9]", True),
        (".env", "*env", False),
        (".env", ".*", True),
    ],
)
def test_classes(left, right, expected):
    assert names_meet(left, right) is expected
