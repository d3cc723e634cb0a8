"""Lockgate: an information-flow reference monitor for AI agents."""

__version__ = "0.1.0"
