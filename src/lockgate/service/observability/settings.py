"""Reads the configuration of metrics, traces and logs. Only trusted layers count."""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any


class Metrics(Record):
    """The settings of counts."""

    file: str = ""
    """A file for node_exporter's textfile collector; empty where there is none."""
    listen: str = ""
    """Where ``/metrics`` is answered: a loopback ``HOST:PORT``, or ``unix:`` and a path; empty for nowhere."""


class Otlp(Record):
    """The settings of traces and logs."""

    endpoint: str
    """The collector's address, without ``/v1/traces``."""
    headers: Mapping[str, str] = {}
    traces: bool = True
    logs: bool = True
    calls: bool = False
    """Whether what was called is sent, as far as the audit has it."""
    timeout_seconds: float = 5.0


class TelemetrySettings(Record):
    """The settings of all telemetry."""

    metrics: Metrics | None = None
    otlp: Otlp | None = None
    interval_seconds: float = 15.0
    """How often the audit is looked at."""


def settings_of(said: Mapping[str, Any] | None, environ: Mapping[str, str]) -> TelemetrySettings:
    """The settings that a configuration comes to.

    Args:
        said: The valid value of ``observability``; ``None`` where no layer says it.
        environ: The environment, for headers that are secret.
    """
    if not said:
        return TelemetrySettings()
    metrics, otlp = said.get("metrics"), said.get("otlp")
    return TelemetrySettings(
        None if metrics is None else Metrics(metrics.get("file", ""), metrics.get("listen", "")),
        None if otlp is None else _otlp(otlp, environ),
        float((metrics or {}).get("interval_seconds", TelemetrySettings().interval_seconds)),
    )


def _otlp(said: Mapping[str, Any], environ: Mapping[str, str]) -> Otlp:
    default = Otlp("")
    return Otlp(
        said["endpoint"].rstrip("/"),
        _headers(environ.get(said.get("headers_env", ""), "")),
        said.get("traces", default.traces),
        said.get("logs", default.logs),
        said.get("calls", default.calls),
        float(said.get("timeout_seconds", default.timeout_seconds)),
    )


def _headers(text: str) -> dict[str, str]:
    """``name=value,name=value`` with escapes of URLs in it, as ``OTEL_EXPORTER_OTLP_HEADERS`` has it."""
    from urllib.parse import unquote

    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {name.strip().lower(): unquote(value.strip()) for name, _, value in pairs}
