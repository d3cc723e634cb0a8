"""Processes that stay: the resident gate, the dashboard, the gate for containers, telemetry."""
