"""``lockgate serve``: deciding for containers, and who they are."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Coroutine
from typing import Any

import click

from lockgate.cli.common.person import require_person
from lockgate.cli.serve.serve_groups import groups
from lockgate.core.display_text import visible
from lockgate.core.errors import LockgateError
from lockgate.system.folders import folders
from lockgate.system.timestamps import utc

_MISSING = "this takes further packages: in a clone of Lockgate, pip install '.[server]'"


@click.group("serve", invoke_without_command=True, short_help="Decide for containers.")
@click.option("--ipc", metavar="DIR", type=click.Path(file_okay=False), help="The folder of the groups' folders.")
@click.option("--unix", metavar="PATH", type=click.Path(dir_okay=False), help="Listen on a Unix socket too.")
@click.option("--listen", metavar="HOST:PORT", help="Listen on TCP too. Beyond loopback that needs TLS.")
@click.option(
    "--tls-cert",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="For --listen: the certificate, PEM.",
)
@click.option("--tls-key", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="Its key, PEM.")
@click.option("--poll", is_flag=True, help="Look for requests, where the system does not tell of changes.")
@click.option("--json", "as_json", is_flag=True, help="Log one JSON object a line.")
@click.pass_context
def serve_command(
    context: click.Context,
    ipc: str | None,
    unix: str | None,
    listen: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    poll: bool,
    as_json: bool,
) -> None:
    """Decide for containers, until interrupted. See also: lockgate serve groups.

    Containers put their requests into files below DIR, or over a socket. Whatever they say, this machine classifies
    each call again, and keeps the labels of each group and session in the state folder.

    Exit status: 0 ended by a signal, 1 cannot serve, 2 usage, 3 the state cannot be used.
    """
    if context.invoked_subcommand is not None:
        return
    require_person("run the gate for containers")
    try:
        from lockgate.service.containers import serve
    except ImportError as error:
        raise click.ClickException(f"{_MISSING} ({error.name} is missing)") from None
    settings = serve.ContainerServerSettings(
        os.path.abspath(ipc) if ipc else "", unix or "", listen or "", tls_cert or "", tls_key or "", poll
    )
    log_to_stderr(as_json, "lockgate.service.containers")
    from lockgate.cli.telemetry import read_settings
    from lockgate.service.observability.process import run_exporter

    with run_exporter(read_settings(), logging.getLogger("lockgate.service.containers").warning):
        _run(serve.serve(folders(), settings))


def _run(serving: Coroutine[Any, Any, None]) -> None:
    from lockgate.cli.common.state import unreadable
    from lockgate.core.errors import StoreError
    from lockgate.service.listening.timeout_protocol import run

    try:
        run(serving)
    except StoreError as error:
        raise unreadable(error) from error
    except (LockgateError, OSError) as error:
        raise click.ClickException(visible(str(error), 600)) from None


class _Lines(logging.Formatter):
    """One line a record: what happened, and facts. Nothing that a container wrote gets here unescaped."""

    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        facts = getattr(record, "facts", {})
        if record.exc_info and record.exc_info[0]:
            facts = {**facts, "error": record.exc_info[0].__name__}
        at = utc(record.created)
        level, what = record.levelname.lower(), visible(record.getMessage(), 300)
        if self._as_json:
            return json.dumps({"at": at, "level": level, "what": what, **facts})
        said = " ".join(f"{name}={visible(str(value), 300)}" for name, value in facts.items())
        return f"{at} {level} {what} {said}".rstrip()


def log_to_stderr(as_json: bool, name: str) -> None:
    """Write the log of a part of the program to standard error, a line a record.

    Args:
        as_json: As JSON objects, else as text.
        name: The logger's name.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(as_json))
    log = logging.getLogger(name)
    log.addHandler(handler)
    log.setLevel(logging.INFO)


serve_command.add_command(groups)
