"""A collector on loopback that keeps what it is sent, as the protocol's own types."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """What has come."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.status = 200
        self.refused: tuple[str, bytes] | None = None
        """The path and a part of what it takes at no time, with the status 400."""
        self.too_large = (1 << 40, 413)
        """Bytes of a request from which on it is not taken, and the status that says so."""
        self.endpoint = ""

    def spans(self) -> list[Any]:
        return [
            span
            for path, _, body in self.requests
            if path == "/v1/traces"
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def logs(self) -> list[Any]:
        return [
            log
            for path, _, body in self.requests
            if path == "/v1/logs"
            for resource in ExportLogsServiceRequest.FromString(body).resource_logs
            for scope in resource.scope_logs
            for log in scope.log_records
        ]

    def resources(self) -> list[Any]:
        return [
            each.resource
            for path, _, body in self.requests
            for each in (
                ExportTraceServiceRequest.FromString(body).resource_spans
                if path == "/v1/traces"
                else ExportLogsServiceRequest.FromString(body).resource_logs
            )
        ]


def attributes(told: Any) -> dict[str, Any]:
    """The attributes of a span, a log record or a resource."""
    found = {}
    for each in told.attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        found[each.key] = [item.string_value for item in value.values] if kind == "array_value" else value
    return found


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            status = collector.status
            if collector.refused is not None and self.path == collector.refused[0] and collector.refused[1] in body:
                status = 400
            if len(body) > collector.too_large[0]:
                status = collector.too_large[1]
            if status == 200:
                collector.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    collector.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
