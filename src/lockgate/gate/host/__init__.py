"""What the gate looks up on this machine for an analysis."""

__all__ = [
    "assembly",
    "host_view",
]
