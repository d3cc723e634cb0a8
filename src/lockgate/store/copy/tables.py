"""What both stores keep in tables of the same columns, for what is copied from one to the other."""

from __future__ import annotations

from lockgate.core.record import Record
from lockgate.store.rows import AgentRow, ApprovalRow, BriefRow, CallRow, SessionRow


class Table(Record):
    """One table."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The columns that tell two rows apart; empty where every row is one of its own."""
    order: str
    """By what rows are in the order in which they were written."""


TAINTS = Table(
    "taints",
    ("session", "agent", "label", "source", "tool", "call_id", "at", "state", "origin"),
    ("session", "agent", "label", "source", "call_id", "origin"),
    "id",
)
TABLES = (
    Table("sessions", SessionRow._fields, ("session",), "session"),
    Table("agents", AgentRow._fields, ("session", "agent"), "id"),
    TAINTS,
    Table("calls", CallRow._fields, ("session", "call_id"), "id"),
    Table("briefs", BriefRow._fields, ("brief",), "id"),
    Table("approvals", ApprovalRow._fields, ("approval",), "id"),
    Table("blocked", ("session", "agent", "what", "at"), (), "id"),
)
ADDRESSES = Table("addresses", ("session", "key", "human"), ("session", "key"), "session, key")
SETTINGS = Table("settings", ("name", "value"), ("name",), "name")
