"""Sends spans and log records to a collector: OTLP over HTTP, by OpenTelemetry's own exporters (the extra)."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lockgate.core.version import __version__
from lockgate.service.observability.settings import Otlp
from lockgate.service.observability.spans import Log, Span, log, spans
from lockgate.store.rows import AuditRow

if TYPE_CHECKING:
    import requests
    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk.trace import ReadableSpan

_SEVERITIES = {"informational": 9, "low": 10, "medium": 13, "high": 17}
"""OpenTelemetry's severity numbers: INFO, INFO2, WARN, ERROR."""
SIGNALS = ("traces", "logs")
_MAY_PASS = frozenset({401, 403, 404, 408, 429})
"""Refusals that may end without another record: a token, a path, or the collector's haste is mended."""


class Sender:
    """The connection to one collector."""

    def __init__(self, settings: Otlp) -> None:
        """Make ready; nothing is sent yet.

        Raises:
            ImportError: The libraries are not installed.
        """
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        # The exporters take addresses, headers, certificates and even code from such variables, which a project that an
        # agent works in may set. This process has no other use for them.
        for name in [name for name in os.environ if name.startswith("OTEL_")]:
            del os.environ[name]
        # Resource.create would add what variables of the environment say.
        self._resource = Resource(
            {"service.name": "lockgate", "service.version": __version__, "host.name": os.uname().nodename}
        )
        self._scope = InstrumentationScope("lockgate", __version__)
        self._calls = settings.calls
        self._status = 0
        """What the collector answered last, as an HTTP status; 0 where it was not asked, or gave no answer."""
        self._failed = ""
        """The signal that could not be sent the last time."""
        self._spans = OTLPSpanExporter(**self._connection(settings, "traces")) if settings.traces else None
        self._logs = OTLPLogExporter(**self._connection(settings, "logs")) if settings.logs else None

    def _connection(self, settings: Otlp, signal: str) -> dict[str, Any]:
        """What an exporter has to know: the address of the signal, headers, seconds, and a session of its own."""
        import requests

        session = requests.Session()
        session.trust_env = False  # no proxies, and no .netrc
        session.hooks["response"].append(self._note_status)  # the exporters say only whether it worked
        return {
            "endpoint": f"{settings.endpoint}/v1/{signal}",
            "headers": {"user-agent": f"lockgate/{__version__}", **settings.headers},
            "timeout": settings.timeout_seconds,
            "session": session,
        }

    def _note_status(self, response: requests.Response, **_: object) -> None:
        self._status = response.status_code

    def send(self, rows: Sequence[AuditRow]) -> str:
        """Send records; what could not be sent (``traces``, ``logs``), or nothing."""
        # What failed is tried first: the other signal is not sent again and again meanwhile.
        order = sorted(SIGNALS, key=lambda signal: signal != self._failed)
        self._failed = next((signal for signal in order if not self.send_as(signal, rows)), "")
        return self._failed

    def send_as(self, signal: str, rows: Sequence[AuditRow]) -> bool:
        """Send records as one of the signals; whether nothing of it is left to send."""
        from opentelemetry.sdk._logs.export import LogRecordExportResult
        from opentelemetry.sdk.trace.export import SpanExportResult

        self._status = 0
        if signal == "traces" and self._spans is not None:
            made = [self._span(each) for row in rows for each in spans(row, calls=self._calls)]
            return not made or self._spans.export(made) is SpanExportResult.SUCCESS
        if signal == "logs" and self._logs is not None:
            told = [self._log(log(row, calls=self._calls)) for row in rows]
            return not told or self._logs.export(told) is LogRecordExportResult.SUCCESS
        return True

    @property
    def answered(self) -> bool:
        """Whether the collector was reached the last time."""
        return self._status != 0

    @property
    def refused(self) -> bool:
        """Whether the collector said the last time that it will never take this (400, 413 and the like)."""
        return 400 <= self._status < 500 and self._status not in _MAY_PASS

    def close(self) -> None:
        """Close connections."""
        for exporter in (self._spans, self._logs):
            if exporter is not None:
                exporter.shutdown()  # type: ignore[no-untyped-call]

    def _span(self, span: Span) -> ReadableSpan:
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanKind

        parent = self._context(span.trace_id, span.parent_id, remote=span.remote) if span.parent_id else None
        return ReadableSpan(
            span.name,
            self._context(span.trace_id, span.span_id),
            parent,
            self._resource,
            span.attributes,
            kind=SpanKind.INTERNAL,
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=self._scope,
        )

    def _log(self, told: Log) -> ReadableLogRecord:
        from opentelemetry._logs import LogRecord, SeverityNumber
        from opentelemetry.sdk._logs import ReadableLogRecord
        from opentelemetry.trace import TraceFlags

        known: dict[str, Any] = {}
        if told.trace_id:
            known = {"trace_id": told.trace_id, "span_id": told.span_id, "trace_flags": TraceFlags(1)}
        record = LogRecord(
            timestamp=told.at,
            observed_timestamp=told.at,
            severity_text=told.severity,
            severity_number=SeverityNumber(_SEVERITIES[told.severity]),
            body=told.text,
            attributes=told.attributes,
            event_name=told.event,
            **known,
        )
        return ReadableLogRecord(record, self._resource, self._scope)

    def _context(self, trace_id: int, span_id: int, *, remote: bool = False) -> Any:
        from opentelemetry.trace import SpanContext, TraceFlags

        return SpanContext(trace_id, span_id, is_remote=remote, trace_flags=TraceFlags(1))
