"""What both stores keep in tables of the same columns, for what is copied from one to the other."""

from __future__ import annotations

from lockgate.core.record import Record
from lockgate.store.rows import AgentRow, ApprovalRow, BriefRow, CallRow, SessionRow


class TableShape(Record):
    """One table."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The columns that tell two rows apart; empty where every row is one of its own."""
    order: str
    """By what rows are in the order in which they were written."""


TAINTS = TableShape(
    "taints",
    ("session", "agent", "label", "source", "tool", "call_id", "at", "state", "origin"),
    ("session", "agent", "label", "source", "call_id", "origin"),
    "id",
)
TABLES = (
    TableShape("sessions", SessionRow._fields, ("session",), "session"),
    TableShape("agents", AgentRow._fields, ("session", "agent"), "id"),
    TAINTS,
    TableShape("calls", CallRow._fields, ("session", "call_id"), "id"),
    TableShape("briefs", BriefRow._fields, ("brief",), "id"),
    TableShape("approvals", ApprovalRow._fields, ("approval",), "id"),
    TableShape("blocked", ("session", "agent", "what", "at"), (), "id"),
)
ADDRESSES = TableShape("addresses", ("session", "key", "human"), ("session", "key"), "session, key")
SETTINGS = TableShape("settings", ("name", "value"), ("name",), "name")
