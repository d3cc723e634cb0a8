"""Reads values of audit records and questions. A value of another type than expected counts as missing.

A record is normally the gate's own. One that somebody changed in the database must be shown as well as it can be, so
that it is noticed. It must never be a fault of the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar, cast, get_args

from lockgate.core.model import Label, LabelState
from lockgate.service.http.schemas import VerdictWord
from lockgate.store.audit import bodies
from lockgate.store.audit.bodies import body_of as body_of
from lockgate.store.audit.bodies import part as part

_Choice = TypeVar("_Choice", Label, LabelState)
EPOCH = datetime.fromtimestamp(0, UTC)


def text(value: object) -> str:
    """A text; empty where it is something else."""
    return value if isinstance(value, str) else ""


def texts(about: Mapping[str, Any], *names: str) -> dict[str, str]:
    """The texts of some fields, by their names."""
    return {name: text(about.get(name)) for name in names}


def number(value: object) -> float:
    """A finite number; 0 where it is something else."""
    return bodies.number(value) or 0.0


def is_true(value: object) -> bool:
    """Whether it is exactly true."""
    return value is True


def rows(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list | tuple) else []


def words(value: object) -> list[str]:
    """The texts of a list."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | tuple) else []


def moment(at: object) -> datetime | None:
    """A time in seconds since the epoch; ``None`` for never."""
    seconds = number(at)
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (OverflowError, ValueError, OSError):
        return None


def instant(at: object) -> datetime:
    """A time that must be there; the epoch where it cannot be told."""
    return moment(at) or EPOCH


def label(value: object) -> Label | None:
    """A label."""
    return _choice(Label, value)


def labels(value: object) -> list[Label]:
    """The labels of a list."""
    return [found for each in words(value) if (found := label(each)) is not None]


def state(value: object) -> LabelState | None:
    """A column of the policy table."""
    return _choice(LabelState, value)


def _choice(kind: type[_Choice], value: Any) -> _Choice | None:
    try:
        return kind(value)
    except ValueError:
        return None


def verdict(value: object) -> VerdictWord | None:
    """A verdict's word."""
    return cast(VerdictWord, value) if value in get_args(VerdictWord) else None
