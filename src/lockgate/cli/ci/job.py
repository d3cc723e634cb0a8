"""Sets up a CI job, step by step: facts, base commit, record, hooks."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

import click

from lockgate.cli.ci import base_commit
from lockgate.cli.ci.events import FORK, JobFacts, facts_of, is_commit
from lockgate.cli.common.person import require_person
from lockgate.cli.common.state import make_state, record_act
from lockgate.cli.doctor.clients import claude_version, unproven
from lockgate.cli.install.one_client import InstallOptions, make_sure, put_in, say
from lockgate.cli.trust import trust_all
from lockgate.clients.hook.start_resident import OFF
from lockgate.clients.install.claude_settings_view import look
from lockgate.configuration.load import load_for_cli
from lockgate.core.display_text import visible
from lockgate.core.errors import BadInputError, InstallError
from lockgate.gate.session import jobs
from lockgate.system.files import read_regular
from lockgate.system.folders import folders

_MOST_EVENT = 64 * 1024 * 1024
"""Bytes of an event file. GitHub has payloads of at most 25 MB."""
_MOST_SHOWN = 300


def set_up(client: str, given_base: str) -> None:
    """Guard the agent of this job.

    Args:
        client: The client that a later step starts.
        given_base: The base commit, where the person who wrote the workflow names it.

    Raises:
        ClickException: It cannot be guarded.
    """
    require_person("set up a CI job")
    run = jobs.run_of(os.environ)
    if not run:
        raise click.ClickException(f"this is no job of GitHub Actions: {', '.join(jobs.RUN)} are not all set")
    root = os.getcwd()
    if not os.path.lexists(os.path.join(root, ".git")):
        raise click.ClickException("this folder is no checkout: let a step with actions/checkout come before this one")
    event = read_event(os.environ)
    facts = job_facts(os.environ, event)
    restored = base_commit.restore(root, base_of(facts, given_base))
    trusted = trust_all(root)
    strangers = "; ".join(job_facts(os.environ, event, _bots(root)).strangers)
    strangers = _record_job(run, visible(strangers, _MOST_SHOWN), facts, restored, trusted)
    _install(client, root)
    _prove(client, root)
    _tell(facts, strangers, restored)


def read_event(environ: Mapping[str, str]) -> object:
    """What the event file holds; ``None`` where there is none, or it cannot be read."""
    try:
        return json.loads(read_regular(environ.get("GITHUB_EVENT_PATH", ""), _MOST_EVENT))
    except (OSError, ValueError, RecursionError):
        return None


def job_facts(environ: Mapping[str, str], event: object, bots: tuple[str, ...] = ()) -> JobFacts:
    """What an event proves, for the job that these variables name."""
    facts = facts_of(environ.get("GITHUB_EVENT_NAME", ""), event, environ.get("GITHUB_SHA", ""), bots)
    if facts.repository and facts.repository.casefold() != environ.get("GITHUB_REPOSITORY", "").casefold():
        return facts._replace(base="", strangers=(*facts.strangers, "an event of another repository"))
    return facts


def base_of(facts: JobFacts, given: str) -> str:
    """The base commit; configuration of the change itself is never taken."""
    if given and not is_commit(given):
        raise click.UsageError("--base is a whole commit id, in lower case")
    if not (given or facts.base):
        raise click.ClickException(
            "the event does not tell which commit is the base: name it by --base, as a commit of your own branch"
        )
    return given or facts.base


def _bots(root: str) -> tuple[str, ...]:
    found = load_for_cli(root)
    for problem in found.problems:
        raise click.ClickException(visible(str(problem), 600))
    return tuple((found.options.ci or {}).get("bots", ()))


def _record_job(
    run: str, strangers: str, facts: JobFacts, restored: base_commit.RestoredFiles, trusted: list[str]
) -> str:
    told = {
        "caused_by": facts.event,
        "repository": facts.repository,
        "number": facts.number,
        "base": facts.base,
        "sender": facts.sender,
        "run": run,
        "files": [*restored.written, *restored.removed][:20],
        "trusted": trusted,
    }
    try:
        with make_state() as store, store.transaction() as tx:
            now = store.clock()
            strangers = jobs.keep_job(tx, run, strangers, now)
            record_act(tx, now, "ci_job", {**told, "strangers": strangers})
    except BadInputError as error:
        raise click.ClickException(str(error)) from None
    return strangers


def _install(client: str, root: str) -> None:
    asked, where = InstallOptions("user", root, trust=client == "codex"), folders()
    try:
        say(put_in(client, asked, where), asked, "installed")
    except InstallError as error:
        raise click.ClickException(visible(str(error), 600)) from None
    make_sure(client, asked, where)


def _prove(client: str, root: str) -> None:
    """End the job where it is open whether the client's hooks run."""
    where, version = folders(), claude_version() if client == "claude-code" else ""
    for problem in unproven(client, look(where, root, {**os.environ, OFF: "off"}, version)):
        mend = f" -> {problem.mend}" if problem.mend else ""
        click.echo(f"{problem.name}: {visible(problem.says, 400)}{mend}", err=True)
        raise click.ClickException("nothing proves that the client's hooks would run: see above")


def log_text(text: str, most: int = _MOST_SHOWN) -> str:
    """A text of others for a line of the job's log, in which no command of the service begins."""
    return visible(text, most).replace("##[", "# #[").replace("::", ": :")


def _tell(facts: JobFacts, strangers: str, restored: base_commit.RestoredFiles) -> None:
    for path in restored.written:
        click.echo(f"taken from the base commit: {log_text(path)}")
    for path in restored.removed:
        click.echo(f"removed, since the base commit has it not: {log_text(path)}")
    for path in restored.left_out:
        click.echo(f"left out, a link of the base commit to no file of it: {log_text(path)}")
    if facts.event == "pull_request" and FORK in facts.strangers:
        click.echo("Note: in a fork's pull request the workflow is the fork's too, so that it proves nothing.")
    if strangers:
        others = log_text(strangers)
        click.echo(f"Sessions of this job begin untrusted: its prompts can hold words of others ({others}).")
    elif not os.path.isdir("/proc/self"):
        click.echo("Sessions of this job begin untrusted: this system does not tell what a client was started with.")
    else:
        click.echo("Sessions of this job begin clean: the event holds no words of others.")
