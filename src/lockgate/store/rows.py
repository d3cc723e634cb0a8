"""What a store keeps, as frozen types."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from lockgate.core.errors import StoreError
from lockgate.core.model import Label, Taint, TaintState
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.digests import json_object

if TYPE_CHECKING:
    from typing import Any


class SessionRow(Record):
    """One session as it is kept. Times are seconds since the epoch; 0.0 means never."""

    session: str
    client: str = ""
    cwd: str = ""
    workspace: str = ""
    parent: str = ""
    """The session it came from (clear, fork), empty where there is none."""
    how: str = ""
    """How it began: startup, resume, clear, compact, fork; empty where its beginning was not seen."""
    process: str = ""
    started_at: float = 0.0
    seen_at: float = 0.0
    ended_at: float = 0.0
    why: str = ""
    """Why it ended: clear, resume, logout, prompt_input_exit, other; empty while it runs."""


class AgentRow(Record):
    """One sub-agent. ``state``: running or ended."""

    session: str
    agent: str
    agent_type: str = ""
    parent: str = ""
    """The agent that spawned it; empty for the main agent."""
    call_id: str = ""
    """The call that spawned it, empty where it could not be told."""
    delegate: str = ""
    """Id of the approved brief it runs under, empty for an ordinary sub-agent."""
    state: str = "running"
    started_at: float = 0.0
    parents: tuple[str, ...] = ()
    """Every agent that may have spawned it, where it could not be told which; else empty."""


class CallRow(Record):
    """A call that was let run and has not come back yet, or has."""

    session: str
    call_id: str
    agent: str = ""
    tool: str = ""
    digest: str = ""
    """SHA-256 of the exact call, hexadecimal."""
    state: str = "running"
    """running, asked, finished, failed, refused."""
    quiet: tuple[str, ...] = ()
    facts: Mapping[str, Any] = {}
    """What the result needs to know about the call (JSON)."""
    at: float = 0.0


class BriefRow(Record):
    """A delegate's brief. ``state``: asked, approved (a person was shown it whole), running, done, refused."""

    brief: str
    """Its id, 128 random bits."""
    session: str
    parent: str
    """The agent that asked for it."""
    call_id: str
    digest: str
    """SHA-256 of the exact call that asks for the delegate, hexadecimal."""
    text: str
    """What the brief says, without credentials."""
    state: str = "asked"
    agent: str = ""
    at: float = 0.0


class AuditRow(Record):
    """One link of the audit chain."""

    seq: int
    at: float
    body: str
    """Canonical JSON."""
    previous: str
    digest: str


class AuditHead(Record):
    """What the chain says about itself: how many records there are, and which is the last."""

    seq: int = 0
    digest: str = ""
    """The last record's digest; 64 zeros for an empty chain, and empty where the head is missing."""
    seal: str = ""
    """Keyed hash of the two, hexadecimal; empty where the head is missing."""


class AuditCheckpoint(Record):
    """Where the chain was cut: what stands in the place of the records that retention removed."""

    seq: int = 0
    """Number of the last record that was removed; 0 where none ever was."""
    digest: str = ""
    """That record's digest, which the first one left names as its previous one."""
    removed: int = 0
    """How many records this cut removed."""
    at: float = 0.0
    """When, in seconds since the epoch."""
    seal: str = ""
    """Keyed hash of the four, hexadecimal."""


class AuditQuery(Record):
    """Which audit records are looked for: those that meet all that is not empty."""

    text: str = ""
    """Stands somewhere in the record; ASCII letters match in either case."""
    event: str = ""
    session: str = ""
    client: str = ""
    tool: str = ""
    call: str = ""
    """The client's id of a call."""
    verdict: str = ""
    tier: str = ""
    """The step of the cascade that decided."""
    rule: str = ""
    """The rule of a reason, or of a match of the pattern library."""
    matched: bool = False
    """Whether the pattern library has found something."""
    since: float = 0.0
    until: float = 0.0
    """Recorded at or after, and before, in seconds since the epoch; 0.0 is open."""


UNSEALED = "unsealed"
"""The name under which a question says that its row has no seal that holds."""
AHEAD = 60.0
"""Seconds after which a time that has not come yet was told by a clock that was ahead."""
_CLOCK_SLACK = 2.0
"""Seconds by which a clock may be put back without that being taken for more time."""


class ApprovalRow(Record):
    """One question to a person, bound to the exact call, who makes it, and what it was decided by."""

    approval: str
    """Its id: short enough to type, and cannot be guessed."""
    session: str
    agent: str
    client: str
    call_id: str
    digest: str
    """SHA-256 of the exact call with its working folder, hexadecimal."""
    basis: str
    """Digest of all that the question rests on: configuration, labels, effects. A changed one is another question."""
    about: Mapping[str, Any] = {}
    """What a person is shown (JSON): call, effects, reasons, provenance. Credentials are masked."""
    state: str = "pending"
    """pending, approved, denied, expired, changed, used. Only an approved one can be used, and only once."""
    asked_at: float = 0.0
    expires_at: float = 0.0
    decided_at: float = 0.0
    decided_by: str = ""
    """Who decided: a user of this machine and how, as ``ann (terminal)``."""
    reason: str = ""
    """What the person says to the agent with a refusal."""

    def is_over(self, now: float) -> bool:
        """Whether its time is over. A clock that was put back must not give it more."""
        return self.expires_at <= now or now < self.asked_at - _CLOCK_SLACK

    @property
    def is_changed(self) -> bool:
        """Whether something else than Lockgate has written it: a no may be to any call then."""
        return UNSEALED in self.about

    def drop_facts(self, *names: str) -> ApprovalRow:
        """The same without some facts about it."""
        return self._replace(about={name: value for name, value in self.about.items() if name not in names})

    def say_anew(self) -> ApprovalRow:
        """The same as what Lockgate writes now, whatever was done to it before."""
        return self.drop_facts(UNSEALED)


