"""The plan of a job: what its agent would do outside, and what the base commit declares that it may.

An agent writes the plan, and so can any code that ran in its job. So whoever reads it takes nothing from it on trust:
where it acts, and what it may do, come from the event and from the base commit.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import click

from lockgate.core.display_text import visible
from lockgate.policy.validation import parse
from lockgate.system.files import read_regular, replace

PLAN_FILE = "lockgate-plan.json"
MOST = 1024 * 1024
"""Bytes of a plan."""
_FILE = "lockgate.yaml"
_MOST_SHOWN = 200


class PlanTarget(NamedTuple):
    """The targets of a job: its own run, and what its event is about."""

    run: str
    repository: str
    number: int


class Declaration(NamedTuple):
    """The outside acts that the base commit allows."""

    comments: int = 0
    labels: frozenset[str] = frozenset()
    reviews: int = 0
    approves: bool = False

    def problems(self, outputs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        """What of a plan is not declared, in a person's words."""
        counts = Counter(str(output["kind"]) for output in outputs)
        for kind, most in (("comment", self.comments), ("review", self.reviews)):
            if counts[kind] > most:
                yield f"{counts[kind]} {kind}(s), and {most} may be made"
        named = {name for output in outputs for name in output.get("names", ())}
        if undeclared := sorted(named - self.labels):
            yield f"the label {visible(undeclared[0], 60)!r} is not declared"
        if not self.approves and any(output.get("event") == "APPROVE" for output in outputs):
            yield "an approval is not declared"


def read_declaration(data: bytes | None) -> Declaration:
    """What a ``lockgate.yaml`` declares; nothing where there is none.

    Raises:
        ClickException: It is not valid.
    """
    found = parse(data or b"{}", _FILE)
    if found.value is None:
        raise click.ClickException(visible(str(found.problems[0]), 600))
    outputs = found.value.get("ci", {}).get("outputs", {})
    comment, labels, review = (outputs.get(name) for name in ("comment", "labels", "review"))
    return Declaration(
        _most(comment),
        frozenset(labels["from"] if labels else ()),
        _most(review),
        bool(review and review.get("approve")),
    )


def _most(output: Mapping[str, Any] | None) -> int:
    """How many outputs of a kind are declared: one where a declaration gives no number."""
    return 0 if output is None else int(output.get("max", 1))


def read_plan(path: str) -> Mapping[str, Any]:
    """Read a plan of which only the shape is sure afterwards.

    Raises:
        ClickException: It is no regular file, too large, or not of the shape.
    """
    try:
        value = json.loads(read_regular(path, MOST, follow=False).decode("utf-8"), parse_constant=_no_number)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except OSError as error:
        raise click.ClickException(f"the plan cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise click.ClickException("the plan is no JSON") from None
    return check_plan(value)


def check_plan(value: Any) -> Mapping[str, Any]:
    """A value that has the shape of a plan. Raises ``ClickException`` where it has not."""
    import jsonschema

    error = next(jsonschema.Draft202012Validator(_schema()).iter_errors(value), None)
    if error is not None:
        place = visible("/".join(map(str, error.absolute_path)) or "its top", _MOST_SHOWN)
        raise click.ClickException(f"the plan does not have the shape of one, at {place}")
    found: Mapping[str, Any] = value
    return found


def add_act(root: str, target: PlanTarget, output: Mapping[str, Any]) -> int:
    """Add what an agent would have done to the plan of its job.

    Args:
        root: The checkout's root.
        target: Where the job may act.
        output: What it would have done.

    Returns:
        How much is planned now.

    Raises:
        ClickException: It is not declared, or the plan cannot be written.
    """
    path = os.path.join(root, PLAN_FILE)
    before = read_plan(path)["outputs"] if os.path.lexists(path) else []
    plan = check_plan({"version": 1, **target._asdict(), "outputs": [*before, output]})
    for problem in read_declaration(_declaration_in(root)).problems(plan["outputs"]):
        raise click.ClickException(f"this is not declared for this job: {problem}")
    try:
        replace(path, json.dumps(plan, indent=1).encode(), draft=f"{path}.{os.getpid()}")
    except OSError as error:
        raise click.ClickException(f"the plan cannot be written: {error.strerror or error}") from None
    return len(plan["outputs"])


def _declaration_in(root: str) -> bytes | None:
    try:
        return read_regular(os.path.join(root, _FILE), MOST, follow=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise click.ClickException(f"{_FILE} cannot be read: {error.strerror or error}") from None


@cache
def _schema() -> Any:
    return json.loads(Path(__file__).with_name("plan.schema.json").read_bytes())


def _no_number(_: str) -> None:
    raise ValueError
