"""What the gate tells the agent and the person."""

__all__ = [
    "calls",
]
