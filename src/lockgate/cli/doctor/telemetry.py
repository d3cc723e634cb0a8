"""What ``lockgate doctor`` says of metrics, traces and logs, where they are configured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Literal

from lockgate.configuration import load as configuration
from lockgate.core.errors import LockgateError, StoreError
from lockgate.service.observability.process import alone
from lockgate.service.observability.settings import Settings, settings_of

Found = tuple[Literal["ok", "warn"], str, str]
"""How it is, what was seen, and how to mend it."""


def telemetry(project: str, state: str) -> Iterator[Found]:
    """Whether what is configured can be done, and is.

    Args:
        project: The project's folder.
        state: The state folder.
    """
    try:
        said = configuration.load_for_cli(project).options.observability
    except LockgateError:
        return  # the configuration has a check of its own
    settings = settings_of(said, os.environ)
    if settings == Settings():
        return
    wanted = [("prometheus_client", settings.metrics), ("opentelemetry", settings.otlp)]
    if any(asked is not None and find_spec(name) is None for name, asked in wanted):
        how = "in a clone of Lockgate, run: pip install '.[observability]'"
        yield "warn", "the libraries for it are not installed", how
    elif not _runs(state):
        yield "warn", "it is configured, and no exporter runs", "run: lockgate telemetry run (docs/observability.md)"
    else:
        yield "ok", "an exporter runs", ""


def _runs(state: str) -> bool:
    if not os.path.isdir(state):
        return False
    try:
        with alone(state) as free:
            return not free
    except StoreError:
        return False
