"""Delegates: sub-agents that start with clean labels to do what one approved brief says.

A tainted agent asks for a delegate; its brief, the only text that the delegate will know, is shown to a person in the
client's own prompt before the delegate is started. The client starts it only after a yes (measured for Claude Code
2.1.197 and 2.1.329, in every permission mode; without a person it refuses). The gate binds the sub-agent to the brief
by the call that spawned it; one that is bound to no brief has no clean labels. The parent's labels are never touched.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from lockgate.core.display_text import add_bars, visible_block
from lockgate.core.model import Subject, ToolCall
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.redaction.credentials import redact
from lockgate.store import chain_links
from lockgate.store.rows import AgentRow, AuditQuery, BriefRow

if TYPE_CHECKING:
    from lockgate.store.protocol import Store, Transaction

DELEGATE_TYPES = frozenset({"lockgate:delegate"})
"""Agent types that are delegates. A plugin's agent is named ``plugin:agent``; a project cannot define that name."""
FORMER_TYPES = frozenset({"delegate", "lockbox:delegate"})
"""What Lockbox called its delegates. Agents of these types are ordinary sub-agents here."""

SHOWN_COLUMNS = 72
SHOWN_LINES = 7
"""What a client's dialog is sure to show of a brief on a terminal of 80 columns: Claude Code 2.1.329 cuts a question
after 10 screen lines, and two of them say what is asked."""


READ = "approved"
"""The state of a brief that a person was shown whole outside of the client, and whose delegate has not begun."""
SHOWN_ID = 12
"""How much of a brief's id is shown."""
_SHORTEST_ID = 8
LONGEST = 12_000
"""Characters of a brief. Nobody reads more than that to the end."""
_STEP = "$ "
"""How a line of a brief begins that is a command, and nothing else."""


class BriefRefusal(Record):
    """The reason why a brief cannot be put before a person."""

    because: str


def wants_delegate(call: ToolCall) -> bool:
    """Whether a call asks for a delegate."""
    return call.spawns in DELEGATE_TYPES


def brief_of(call: ToolCall) -> str | BriefRefusal:
    """The brief's text, or why it cannot be approved: a person must be able to see the whole of it."""
    text = call.tool_input.get("prompt")
    if not isinstance(text, str) or not text.strip():
        return BriefRefusal("the delegate has no brief (prompt)")
    text = text.strip()
    if fits(text):
        return text
    if len(text) > LONGEST:
        return BriefRefusal(
            f"the brief has {len(text)} characters, and more than {LONGEST} nobody reads to the end: put long content "
            "in a file, name the file in the brief, and say shortly what to do with it",
        )
    if redact(text) != text:
        return BriefRefusal("a brief of many lines must not hold a credential: put that in a file, and name the file")
    return text


def fits(text: str) -> bool:
    """Whether the whole of a brief is sure to be seen in a client's own question. A longer one is read elsewhere."""
    return len(lines_to_show(text)) <= SHOWN_LINES


def lines_to_show(text: str) -> list[str]:
    """The lines that a brief takes in such a question, with a bar before each."""
    return add_bars(visible_block(text), SHOWN_COLUMNS)


def steps(text: str) -> list[str]:
    """The commands that a brief says on a line of their own, after ``$``."""
    lines = (line.strip() for line in text.split("\n"))
    return [line.removeprefix(_STEP).strip() for line in lines if line.startswith(_STEP)]


def ask(tx: Transaction, subject: Subject, call: ToolCall, digest: str, text: str, now: float) -> BriefRow:
    """Record that a brief was put before a person. Asking twice for one call is one brief."""
    for row in tx.briefs(subject.session):
        if row.call_id == call.call_id and row.digest == digest:
            return row
    kept = redact(text)  # the digest is that of the exact call
    row = BriefRow(os.urandom(16).hex(), subject.session, subject.agent, call.call_id, digest, kept, "asked", "", now)
    tx.put_brief(row)
    return row


