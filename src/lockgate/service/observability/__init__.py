"""What those who run Lockgate see of it: exports for their SIEM, metrics, traces and logs.

All of it is read from the audit, after a decision has been recorded. Nothing here is imported by a hook or the gate.
"""

__all__ = [
    "gauges",
    "metrics_server",
    "otlp",
    "process",
    "prometheus",
    "settings",
    "siem",
    "tail",
]
