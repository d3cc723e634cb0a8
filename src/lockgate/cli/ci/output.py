"""``lockgate ci output``: adds what a job's agent would have done outside to the job's plan."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from lockgate.cli.ci.job import job_facts, read_event
from lockgate.cli.ci.plan import MOST, PlanTarget, add_act
from lockgate.cli.common.ancestors import variables_above
from lockgate.system.files import read_regular

_BODY = click.option("--body-file", required=True, type=click.Path(), help="The file that holds the text, as Markdown.")
_VARIABLES = frozenset({
    "GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_SHA", "GITHUB_WORKSPACE"
})  # fmt: skip
_EVENTS = {"comment": "COMMENT", "request-changes": "REQUEST_CHANGES", "approve": "APPROVE"}


@click.group(short_help="Plan what another job carries out.")
def output() -> None:
    """Write into the job's plan what another job carries out, on the issue or pull request that the job is about.

    The base commit's lockgate.yaml declares what may be planned. Nothing is sent by this.

    Exit status: 0 planned; 1 it is not declared, or cannot be written; 2 usage.
    """


@output.command(short_help="Plan a comment.")
@_BODY
def comment(body_file: str) -> None:
    """Plan a comment. Links to elsewhere and mentions are taken out of it."""
    _add({"kind": "comment", "body": _text(body_file)})


@output.command(short_help="Plan labels.")
@click.argument("names", nargs=-1, required=True)
def labels(names: tuple[str, ...]) -> None:
    """Plan that the labels NAMES are added."""
    _add({"kind": "labels", "names": list(names)})


@output.command(short_help="Plan a review.")
@click.option("--event", type=click.Choice(list(_EVENTS)), default="comment", show_default=True, help="What it says.")
@_BODY
def review(event: str, body_file: str) -> None:
    """Plan a review of the pull request."""
    _add({"kind": "review", "event": _EVENTS[event], "body": _text(body_file)})


def find_target(environ: Mapping[str, str]) -> PlanTarget:
    """Where the job of a process may act.

    Raises:
        ClickException: Its event is about no issue and no pull request.
    """
    facts = job_facts(environ, read_event(environ))
    run = environ.get("GITHUB_RUN_ID", "")
    if not (facts.repository and facts.number and run) or facts.event.startswith("discussion"):
        raise click.ClickException("the job's event is about no issue and no pull request: nothing can be planned")
    return PlanTarget(run, facts.repository, facts.number)


def _add(entry: Mapping[str, Any]) -> None:
    environ = _job_variables()
    root = environ.get("GITHUB_WORKSPACE") or os.getcwd()
    count = add_act(root, find_target(environ), entry)
    click.echo(f"planned, and not done yet: another job looks at it ({count} in the plan)")


def _job_variables() -> Mapping[str, str]:
    """The job's variables, also where the client has taken them from its commands, as Gemini CLI does.

    They prove nothing: a plan is taken for an attacker's.
    """
    if os.environ.get("GITHUB_EVENT_PATH"):
        return os.environ
    return variables_above(_VARIABLES) or os.environ


def _text(path: str) -> str:
    try:
        return read_regular(path, MOST).decode("utf-8")
    except UnicodeDecodeError:
        raise click.ClickException("the text is not UTF-8") from None
    except (OSError, ValueError) as error:
        raise click.ClickException(f"the text cannot be read: {getattr(error, 'strerror', None) or error}") from None