def about_in(text: str) -> Mapping[str, Any]:
    """What was kept of what a person is shown.

    Another gate of a shared store may have written anything. What is no JSON object shows nothing, so that nobody can
    approve it; an error would hide every other question.
    """
    return json_object(text) or {}


class GateRow(Record):
    """One gate of a shared store."""

    gate: str
    """Its id, 32 hexadecimal digits."""
    name: str
    """What people call it."""
    made_at: float
    """When it recorded something first, in seconds since the epoch."""
    seq: int
    """How many records its chain has had."""
    anchored_seq: int = 0
    """Up to which of them it was anchored."""
    anchored_at: float = 0.0
    own: bool = False
    """Whether it is the gate that looks."""


class PutBack(Record):
    """That the state was put back from a copy, or was left for another one for a while."""

    reason: str
    """Why it is not taken for the one that was there before; empty once a person has looked."""
    since: float
    """When that was. A session that is not known may then have had any label."""


def put_back_of(reason: str | None, since: str | None) -> PutBack | None:
    """The same, of two settings."""
    if reason is None and since is None:
        return None
    try:
        return PutBack(reason or "", float(since or "inf"))
    except ValueError:  # somebody else has written it: no session is younger
        return PutBack(reason or "", float("inf"))


class AnchorRow(Record):
    """One link of the central record of heads."""

    n: int
    at_us: int
    """When, by the database's clock, in microseconds since the epoch."""
    gate: str
    seq: int
    head: str
    """Digest of the gate's record with the number ``seq``."""
    previous: str
    """Digest of the anchor before this one, whichever gate's that is."""
    digest: str


# ---------------------------------------------------------------- between a row and what is kept of it


def make_unknown_no(session: str) -> ApprovalRow:
    """What stands for a no of a session that something else has taken away or changed."""
    return ApprovalRow("", session, "", "", "", "", "", {UNSEALED: True}, "denied")


TAINT_COLUMNS = "at, id, label, source, tool, call_id, state, origin"


def parse_column(text: str, damaged: str) -> Any:
    """The value of a column that holds JSON.

    Args:
        text: What stands in the column.
        damaged: What is said where that is no JSON.

    Raises:
        StoreError: It is none.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(damaged) from error


def call_of(row: Sequence[Any], parsed: Callable[[str], Any]) -> CallRow:
    """A call, of its columns; ``parsed`` reads those that hold JSON."""
    *known, quiet, facts, at = row
    return CallRow._make((*known, tuple(parsed(quiet)), parsed(facts), at))


def approval_of(row: Sequence[Any]) -> ApprovalRow:
    """A question to a person, of its columns."""
    found = ApprovalRow._make(row)
    return found._replace(about=about_in(str(found.about)))


def agent_of(row: Sequence[Any], parsed: Callable[[str], Any]) -> AgentRow:
    """A sub-agent, of its columns; ``parsed`` reads those that hold JSON."""
    *known, parents = row
    return AgentRow._make((*known, tuple(parsed(parents))))


def taint_of(row: Sequence[Any]) -> Taint:
    """A taint, of :data:`TAINT_COLUMNS`."""
    at, _, label, source, tool, call_id, state, origin = row
    return Taint(Label(label), source, tool, call_id, at, TaintState(state), origin)


def taint_values(taint: Taint) -> tuple[str | float, ...]:
    """What is kept of a taint: label, source, tool, call, time, state and origin."""
    label, state = taint.label.value, taint.state.value
    return (label, taint.source, taint.tool, taint.call_id, taint.at, state, taint.origin)


def where_equal(mark: str, **wanted: str) -> tuple[str, tuple[str, ...]]:
    """An SQL ``WHERE`` by the columns for which a value is wanted, and these values.

    Args:
        mark: How the database's driver spells the place of a value.
        wanted: The values, by names of columns; an empty one leaves its column out.
    """
    given = {name: value for name, value in wanted.items() if value}
    return (" WHERE " + " AND ".join(f"{name} = {mark}" for name in given) if given else ""), tuple(given.values())


def like_pattern(text: str) -> str:
    """A pattern of ``LIKE`` and ``ILIKE`` for a text as it stands within JSON."""
    written = json.dumps(text)[1:-1]
    for special in ("\\", "%", "_"):
        written = written.replace(special, f"\\{special}")
    return f"%{written}%"
