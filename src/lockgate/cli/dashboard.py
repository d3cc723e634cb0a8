"""``lockgate dashboard``: serves the HTTP API and its pages, and manages tokens of programs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import click

from lockgate.cli.common.person import require_approver, require_person
from lockgate.cli.common.state import clients, make_state, open_state, unreadable
from lockgate.cli.common.times import iso
from lockgate.core.display_text import visible
from lockgate.core.errors import LockgateError, StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.folders import folders

if TYPE_CHECKING:
    from lockgate.service.http.context import Tools
    from lockgate.service.http.serve import DashboardSettings

_MISSING = "this takes further packages: in a clone of Lockgate, pip install '.[dashboard]'"
_APPROVE = "approve"


@click.group(invoke_without_command=True, short_help="Look and approve in a browser.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port on loopback.  [default: a free one]")
@click.option("--listen", metavar="HOST:PORT", help="Listen there instead. Beyond loopback that needs TLS.")
@click.option(
    "--name", "names", metavar="HOST", multiple=True, help="A name that browsers call it by; may be repeated."
)
@click.option("--tls-cert", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="The certificate, PEM.")
@click.option("--tls-key", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="Its key, PEM.")
@click.option("--open/--no-open", "browser", default=True, help="Whether to open the link in the browser.")
@click.option("--tokens-only", is_flag=True, help="Let in programs with a token, and nobody by a link.")
@click.option("--json", "as_json", is_flag=True, help="Log one JSON object a line.")
@click.pass_context
def dashboard(
    context: click.Context,
    port: int,
    listen: str | None,
    names: tuple[str, ...],
    tls_cert: str | None,
    tls_key: str | None,
    browser: bool,
    tokens_only: bool,
    as_json: bool,
) -> None:
    """Show sessions, decisions and questions of agents in a browser, until Ctrl-C.

    A link is printed and opened that works once, within a minute; Enter makes another. Whoever has it can approve, so
    only a person at a terminal of their own gets one.

    Exit status: 0 ended by a signal, 1 cannot serve, or not a person's terminal, 2 usage, 3 the state cannot be used.
    """
    if context.invoked_subcommand is not None:
        return
    if listen is not None and port:
        raise click.UsageError("give --port or --listen")
    _require(tokens_only)
    try:
        from lockgate.service.http import serve
    except ImportError as error:
        raise click.ClickException(f"{_MISSING} ({error.name} is missing)") from None
    settings = serve.DashboardSettings(
        listen or f"{serve.LOOPBACK}:{port}", names, tls_cert or "", tls_key or "", tokens_only, browser
    )
    from lockgate.cli.serve import log_to_stderr

    log_to_stderr(as_json, "lockgate.service.http")
    _run(settings)


def _require(tokens_only: bool) -> None:
    """A link is as good as the person's yes, so it takes what ``lockgate approve`` takes."""
    if tokens_only:
        require_person("start the dashboard")
        return

    with open_state() as store:
        require_approver("start the dashboard", clients(store) if store is not None else ())


def _run(settings: DashboardSettings) -> None:
    from lockgate.service.http.serve import Dashboard
    from lockgate.service.listening.timeout_protocol import run
    from lockgate.store.opening import open_store

    where = folders()
    try:
        open_store(where.state).close()  # one that runs before the first hook waits for it
        run(Dashboard(where, settings, tools(), click.echo).run())
    except StoreError as error:
        raise unreadable(error) from error
    except (LockgateError, OSError) as error:
        raise click.ClickException(visible(str(error), 600)) from None


def tools() -> Tools:
    """What the dashboard lends from the command line."""
    from lockgate.cli.doctor import findings
    from lockgate.cli.explain.explanation import explain_call, forget
    from lockgate.cli.explain.json_output import whole
    from lockgate.cli.explain.needless import report
    from lockgate.core.model import ToolCall
    from lockgate.service.http.context import Tools

    def explain(call: ToolCall) -> dict[str, object]:
        forget()  # what was configured when another call was explained
        return whole(explain_call(call))

    def needless(body: Mapping[str, object]) -> str:
        forget()
        return report(body)

    return Tools(explain, findings, needless)


# -- tokens


@dashboard.group(short_help="Let programs use the API.")
def tokens() -> None:
    """Make, list and remove the tokens by which programs use the HTTP API."""


@tokens.command("add", short_help="Make a token.")
@click.argument("name")
@click.option(
    "--scope", type=click.Choice(["read", _APPROVE]), default="read", show_default=True, help="What it may do."
)
def add_token(name: str, scope: str) -> None:
    """Make a token and print it, once: the store keeps its hash alone.

    One that may approve answers in a person's place, so only a person at a terminal of their own makes it.

    Exit status: 0 made, 1 the name is taken, or not a person's terminal, 2 usage, 3 state not usable.
    """
    from lockgate.service.http.auth.tokens import add

    if scope == _APPROVE:
        _require(tokens_only=False)
    else:
        require_person("let programs use the API")
    try:
        with make_state() as store:
            token = add(store, name, "approve" if scope == _APPROVE else "read")
    except LockgateError as error:
        raise click.ClickException(str(error)) from error
    click.echo(token)
    click.echo("this is shown once; send it as: Authorization: Bearer TOKEN", err=True)


@tokens.command("list", short_help="List the tokens.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def list_tokens(as_json: bool) -> None:
    """List the tokens by name, with what they may do. The tokens themselves are kept nowhere.

    Exit status: 0 listed, 3 state not readable.
    """
    from lockgate.service.http.auth.tokens import all_of

    with open_state() as store:
        found = []
        if store is not None:
            with store.reading() as tx:
                found = sorted(all_of(tx), key=lambda token: token.created_at)
    if as_json:
        told = [
            {"name": each.name, "id": each.id, "scope": each.scope, "created_at": iso(each.created_at)}
            for each in found
        ]
        click.echo(json.dumps(told, indent=2))
        return
    for each in found:
        made = time.strftime("%Y-%m-%d", time.localtime(each.created_at))
        click.echo(f"{each.id}  {each.scope:8}{made}  {visible(each.name, 64)}")
    if not found:
        click.echo("there is no token")


@tokens.command("remove", short_help="Remove a token.")
@click.argument("name")
def remove_token(name: str) -> None:
    """Remove a token by its name or id. Whoever has it is out at once.

    Exit status: 0 removed, 1 there is none, or an agent seems to ask, 2 usage, 3 state not usable.
    """
    from lockgate.service.http.auth.tokens import remove

    require_person("remove a token")
    with open_state() as store:
        if store is None or not remove(store, name):
            raise click.ClickException(f"there is no token {visible(name, 80)}")
    click.echo("removed")
