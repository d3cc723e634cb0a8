r"""What one link of the audit chain is: its canonical text, its digest, and the seals of the chain's two ends.

Pure functions of values. They stand beside the store, not in ``audit``, because the store appends a link in the same
transaction as what the link tells about; ``audit`` verifies and exports what stands here.

The digest is made so that anybody can check it with a few lines in any language::

    SHA-256("lockgate audit record 1\n" + previous + "\n" + seq + "\n" + at + "\n" + body)

``previous`` is 64 hexadecimal digits, ``seq`` decimal, ``at`` the shortest decimal that gives the same double. None of
these can hold a line break, so no two records have the same text.
"""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.rows import AuditCheckpoint, AuditHead, AuditRow
from lockgate.system.digests import blake2b, canonical_json, sha256

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.protocol import Transaction

ROOT = "0" * 64
"""What the first record names as its previous digest."""

_TEXT = canonical_json()
_RECORD = "lockgate audit record 1"
_HEAD = b"lockgate head 1"  # blake2b takes at most 16 bytes of personalisation
_CUT = b"lockgate cut 1"
_GATE = b"lockgate gate"
_FLEET = b"lockgate fleet"
PURPOSE_LABELS = b"lockgate label 1"
"""For how many taints a subject has: `lockgate.store.sqlite.labels`."""
PURPOSE_SUBJECT = b"lockgate known2"
"""For one session or agent, as it stands in the list of those that have begun: `lockgate.store.sqlite.subject_list`."""
PURPOSE_BEGUN = b"lockgate begun 1"
"""For one part of that list: `lockgate.store.sqlite.subject_list`."""
PURPOSE_LIST = b"lockgate list 1"
"""For the row that has the seals of all its parts."""
PURPOSE_SET = b"lockgate set 1"
"""For all rows of one kind of which none may be missing: `lockgate.store.sqlite.subject_list`."""
PURPOSE_DEPLOYMENT = b"lockgate known 1"
"""Of a deployment that a person has said yes to for good."""
PURPOSE_OUTSIDE = b"lockgate out 1"
"""For the head that is kept outside of the state folder: `lockgate.store.sqlite.rollback`."""
PURPOSE_REMOTE = b"lockgate remote1"
"""For the head that is kept where the machine is not the owner: `lockgate.store.sqlite.head_anchors`."""
PURPOSE_YES = b"lockgate yes 1"
"""For what a person's yes is bound to: `lockgate.gate.approvals.proof`."""
PURPOSE_PAUSE = b"lockgate pause1"
"""For a person's pause: `lockgate.configuration.pause`."""
PURPOSE_COMPILED = b"lockgate config1"
"""For what configuration files come to, as it is kept: `lockgate.configuration.load`."""
PURPOSE_PROMPT = b"lockgate prompt1"
"""For whose words a prompt is made of: `lockgate.gate.monitor.prompt_parts`."""
PURPOSE_JOB = b"lockgate job 1"
"""For whose words the prompts of a CI job can hold: `lockgate.gate.session.jobs`."""
PURPOSE_AUTHORS = b"lockgate authors"
"""For who wrote what, as a service says: `lockgate.gate.authors.lookup`."""
PURPOSE_PACKAGES = b"lockgate pack 1"
"""For packages that an untrusted session has installed: `lockgate.gate.session.packages`."""
PURPOSE_ROW = b"lockgate row 1"
"""For one row by which a decision can be looser: `lockgate.store.sqlite.statements`."""
PURPOSE_STORE = b"lockgate store 1"
"""For which store a person has chosen: `lockgate.store.postgres.settings`."""
PURPOSE_GROUP = b"lockgate group 1"
"""For a container's group, as this machine knows it: `lockgate.service.containers.groups`."""
PURPOSE_ROOM = b"lockgate room 1"
"""For the name of a room of contained commands: `lockgate.gate.monitor.rooms`; and for the commit that a session began
with, which has other fields: `lockgate.gate.monitor.bases`."""

_EPOCH_DIGITS = 16
"""Digits of a digest: a chain that was put back has another record with the same number."""

BY_A_PERSON = frozenset(("cli", "dashboard"))
"""What stands for the client in the record of what a person has done with a command or a page of ours."""
SCHEMA = "schema"
"""What the first record of a chain has beside all else, and each that tells of a cut: the version of its tables. So a
database that is called one of an older version contradicts its chain."""
PRUNED = "pruned"
"""The event of the record that tells of a cut. Nothing else writes one: ``Transaction.cut_audit`` does."""


def canonical(body: Mapping[str, Any]) -> str:
    """The one text of a body: sorted keys, no spaces, ASCII, no NaN.

    Raises:
        ValueError: The body holds a number that JSON has no text for (NaN).
        TypeError: The body holds a value of another type.
        RecursionError: It is nested too deep.
    """
    return _TEXT(body)


