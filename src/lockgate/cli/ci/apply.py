"""``lockgate ci apply``: carries out what a job's agent planned, as far as the base commit declares it.

It runs in a job that starts no agent and no code of the change, and that has the token. The plan is what an attacker
would write. So all of it is looked at before any of it is done, and one thing that is wrong ends the job.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from lockgate.cli.ci.base_commit import BaseTree
from lockgate.cli.ci.job import base_of, job_facts, log_text, read_event
from lockgate.cli.ci.output import find_target
from lockgate.cli.ci.plan import PLAN_FILE, PlanTarget, read_declaration, read_plan
from lockgate.cli.ci.safe_markdown import PostingPlace, rewritten
from lockgate.cli.ci.service_api import ServiceApi
from lockgate.cli.common.person import require_person
from lockgate.cli.common.state import make_state
from lockgate.cli.scan.findings import check
from lockgate.configuration.pattern_library.opening import open_scanner
from lockgate.core.errors import PatternError
from lockgate.patterns.model import Kind
from lockgate.system.folders import folders

_COMPILING = 120.0
"""Seconds that compiling the pattern library may take."""
_MOST_TEXT = 65_536
"""Characters of a comment that the service takes."""

Request = tuple[str, Mapping[str, Any]]
"""A path of the API, and the values that are posted to it."""


@click.command(short_help="Carry out a job's plan.")
@click.option("--plan", "plan_file", type=click.Path(), default=PLAN_FILE, show_default=True, help="The plan.")
@click.option("--base", metavar="SHA", default="", help="The base commit, where the event names none.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
def apply(plan_file: str, base: str, *, dry_run: bool) -> None:
    """Carry out what the agent of another job of this run has planned. Run it in a checkout, in a job without an agent.

    What may be done is what lockgate.yaml of the base commit declares. The plan must be of this run, and is about the
    event's own issue or pull request. Where one entry is not declared, too large or holds a secret, nothing is done.

    Exit status: 0 done; 1 it is refused, or the service did not do it; 2 usage; 3 state not readable.
    """
    require_person("carry out a plan")
    target = find_target(os.environ)
    outputs = _allow(plan_file, target, base)
    _refuse_secrets(outputs)
    requests = list(_requests(outputs, target))
    if dry_run:
        for path, _ in requests:
            click.echo(f"would post to {path}")
        return
    api = ServiceApi(os.environ.get("GITHUB_API_URL", ""), os.environ.get("GH_TOKEN", ""))
    for path, body in requests:
        api.post(path, body)
        click.echo(f"posted to {path}")


def _allow(plan_file: str, target: PlanTarget, base: str) -> Sequence[Mapping[str, Any]]:
    plan = read_plan(plan_file)
    if (plan["run"], plan["repository"], plan["number"]) != target:
        raise click.ClickException("the plan is of another run, repository, issue or pull request than this job")
    commit = base_of(job_facts(os.environ, read_event(os.environ)), base)
    declaration = read_declaration(BaseTree(os.getcwd(), commit).content("lockgate.yaml"))
    outputs: Sequence[Mapping[str, Any]] = plan["outputs"]
    for problem in declaration.problems(outputs):
        raise click.ClickException(f"the plan holds what the base commit does not declare: {log_text(problem)}")
    return outputs


def _refuse_secrets(outputs: Sequence[Mapping[str, Any]]) -> None:
    """End the job where a text holds a secret, a canary, or what could not be looked at whole."""
    try:
        with make_state() as store:
            scanner = open_scanner(store, folders(), "", _COMPILING)
    except PatternError as error:
        raise click.ClickException(log_text(str(error))) from None
    for output in outputs:
        found = check(scanner, str(output.get("body", "")))
        if found.expired:
            raise click.ClickException("a text of the plan could not be looked at whole for secrets")
        for match in found.pattern_matches:
            if match.kind is Kind.SECRET:
                raise click.ClickException(f"a text of the plan holds a secret ({log_text(match.rule)})")


def _requests(outputs: Sequence[Mapping[str, Any]], target: PlanTarget) -> Iterator[Request]:
    repository = f"/repos/{target.repository}"
    for output in outputs:
        match output["kind"]:
            case "comment":
                yield f"{repository}/issues/{target.number}/comments", {"body": _text(output, target)}
            case "labels":
                yield f"{repository}/issues/{target.number}/labels", {"labels": list(output["names"])}
            case "review":
                said = {"event": output["event"], "body": _text(output, target)}
                yield f"{repository}/pulls/{target.number}/reviews", said


def _text(output: Mapping[str, Any], target: PlanTarget) -> str:
    server = os.environ.get("GITHUB_SERVER_URL", "").rstrip("/")
    text = rewritten(str(output["body"]), PostingPlace(f"{server}/{target.repository}", target.number))
    if not text or len(text) > _MOST_TEXT:
        raise click.ClickException(
            f"a text of the plan is empty, or longer than {_MOST_TEXT} characters as it is posted"
        )
    return text
