"""A ``Record`` behaves as a ``NamedTuple`` with the same body does."""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from lockgate.core.record import Record
from lockgate.system.digests import blake2b, sha256


class Ours(Record):
    """Text."""

    a: int
    b: str = "x"
    c: tuple[str, ...] = ()
    """About c."""

    @property
    def both(self) -> str:
        return f"{self.a}{self.b}"


class Theirs(NamedTuple):
    """Text."""

    a: int
    b: str = "x"
    c: tuple[str, ...] = ()

    @property
    def both(self) -> str:
        return f"{self.a}{self.b}"


class Nothing(Record):
    """No fields."""


class Undemanding(Record):
    one: int = 1


def _matched(record: Any) -> str:
    match record:
        case Ours(a, "x") | Theirs(a, "x"):
            return f"x{a}"
        case Ours(c=(first, *_)) | Theirs(c=(first, *_)):
            return str(first)
        case _:
            return "nothing"


SAME: dict[str, Callable[[Any], Any]] = {
    "all in order": lambda kind: tuple(kind(1, "y", ("z",))),
    "defaults": lambda kind: tuple(kind(1)),
    "by name": lambda kind: tuple(kind(c=("z",), a=1)),
    "mixed": lambda kind: tuple(kind(1, c=("z",))),
    "attributes": lambda kind: (kind(1, "y").a, kind(1, "y").b, kind(1).c),
    "property": lambda kind: kind(1, "y").both,
    "fields": lambda kind: (kind._fields, kind._field_defaults, kind.__match_args__, kind.__doc__),
    "replace": lambda kind: tuple(kind(1)._replace(b="y", a=2)),
    "replace nothing": lambda kind: tuple(kind(1)._replace()),
    "make": lambda kind: tuple(kind._make(iter([1, "y", ()]))),
    "asdict": lambda kind: kind(1)._asdict(),
    "equal to a tuple": lambda kind: kind(1, "y") == (1, "y", ()),
    "hash": lambda kind: hash(kind(1)) == hash((1, "x", ())),
    "ordered": lambda kind: sorted([kind(2), kind(1, "y"), kind(1)]) == [(1, "x", ()), (1, "y", ()), (2, "x", ())],
    "unpacked": lambda kind: [*kind(1)],
    "matched": lambda kind: [_matched(kind(1)), _matched(kind(1, "y", ("z",))), _matched(kind(1, "y"))],
    "repr": lambda kind: repr(kind(1, "y'")).replace(kind.__name__, "Kind"),
    "copied": lambda kind: copy.deepcopy(kind(1, "y", ("z",))) == kind(1, "y", ("z",)),
    "pickled": lambda kind: pickle.loads(pickle.dumps(kind(1, "y"))) == kind(1, "y"),
    "no other attributes": lambda kind: hasattr(kind(1), "__dict__"),
    "a tuple": lambda kind: isinstance(kind(1), tuple),
    "type is kept": lambda kind: {type(kind(1)._replace(a=2)), type(kind._make((1, "", ())))} == {kind},
}


@pytest.mark.parametrize("told", [pytest.param(told, id=name) for name, told in SAME.items()])
def test_like_a_named_tuple(told: Callable[[Any], Any]) -> None:
    assert told(Ours) == told(Theirs)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "missing": lambda kind: kind(),
    "missing, others by name": lambda kind: kind(b="y"),
    "too many": lambda kind: kind(1, "y", (), 4),
    "unknown name": lambda kind: kind(1, d=2),
    "given twice": lambda kind: kind(1, a=2),
    "make of too few": lambda kind: kind._make([1]),
    "make of too many": lambda kind: kind._make([1, 2, 3, 4]),
}


@pytest.mark.parametrize("told", [pytest.param(told, id=name) for name, told in REFUSED.items()])
def test_refuses_what_a_named_tuple_refuses(told: Callable[[Any], Any]) -> None:
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            told(kind)


def test_fields_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        setattr(Ours(1), "a", 2)  # noqa: B010 - as an attacker of the type checker would


def test_an_unknown_field_cannot_be_replaced() -> None:
    with pytest.raises(TypeError, match="no field 'd'"):
        Ours(1)._replace(d=1)  # type: ignore[call-arg]


def test_few_fields() -> None:
    assert Nothing() == ()
    assert repr(Nothing()) == "Nothing()"
    assert Undemanding() == (1,)


def test_a_default_cannot_stand_before_a_field_without_one() -> None:
    with pytest.raises(TypeError, match="follows"):

        class Wrong(Record):
            a: int = 1
            b: int  # type: ignore[misc]


def test_a_record_whose_fields_cannot_be_read_is_refused() -> None:
    """Python 3.14 keeps no annotations in the body of a class where they are no text."""
    source = "class Wrong(Record):\n    a: int\n"
    with pytest.raises(TypeError, match="text"):
        exec(compile(source, "wrong", "exec", dont_inherit=True), {"Record": Record, "__name__": "wrong"})


def test_a_record_cannot_be_extended() -> None:
    with pytest.raises(TypeError, match="extended"):

        class More(Ours):
            d: int = 1


def test_digests_are_those_of_hashlib() -> None:
    assert sha256(b"text").hexdigest() == hashlib.sha256(b"text").hexdigest()
    ours = blake2b(b"text", key=b"key", person=b"person", digest_size=16).digest()
    assert ours == hashlib.blake2b(b"text", key=b"key", person=b"person", digest_size=16).digest()