def find_waiting(tx: Transaction, subject: Subject, agent_type: str, spawned_by: str) -> BriefRow | None:
    """The brief that a sub-agent, which makes itself heard for the first time, was started for.

    That it has begun is the proof of the yes: the client runs an asked call only after one.

    Returns: The brief. ``None`` where the sub-agent is no delegate, or the call that spawned it is not known or had no
    brief. Then it is an ordinary sub-agent and starts with its parent's labels.
    """
    if agent_type not in DELEGATE_TYPES or not spawned_by:
        return None
    for row in tx.briefs(subject.session):
        if row.call_id == spawned_by and _may_begin(row) and not _has_begun(tx, row):
            return row
    return None


def _has_begun(tx: Transaction, row: BriefRow) -> bool:
    """Whether the audit tells of a delegate that runs under a brief: its row may have been put back since."""
    told = tx.find_audit(AuditQuery(event="delegate", session=row.session, text=row.brief), limit=1)
    return bool(told) or not is_audit_whole_since(tx, row)


def is_audit_whole_since(tx: Transaction, row: BriefRow) -> bool:
    """Whether no record is missing since a brief was put before a person, as that was recorded."""
    asked = tx.find_audit(AuditQuery(event="decision", session=row.session, call=row.call_id))
    return bool(asked) and chain_links.read_to_head(tx, asked[-1].seq) is not None


def _may_begin(row: BriefRow) -> bool:
    """Whether a brief waits for its delegate, and a person could see the whole of it before they said yes."""
    return not row.agent and (row.state == READ or (row.state == "asked" and fits(row.text)))


def read(tx: Transaction, wanted: str) -> BriefRow | BriefRefusal:
    """Note that a person was shown the whole of a brief, outside of the client.

    Args:
        tx: The transaction.
        wanted: The brief's id, or the beginning of it.
    """
    found = [row for session in tx.sessions() for row in tx.briefs(session.session) if row.brief.startswith(wanted)]
    if len(wanted) < _SHORTEST_ID or len(found) != 1:
        return BriefRefusal("there is no brief with this id" if not found else "give more of the id")
    return mark_read(tx, found[0])


def note_shown(store: Store, wanted: str, *, by: str) -> BriefRow | BriefRefusal:
    """Note that a person was shown the whole of a brief, and record that.

    Args:
        store: The store.
        wanted: The brief's id, or the beginning of it.
        by: Who was shown it, as ``ann (terminal)``.

    Raises:
        StoreError: The store cannot be written.
    """
    from lockgate.core.events import Context
    from lockgate.store.audit.record import event_record

    with store.transaction() as tx:
        row = read(tx, wanted)
        if not isinstance(row, BriefRefusal) and row.state == READ:
            person = Context("cli", Subject(row.session, row.parent))
            tx.append_audit(store.clock(), event_record(person, "brief-read", {"brief": row.brief, "by": by}))
    return row


def mark_read(tx: Transaction, row: BriefRow) -> BriefRow:
    """Note that a person was shown the whole of a brief that waits."""
    if row.state == "asked" and not row.agent:
        row = row._replace(state=READ)
        tx.put_brief(row)
    return row


def bind_brief(tx: Transaction, subject: Subject, row: BriefRow) -> BriefRow:
    """Bind a sub-agent to its brief, once."""
    bound = row._replace(state="running", agent=subject.agent)
    tx.put_brief(bound)
    return bound


def close_refused(tx: Transaction, session: str, calls: Sequence[str]) -> None:
    """Close the briefs of calls that a person answered with no."""
    for row in tx.briefs(session) if calls else ():
        if row.call_id in calls and row.state in ("asked", READ) and not row.agent:
            tx.put_brief(row._replace(state="refused"))


def find_running(tx: Transaction, subject: Subject) -> BriefRow | None:
    """The brief that a subject acts under, if it is a delegate."""
    row = tx.agent(subject) if subject.agent else None
    return tx.brief(row.delegate) if row is not None and row.delegate else None


def record_end(tx: Transaction, subject: Subject) -> None:
    """Record that a delegate has ended."""
    row = find_running(tx, subject)
    if row is not None and row.state == "running":
        tx.put_brief(row._replace(state="done"))


def find_addressed(tx: Transaction, session: str, to: str) -> AgentRow | None:
    """The delegate that a message is addressed to by its id, if it is one."""
    row = tx.agent(Subject(session, to)) if to else None
    return row if row is not None and row.delegate else None
