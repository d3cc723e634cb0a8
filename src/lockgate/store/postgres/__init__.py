"""The shared store: many gates on many hosts keep labels, approvals and the audit in one PostgreSQL database.

What an atomic step excludes is another one about the same session, on whatever host, and not every other writer: see
``statements.py`` for the locks, and ADR 0031 for why they are enough.
"""

__all__ = [
    "settings",
]
