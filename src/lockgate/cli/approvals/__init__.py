"""``lockgate approvals``: the questions of agents that nobody sits before."""

from __future__ import annotations

import json
from typing import Any

import click

from lockgate.cli.approvals import text
from lockgate.cli.approvals.find import (
    ids,
    is_waited,
    open_for_questions,
    open_questions,
    person,
    question_of,
    tell_answer_errors,
)
from lockgate.cli.approvals.key import key, signer
from lockgate.cli.common.state import clients, open_state, record_act
from lockgate.gate.approvals import notification_text
from lockgate.gate.approvals.questions import WHOLE
from lockgate.store.rows import ApprovalRow

_RECENT = 50
"""Questions that ``list --all`` shows, the newest."""


@click.group(short_help="See what agents wait for.")
def approvals() -> None:
    """See the calls that wait for a person's decision, and what became of former ones.

    Answer them with `lockgate approve` and `lockgate deny`, or in `lockgate approvals watch`.
    """


approvals.add_command(key)


@approvals.command("list", short_help="List the questions that wait.")
@click.option("--all", "everything", is_flag=True, help=f"Also those that are answered or over, the newest {_RECENT}.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def list_questions(everything: bool, as_json: bool) -> None:
    """List the questions that wait for an answer, the oldest first.

    Exit status: 0 listed, 3 state not readable.
    """
    rows: list[ApprovalRow] = []
    now = 0.0
    with open_state() as store:
        if store is not None and everything:
            with store.reading() as tx:
                rows = tx.approvals()[-_RECENT:]
        elif store is not None:
            rows = open_questions(store, here=False)
        if store is not None:
            now = store.clock()
    if as_json:
        click.echo(json.dumps([{**notification_text.facts(row), "waited": is_waited(row)} for row in rows]))
        return
    for row in rows:
        click.echo(text.summary(row, now, waited=is_waited(row) is not False))
    if not rows:
        click.echo("no question waits")


@approvals.command(short_help="Show one question whole.")
@click.argument("approval", metavar="ID", shell_complete=ids)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(approval: str, as_json: bool) -> None:
    """Show one question: the whole call, why it is asked, whom it can reach, and what the session has read.

    Exit status: 0 shown, 1 there is no such question, 3 state not readable.
    """
    with open_for_questions() as store:
        row, now = question_of(store, approval), store.clock()
    if as_json:
        whole: dict[str, Any] = {WHOLE: row.about[WHOLE]} if text.is_whole(row) else {}
        decided = {"decided_by": row.decided_by, "reason": row.reason}
        click.echo(json.dumps({**notification_text.facts(row), **whole, **decided, "waited": is_waited(row)}))
        return
    for line in text.lines(row, now):
        click.echo(line)
    if is_waited(row) is False:
        click.echo(text.LEFT)


@approvals.command(short_help="Take a refusal back.")
@click.argument("approval", metavar="ID")
def retract(approval: str) -> None:
    """Take back what you said no to: the call is asked about again when the agent makes it again.

    A no stands for its exact call as long as the session lives. `lockgate approvals list --all` shows its id. Nothing
    runs by this: the agent has to make the call again, and you have to say yes.

    Exit status: 0 taken back, 1 there is no such refusal, or an agent seems to ask, 3 state not usable.
    """
    from lockgate.cli.common.person import require_approver
    from lockgate.gate.approvals.answering import take_back

    with open_for_questions() as store:
        require_approver("take a refusal back", clients(store))
        row = question_of(store, approval)
        signs = signer(store)
        tell_answer_errors(lambda: take_back(store, row.approval, by=person(), signer=signs))
    click.echo("taken back: the call is asked about again when it is made again")


@approvals.command("deployments", short_help="List the deployments of secrets that are not asked about again.")
def list_deployments() -> None:
    """List the deployments of secrets that you have said yes to: the same one is not asked about again.

    Then come those that were answered in a client's own window, which proves nothing: they are asked about again until
    `lockgate approvals remember` is said of one.

    Exit status: 0 listed, 3 state not readable.
    """
    from lockgate.core.display_text import visible
    from lockgate.gate.monitor import deployments

    found, noted = [], []
    with open_state() as store:
        if store is not None:
            with store.reading() as tx:
                found, noted = deployments.deployments(tx), deployments.list_noted(tx)
    for each in found:
        click.echo(f"{each.name}  {visible(each.because)}")
    for each in noted:
        click.echo(f"{each.name}  {visible(each.because)} (asked about again)")
    if not found:
        click.echo("no deployment is remembered")


@approvals.command(short_help="Be asked about a deployment no longer.")
@click.argument("deployment", metavar="ID")
def remember(deployment: str) -> None:
    """Be asked no longer about a deployment that was answered in a client's own window.

    Only a person at a terminal of their own can do this.

    Exit status: 0 remembered, 1 there is no such deployment, or not a person's terminal, 3 state not usable.
    """
    from lockgate.cli.common.person import require_approver
    from lockgate.core.display_text import visible
    from lockgate.gate.monitor import deployments

    with open_for_questions() as store:
        require_approver("have a deployment remembered", clients(store))
        with store.transaction() as tx:
            found = next((each for each in deployments.list_noted(tx) if each.name == deployment), None)
            if found is None:
                raise click.ClickException("there is no such deployment: `lockgate approvals deployments` lists them")
            deployments.remember(tx, [[found.name, found.because]], store.clock())
            facts = {"deployment": found.name, "because": found.because, "by": person()}
            record_act(tx, store.clock(), "deployment-remembered", facts)
    click.echo(f"not asked about again: {visible(found.because)}")


@approvals.command(short_help="Be asked about a deployment again.")
@click.argument("deployment", metavar="ID")
def forget(deployment: str) -> None:
    """Be asked again about a deployment that `lockgate approvals deployments` lists.

    Exit status: 0 forgotten, 1 there is no such deployment, 3 state not usable.
    """
    from lockgate.gate.monitor import deployments

    with open_for_questions() as store, store.transaction() as tx:
        if not deployments.forget(tx, deployment):
            raise click.ClickException("there is no such deployment: `lockgate approvals deployments` lists them")
        record_act(tx, store.clock(), "deployment-forgotten", {"deployment": deployment})
    click.echo("forgotten: it is asked about when it is made again")


@approvals.command(short_help="Wait for questions, and answer them here.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, and ask nothing.")
def watch(as_json: bool) -> None:
    """Show each question as it comes, and answer it here: y, n, or n and a reason. Ends with Ctrl-C.

    As long as this runs, agents that nobody sits before wait for you instead of being refused (see
    `approvals.headless` in the configuration).

    Exit status: 0 ended, 1 an agent seems to run it, 3 state not usable.
    """
    from contextlib import suppress

    from lockgate.cli.approvals.watch_loop import run

    with suppress(KeyboardInterrupt):
        run(as_json=as_json)
