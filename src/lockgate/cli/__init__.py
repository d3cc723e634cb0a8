"""The command line: one module per command group."""

__all__ = [
    "main",
]