def link_digest(previous: str, seq: int, at: float, body: str) -> str:
    """The digest of one record, hexadecimal. ``body`` is its canonical text, ``at`` seconds since the epoch."""
    text = f"{_RECORD}\n{previous}\n{seq}\n{at!r}\n{body}"
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_to_head(tx: Transaction, seq: int, gate: str = "") -> list[AuditRow] | None:
    """The records of a chain from one on; ``None`` where one of them is missing, or was changed.

    Whoever rests something on a record that is not there has to ask this first. To take a record out, or to put another
    in its place, breaks the chain between it and the head. The seal of the head is looked at when the call is recorded.

    Args:
        tx: The transaction.
        seq: The number of the first.
        gate: Whose chain, by its id; empty for this gate's own.
    """
    links = tx.audit(after=seq - 1, gate=gate)
    previous = links[0].previous if links else ""
    for number, link in enumerate(links, seq):
        digest = link_digest(previous, number, link.at, link.body)
        if (link.seq, link.previous, link.digest) != (number, previous, digest):
            return None
        previous = digest
    return links if links and tx.audit_head(gate=gate)[:2] == (links[-1].seq, previous) else None


class HeadFacts(Record):
    """What the seal of the head binds beside the chain's end."""

    epoch: str = ""
    """Since which record seals of labels hold, see :func:`epoch_at`; empty where all do."""
    root: str = ""
    """The digest of the list of who has begun; empty where there is no such list."""
    sets: str | None = None
    """The digests of the settings of which none may be missing; ``None`` where a version of before has made it."""

    @property
    def text(self) -> str:
        """As it stands behind the hash."""
        if self.sets is not None:
            return f"{self.epoch}.{self.root}.{self.sets}"
        return f"{self.epoch}.{self.root}" if self.root else self.epoch


_NO_FACTS = HeadFacts()


def seal(key: bytes, seq: int, digest: str, facts: HeadFacts = _NO_FACTS) -> str:
    """The keyed hash (BLAKE2b, RFC 7693) of the head: how many records there are, and the last one's digest.

    Without it the newest records could be cut off and what is left would still be a chain.

    Args:
        key: The installation's key.
        seq: How many records there are.
        digest: The last one's digest.
        facts: What else it binds. That follows the hash.
    """
    bound = facts.text
    text = f"{seq}\n{digest}\n{bound}" if bound else f"{seq}\n{digest}"
    mark = blake2b(text.encode(), key=key, person=_HEAD, digest_size=32).hexdigest()
    return f"{mark}.{bound}" if bound else mark


def epoch_at(seq: int, digest: str) -> str:
    """What tells that seals of labels are of after a record: its number, and the beginning of its digest."""
    return f"{seq}-{digest[:_EPOCH_DIGITS]}"


def head_facts(key: bytes, head: AuditHead) -> HeadFacts | None:
    """What a head's seal binds; ``None`` where the seal does not hold."""
    facts = HeadFacts(*head.seal.split(".")[1:4])
    return facts if head.seal == seal(key, head.seq, head.digest, facts) else None


def hash_with_key(key: bytes, purpose: bytes, text: str) -> str:
    """A keyed hash of a text for one purpose, so that none of one purpose passes for one of another."""
    return blake2b(text.encode(), key=key, person=purpose, digest_size=32).hexdigest()


def checkpoint(key: bytes, seq: int, digest: str, removed: int, at: float) -> AuditCheckpoint:
    """A sealed checkpoint: what stands in the place of the records up to ``seq``.

    The seal is another one than that of the head, so that neither can be used as the other: a checkpoint that was kept
    cannot make a chain that was cut at its end look whole.

    Args:
        key: The installation's key.
        seq: Number of the last record that is removed.
        digest: Its digest.
        removed: How many records are removed.
        at: When, in seconds since the epoch.
    """
    text = f"{seq}\n{digest}\n{removed}\n{float(at)!r}".encode()
    mark = blake2b(text, key=key, person=_CUT, digest_size=32).hexdigest()
    return AuditCheckpoint(seq, digest, removed, float(at), mark)


def is_cut(key: bytes, found: AuditCheckpoint) -> bool:
    """Whether a checkpoint's seal holds."""
    return found == checkpoint(key, *found[:4])


def checkpoint_from(value: object) -> AuditCheckpoint | None:
    """The checkpoint that a record or an export holds as JSON; ``None`` where the value is none."""
    match value:
        case {"seq": int(seq), "digest": str(digest), "removed": int(removed), "at": float(at), "seal": str(mark)}:
            return AuditCheckpoint(seq, digest, removed, at, mark)
    return None


def gate_of(key: bytes) -> str:
    """The id of the gate whose key this is: 32 hexadecimal digits, as random as the key, which they tell nothing of."""
    return blake2b(b"", key=key, person=_GATE, digest_size=16).hexdigest()


def fleet_key_of(key: bytes) -> bytes:
    """The key of a fleet that has one gate so far: 32 bytes. A shared store that it moves to takes it over."""
    return blake2b(b"", key=key, person=_FLEET, digest_size=32).digest()
