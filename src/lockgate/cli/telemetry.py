"""``lockgate telemetry``: prints metrics, and runs or checks the exporter."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Mapping

import click

from lockgate.cli.common.state import WRONG, unreadable
from lockgate.core.display_text import visible
from lockgate.core.errors import StoreError
from lockgate.service.observability import gauges, tail
from lockgate.service.observability.settings import TelemetrySettings, settings_of
from lockgate.store.opening import open_existing
from lockgate.system.folders import state_dir

_MISSING = "this needs the extra: in a clone of Lockgate, pip install '.[observability]'"


@click.group()
def telemetry() -> None:
    """Metrics, traces and logs, for those who run Lockgate."""


@telemetry.command()
@click.option("--output", type=click.Path(dir_okay=False), help="Write this file, whole or not at all.")
@click.option("--json", "as_json", is_flag=True, help="Print counts as one JSON object.")
def metrics(output: str | None, as_json: bool) -> None:
    """Print metrics as they are now, in Prometheus' text format.

    Where no exporter runs, what was counted is kept for the next time. Nothing of the configuration is needed.

    Exit status: 0 printed, 1 not possible, 2 usage, 3 state not readable.
    """
    from lockgate.service.observability.process import only_exporter

    state = state_dir()
    try:
        store = open_existing(state)
        kept = tail.load(state)
        if store is not None:
            kept = tail.count_new(store, state, kept)
            with only_exporter(state) as mine:
                if mine:
                    tail.save(state, kept)
    except StoreError as error:
        raise unreadable(error) from error
    except OSError as error:
        raise click.ClickException(f"cannot keep what was counted: {error.strerror}") from error
    if as_json:
        click.echo(json.dumps(kept.counts.as_json()))
        return
    _put(_page(kept, gauges.look(store, state), gauges.verify_chain(store) if store is not None else None), output)


def _page(kept: tail.TailState, now: gauges.Gauges, chain: gauges.Chain | None) -> bytes:
    from lockgate.service.observability.prometheus import exposition

    try:
        return exposition(kept.counts, now, chain)
    except ImportError:
        raise click.ClickException(_MISSING) from None


def _put(page: bytes, output: str | None) -> None:
    from lockgate.service.observability.process import write_textfile

    if output is None:
        click.echo(page.decode(), nl=False)
        return
    try:
        write_textfile(output, page)
    except OSError as error:
        raise click.ClickException(f"cannot write {visible(output, 300)}: {error.strerror}") from error


@telemetry.command()
@click.option("--parent", type=int, default=0, hidden=True, help="End when this parent process has.")
def run(parent: int) -> None:
    """Follow the audit, and count and send as the configuration says, until SIGTERM or SIGINT.

    One for a state folder; whoever decides. It begins where the last one ended. A changed configuration is taken up
    by itself, within a round.

    Exit status: 0 ended, 1 nothing is configured, or not possible, 3 state not readable.
    """
    from lockgate.service.observability.process import only_exporter

    variables = dict(os.environ)  # whoever sends takes those away that its libraries would listen to
    settings = read_settings(variables)
    if settings == TelemetrySettings():
        raise click.ClickException("nothing is configured: see docs/observability.md")
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    try:
        with only_exporter(state_dir()) as mine:
            if not mine:
                raise click.ClickException("another one runs already for this state folder")
            while _export(settings, variables, stop, parent):
                # Also with nothing, which may be a file that is being edited: then it waits for something.
                settings = read_settings(variables)
                click.echo("the configuration has changed: going on with what it says now", err=True)
    except ImportError:
        raise click.ClickException(_MISSING) from None
    except OSError as error:
        raise click.ClickException(f"cannot listen: {error.strerror}") from error
    except StoreError as error:
        raise unreadable(error) from error


def _export(settings: TelemetrySettings, variables: Mapping[str, str], stop: threading.Event, parent: int) -> bool:
    """Follow the audit until the end, or until other settings are configured; gives whether it was that."""
    from lockgate.service.observability.metrics_server import serve_metrics
    from lockgate.service.observability.process import Exporter

    def has_changed() -> bool:
        try:
            return _read_settings(variables) != settings
        except StoreError:
            return False  # what cannot be read now changes nothing

    exporter = Exporter(state_dir(), settings, lambda problem: click.echo(visible(problem, 600), err=True))
    with serve_metrics(settings.metrics, exporter):
        click.echo(_goes_to(settings), err=True)
        return exporter.run(stop, parent, has_changed)


def _goes_to(settings: TelemetrySettings) -> str:
    """One line: where everything is told, until the end."""
    where = []
    if metrics := settings.metrics:
        if metrics.listen:
            listens = metrics.listen if metrics.listen.startswith("unix:") else f"http://{metrics.listen}/metrics"
            where.append(f"metrics at {listens}")
        if metrics.file:
            where.append(f"metrics in {metrics.file}")
    if settings.otlp:
        where.append(f"traces and logs to {settings.otlp.endpoint}")
    return visible("; ".join(where) or "nothing is configured: waiting for something", 600)


@telemetry.command()
def check() -> None:
    """Send the newest record to the configured collector, and say whether it was taken.

    Exit status: 0 taken, 1 not, or nothing is configured, 3 state not readable.
    """
    settings = read_settings()
    if settings.otlp is None:
        raise click.ClickException("no collector is configured: see docs/observability.md")
    try:
        from lockgate.service.observability.otlp import Sender

        sender = Sender(settings.otlp)
    except ImportError:
        raise click.ClickException(_MISSING) from None
    try:
        store = open_existing(state_dir())
        if store is None:
            click.echo("nothing recorded yet, so nothing to send")
            return
        with store.reading() as tx:
            rows = tx.audit(after=tx.audit_head().seq - 1)
        store.close()
        failed = sender.send(rows)
    except StoreError as error:
        raise unreadable(error) from error
    finally:
        sender.close()
    where = visible(settings.otlp.endpoint, 300)
    why = "" if sender.answered else ": nothing answers there, or its certificate is not trusted"
    click.echo(f"{where} does not take {failed}{why}" if failed else f"{where} takes what is sent")
    if failed:
        raise click.exceptions.Exit(WRONG)


def read_settings(variables: Mapping[str, str] = os.environ) -> TelemetrySettings:
    """What the trusted layers of the configuration say; exits with 3 where the state cannot be read."""
    try:
        return _read_settings(variables)
    except StoreError as error:
        raise unreadable(error) from error


def _read_settings(variables: Mapping[str, str]) -> TelemetrySettings:
    from lockgate.configuration.load import load_for_cli

    return settings_of(load_for_cli(os.path.expanduser("~")).options.observability, variables)
