"""Processes that stay: the resident gate, the dashboard, the gate for containers, telemetry."""

__all__ = [
    "containers",
    "http",
    "listening",
    "observability",
    "resident",
]
