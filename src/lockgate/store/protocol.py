"""What every store can do. One contract test suite (``tests/store/contract.py``) holds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from lockgate.core.model import Label, Subject, Taint
from lockgate.store.rows import (
    AgentRow,
    AnchorRow,
    ApprovalRow,
    AuditCheckpoint,
    AuditHead,
    AuditQuery,
    AuditRow,
    BriefRow,
    CallRow,
    GateRow,
    PutBack,
    SessionRow,
)


class Transaction(Protocol):
    """One atomic step. All that it wrote is kept, or nothing."""

    def session(self, session: str) -> SessionRow | None:
        """The session, or ``None``."""

    def put_session(self, row: SessionRow) -> None:
        """Add or replace a session."""

    def sessions(self, *, process: str = "", limit: int = 0) -> list[SessionRow]:
        """Sessions, last seen first; of one client process where it is given."""

    def agent(self, subject: Subject) -> AgentRow | None:
        """The sub-agent, or ``None``."""

    def put_agent(self, row: AgentRow) -> None:
        """Add or replace a sub-agent."""

    def agents(self, session: str) -> list[AgentRow]:
        """All sub-agents of a session, oldest first."""

    def taints(self, subject: Subject, *, limit: int = 0) -> list[Taint]:
        """The taints of a subject, oldest first; with a limit, only so many confirmed ones of each label."""

    def newest_taints(self, session: str, limit: int) -> list[tuple[str, Taint]]:
        """So many taints of a session, newest first, each with the agent that has it: one question for all agents."""

    def labels(self, subject: Subject) -> frozenset[Label]:
        """The labels of a subject, pending ones too: what ``taints`` would give, without reading them all."""

    def labels_of_all(self, subjects: Collection[Subject]) -> dict[Subject, frozenset[Label]]:
        """The labels of each of many subjects, as ``labels`` gives them: one question, however many they are."""

    def add_taints(self, subject: Subject, taints: Iterable[Taint]) -> None:
        """Add taints. One already there (same label, source, call and origin) is kept; confirmed replaces pending."""

    def settle(self, session: str, call_id: str, *, confirm: bool) -> int:
        """Confirm or drop all pending taints of a call, in every agent of the session. Returns how many."""

    def drop_taints(self, subject: Subject, label: Label, call_id: str) -> int:
        """Drop the confirmed taints of one label that a subject has by a call of its own. Returns how many.

        Only for a person's word: see ``session.endorsements``.
        """

    def label_contradictions(self) -> list[tuple[Subject, str]]:
        """The subjects whose labels something else has changed, each with what is wrong.

        Where the database's roles guard them there are none.
        """

    def mend_labels(self, subjects: Collection[Subject], at: float) -> None:
        """Let subjects have every label that they seem to have, from ``at`` on as if that had always been so."""

    def call(self, session: str, call_id: str) -> CallRow | None:
        """The call, or ``None``."""

    def put_call(self, row: CallRow) -> None:
        """Add or replace a call."""

    def calls(self, session: str, *, state: str = "") -> list[CallRow]:
        """Calls of a session, oldest first; in one state where it is given."""

    def brief(self, brief: str) -> BriefRow | None:
        """The brief, or ``None``."""

    def put_brief(self, row: BriefRow) -> None:
        """Add or replace a brief."""

    def briefs(self, session: str) -> list[BriefRow]:
        """Briefs of a session, oldest first."""

    def approval(self, approval: str) -> ApprovalRow | None:
        """The question to a person, or ``None``."""

    def put_approval(self, row: ApprovalRow) -> None:
        """Add or replace a question to a person."""

    def noes(self, session: str) -> list[ApprovalRow]:
        """What a person has said no to in a session, oldest first.

        Where something else has changed that, the last one may be to any call: it says ``UNSEALED``.
        """

    def approvals(self, *, session: str = "", state: str = "") -> list[ApprovalRow]:
        """Questions to a person, oldest first; of one session, in one state, where they are given."""

    def overdue_approvals(self, now: float) -> list[ApprovalRow]:
        """Questions whose time is over by now, and that nobody answered, or whose answer nobody used; oldest first."""

    def block(self, session: str, agent: str, what: str, at: float) -> None:
        """Remember that something was blocked (Lockbox's ``blocked_tools``)."""

    def list_blocked(self, session: str) -> list[tuple[str, str, float]]:
        """What was blocked in a session: (agent, what, when), oldest first."""

    def times_blocked(self, sessions: Collection[str]) -> dict[str, int]:
        """How often something was blocked in each of many sessions: one question, however many they are."""

    def add_addresses(self, session: str, keys: Iterable[bytes], *, human: bool) -> None:
        """Remember keyed hashes of addresses that the session has seen."""

    def knows_address(self, session: str, key: bytes, *, human_only: bool = False) -> bool:
        """Whether the session has seen the address."""

    def copy_addresses(self, source: str, target: str, *, human_only: bool) -> None:
        """Let one session know what another has seen."""

    @property
    def gate(self) -> str:
        """The id of this gate, whose chain ``append_audit`` appends to."""

    def hash_with_key(self, purpose: bytes, text: str) -> str:
        """A keyed hash of a text that nobody can make without the key of this installation.

        Args:
            purpose: One of ``chain_links``, so that a hash of one purpose passes for none of another.
            text: What is to be bound. It must be ASCII, as canonical JSON is.
        """

    def append_audit(self, at: float, body: Mapping[str, Any]) -> AuditRow:
        """Append one record to the audit chain.

        Raises ``StoreError`` where the head's seal does not hold: going on would hide that the chain was cut.
        """

    def audit(self, *, after: int = 0, limit: int = 0, gate: str = "") -> list[AuditRow]:
        """Audit records in order, those with a greater sequence number than ``after``.

        Args:
            after: A sequence number.
            limit: The most records, where it is not 0.
            gate: Whose chain, by the id of one of ``gates``; empty for this gate's own. So everywhere below.
        """

    def find_audit(
        self, query: AuditQuery, *, after: int = 0, before: int = 0, limit: int = 0, gate: str = ""
    ) -> list[AuditRow]:
        """The audit records that meet a query, newest first.

        Args:
            query: What they must meet. A body that is no JSON meets only text and times.
            after: Only those with a greater sequence number. A look that must not take long bounds both ends.
            before: Only those with a smaller one, where it is not 0.
            limit: The most records, where it is not 0.
            gate: As for ``audit``.
        """

    def audit_head(self, *, gate: str = "") -> AuditHead:
        """The chain's sealed head as it is kept, whether or not its seal holds; ``AuditHead()`` where it is missing."""

    def audit_checkpoint(self, *, gate: str = "") -> AuditCheckpoint:
        """Where the chain was last cut, whether or not its seal holds; ``AuditCheckpoint()`` where it never was."""

    def audit_before(self, at: float, *, now: float, most: int = 0) -> int:
        """How far the chain's beginning reaches in which every record is older than a time.

        A record of a time that has not come yet is as old as the next one: it was made while the clock was ahead.

        Args:
            at: Seconds since the epoch.
            now: The time now.
            most: Look at no more records than this, from the first one kept; 0 for no limit.

        Returns:
            The number of the last of these records; 0 where the first one kept is not older.
        """

    def cut_audit(self, checkpoint: AuditCheckpoint, body: Mapping[str, Any]) -> AuditRow:
        """Remove the records up to a checkpoint, which takes their place, and record that.

        The record is appended to the chain with the checkpoint in it and the event ``links.PRUNED``. There is no other
        way in which a record is ever removed. That what is removed holds is for the caller to find out first.

        Args:
            checkpoint: Made by ``links.checkpoint`` with the installation's key.
            body: What else the record says.

        Raises ``StoreError`` where the checkpoint's seal does not hold. So it does where it names a record that is not
        there, or a wrong number of records up to it: somebody else may have cut the chain meanwhile.
        """

    def gates(self) -> list[GateRow]:
        """All gates that keep a chain of records in this store, this one too as soon as it has recorded something."""

    def anchors(self, *, after: int = 0, limit: int = 0) -> list[AnchorRow]:
        """The central record of the heads of all chains, in order, from the anchor after the number ``after`` on.

        A store that only one gate uses has none.
        """

    def put_back(self) -> PutBack | None:
        """Whether the state was put back from a copy: ``None`` where it never was."""

    def accept_put_back(self) -> None:
        """Tell no more that it was: a person has looked. No label goes."""

    def setting(self, name: str) -> str | None:
        """A value of the gate's own (cached configuration, trust), or ``None``."""

    def put_setting(self, name: str, value: str | None) -> None:
        """Keep or (``None``) remove a value of the gate's own."""

    def has_in_set(self, prefix: str) -> bool:
        """Whether there are settings of a set (``lockgate.store.files.SETS``), or there may have been."""

    def read_set(self, prefix: str) -> dict[str, str] | None:
        """All settings of a set; ``None`` where something else has taken one away, changed one or put one back."""

    def read_passages(self, session: str) -> str | None:
        """The passages of strangers that a session has read (``lockgate.store.files.PASSAGES``); empty for none.

        ``None`` where something else has taken them away, changed them or put them back.
        """

    def settings(self, prefix: str) -> dict[str, str]:
        """All values whose name starts with ``prefix``."""

    def policy_digest(self, fleet: str) -> str:
        """The SHA-256 of the bundle that is published for a fleet, hexadecimal; empty where there is none."""

    def policy(self, fleet: str) -> bytes | None:
        """The bundle that is published for a fleet, or ``None``. Nothing vouches for it but its signatures."""

    def put_policy(self, fleet: str, serial: int, data: bytes) -> bool:
        """Publish a bundle for all gates of this store, unless one that is not older is there; whether it was put."""

    def prune(self, before: float) -> int:
        """Forget sessions that ended before a time, with all that belongs to them but the audit. Returns how many.

        Of very many it forgets some, the oldest, so that no step takes long.
        """


class Store(Protocol):
    """Where state is kept."""

    @property
    def key(self) -> bytes:
        """32 secret bytes of this installation alone: for seals, and for keyed hashes of what only it keeps."""

    @property
    def fleet_key(self) -> bytes:
        """32 secret bytes of all gates that use this store, for keyed hashes that they compare."""

    @property
    def gate(self) -> str:
        """The id of this gate, under which ``Transaction.gates`` lists it."""

    def clock(self) -> float:
        """The time of the store, in seconds since the epoch: what is kept is compared with this, on every machine."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin an atomic step: no other one sees or changes what it looks at meanwhile. Raises ``StoreError``."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """Begin a consistent look that writes nothing. Raises ``StoreError``."""

    def listen(self, heard: Callable[[str], None], *, watching: bool = False) -> AbstractContextManager[None]:
        """Hear of questions to a person that somebody on another machine puts, answers or ends.

        Args:
            heard: Called with the id of the question, or with an empty text where some may have been missed. By another
                thread, and soon: it must not wait, nor use the store.
            watching: Whether a person is here who answers questions. See ``watched``.
        """

    def is_watched(self) -> bool:
        """Whether a person on another machine waits for questions (``listen``, with ``watching``)."""

    def sync_commits(self, wanted: bool) -> None:
        """Say whether what is committed from the next transaction on must survive a power cut, where that is a choice.

        PostgreSQL is always asked to keep it.
        """

    def close(self) -> None:
        """Let go of all resources."""
