"""Approvers' signatures of a yes, a retracted no and an endorsement, by the person's own key.

In a shared store the record of another gate proves only that somebody has that gate's role. A signature proves who said
yes, and to what. Nothing here is imported where the configuration names no approvers, or where nobody has said yes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lockgate.configuration.bundles import envelope, keys, manifest
from lockgate.core.errors import ApprovalError, BundleError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.digests import canonical_json

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.rows import ApprovalRow

PAYLOAD_TYPE = "application/vnd.lockgate.answer.v1+json"
"""What is signed. It is signed too, so that no signature of a policy passes for an answer."""
YES, TAKEN_BACK, ENDORSED = "approve", "retract", "endorse"
"""What an approver can sign, as the audit calls the record of it."""
SIGNED = "signed"
"""The name under which a record holds the signature."""
_ALWAYS = float("inf")
_TEXT = canonical_json(default=str, allow_nan=True)


class Approver(Record):
    """The key of an approver."""

    name: str
    key: keys.PublicKey
    since: float
    until: float


class Signer(Record):
    """An approver who is here, with the private key."""

    name: str
    key: keys.PrivateKey

    @property
    def by(self) -> str:
        """The approver, as a question and the audit name them."""
        return signer_name(self.name)

    def sign(self, act: str, facts: Mapping[str, Any]) -> dict[str, str]:
        """The signature of what is said, for its record."""
        value = self.key.sign(_message(act, self.name, facts))
        return {"name": self.name, "key": self.key.public().id, "value": envelope.to_base64(value)}


def signer_name(name: str) -> str:
    """An approver, as a question and the audit name who has signed."""
    return f"{name} (signed)"


def signer(configured: Mapping[str, Any], key: keys.PrivateKey, now: float) -> Signer:
    """The approver whose key this is.

    Raises:
        ApprovalError: It is the key of none, or not of now.
    """
    public = key.public()
    for each in _approvers(configured):
        if each.key.raw == public.raw and each.since <= now < each.until:
            return Signer(each.name, key)
    raise ApprovalError(f"your key {public.id} is not among the `approvers` of the configuration, or not any more")


def is_signed(configured: Mapping[str, Any], act: str, facts: Mapping[str, Any], signed: object) -> bool:
    """Whether an approver has signed exactly this. Whatever is not as it must be counts as not signed.

    Args:
        configured: The ``approvers`` of the configuration.
        act: What was said: a yes, a no that is taken back, an endorsement.
        facts: All that it is bound to. ``at`` is when, and ``by`` who says so.
        signed: What its record holds as the signature.
    """
    match signed:
        case {"name": str(name), "key": str(fingerprint), "value": str(text)}:
            pass
        case _:
            return False
    if facts.get("by") != signer_name(name):
        return False
    at = facts["at"]
    try:
        value, message = envelope.from_base64(text, "value"), _message(act, name, facts)
        return any(
            keys.verifies(each.key, value, message)
            for each in _approvers(configured)
            if (each.name, each.key.id) == (name, fingerprint) and each.since <= at < each.until
        )
    except BundleError:  # no Base64, or the library is missing
        return False


def begins(configured: Mapping[str, Any]) -> float:
    """From when on an answer has to be signed: before that nobody had a key."""
    return min((each.since for each in _approvers(configured)), default=0.0)


def facts_of(row: ApprovalRow, fetches: object, shown: str) -> dict[str, Any]:
    """All that a yes to a question is bound to.

    Args:
        row: The question, with its answer.
        fetches: The host whose pages may be read, where the yes is for all of them.
        shown: Digest of what the person was shown, as ``proof.shown_in`` tells it.
    """
    times = {"asked_at": float(row.asked_at), "expires_at": float(row.expires_at), "at": float(row.decided_at)}
    call = {"session": row.session, "agent": row.agent, "call": row.call_id, "digest": row.digest, "basis": row.basis}
    said = {"by": row.decided_by, "reason": row.reason, "fetches": fetches, "shown": shown}
    return {"approval": row.approval, **call, **times, **said}


def facts_in(body: Mapping[str, Any], at: float) -> dict[str, Any]:
    """All that a record of something else than a yes says, and when: that is what its signature is bound to."""
    return {**{name: value for name, value in body.items() if name != SIGNED}, "at": float(at)}


def _message(act: str, name: str, facts: Mapping[str, Any]) -> bytes:
    return envelope.pae(PAYLOAD_TYPE, _TEXT({"act": act, "approver": name, "said": facts}).encode())


def _approvers(configured: Mapping[str, Any]) -> Iterator[Approver]:
    """Those who are named. An entry that cannot be read is nobody's."""
    for each in configured.get("keys", ()):
        try:
            since = _day(each["from"]) if "from" in each else 0.0
            until = _day(each["until"]) if "until" in each else _ALWAYS
            yield Approver(each["name"], keys.parse(each["key"]), since, until)
        except BundleError:
            continue


def _day(text: str) -> float:
    return manifest.read_time(f"{text}T00:00:00Z", "day")
