"""``lockgate audit accept``: what the state says against the audit, mended after a person has looked at it."""

from __future__ import annotations

import click

from lockgate.cli.approvals.find import clients, person
from lockgate.cli.common.person import require_approver
from lockgate.cli.common.state import opened
from lockgate.core.display_text import visible
from lockgate.gate.contradictions import accept as accept_found
from lockgate.gate.contradictions import contradictions
from lockgate.store.audit.chain import verify_store
from lockgate.store.protocol import Transaction


def problems(tx: Transaction) -> list[str]:
    """What the state says against the audit, for a person."""
    return [visible(each.text, 300) for each in contradictions(tx)]


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask first.")
def accept(yes: bool) -> None:
    """Mend what `lockgate audit verify` finds of the state against the audit, and record that.

    An answer that was not recorded does not count from then on; a no that was recorded and is kept counts again.

    Exit status: 0 done (also where nothing is wrong), 1 not done, 2 usage, 3 state not readable.
    """
    with opened() as store:
        if store is not None:
            require_approver("accept the state as it is", clients(store))
            with store.reading() as tx:
                found = problems(tx)
            for each in found:
                click.echo(each)
            if found:
                if not yes:
                    click.confirm("Have you looked at this, and shall it be mended?", abort=True)
                with store.transaction() as tx:
                    if not (verified := verify_store(tx, store.key)).ok:
                        raise click.ClickException(f"the audit itself does not hold: {visible(verified.problem, 300)}")
                    if problems(tx) != found:
                        raise click.ClickException("the state has changed meanwhile: look again")
                    accept_found(tx, contradictions(tx), by=person(), now=store.clock())
                click.echo(f"mended, and recorded: {len(found)}")
                return
    click.echo("the state is what the audit tells: nothing is to be mended")
