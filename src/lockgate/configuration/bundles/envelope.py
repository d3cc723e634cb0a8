"""The envelope of a bundle: DSSE 1.0 in JSON (https://github.com/secure-systems-lab/dsse, protocol.md, envelope.md).

What is signed is the payload's type and its exact bytes. The names of keys are hints and decide nothing.
"""

from __future__ import annotations

import json
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping

from lockgate.configuration.layers.files import MOST_BYTES
from lockgate.core.errors import BundleError, ConfigError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.documents.reader import read

if TYPE_CHECKING:
    from typing import Any

PAYLOAD_TYPE = "application/vnd.lockgate.policy-bundle.v1+json"
"""What the payload is. It is signed too, so that nothing else that a key has signed can pass for a policy."""
MOST_SIGNATURES = 16
_SIGNATURE_BYTES = 64
_NAME = "bundle.json"
_URL_SAFE = str.maketrans("-_", "+/")


class Signature(Record):
    """A signature that is not verified yet."""

    keyid: str
    """Which key the signer says it was. Nothing vouches for it."""
    value: bytes


class Envelope(Record):
    """A payload and its signatures, none of them verified."""

    payload: bytes
    signatures: tuple[Signature, ...] = ()

    @property
    def signed(self) -> bytes:
        """The bytes that a signature is for: DSSE's pre-authentication encoding."""
        return pae(PAYLOAD_TYPE, self.payload)


def pae(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: each part with its length, so that none can pass for another."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def encode(envelope: Envelope) -> bytes:
    """The file of an envelope."""
    value = {
        "payloadType": PAYLOAD_TYPE,
        "payload": to_base64(envelope.payload),
        "signatures": [{"keyid": each.keyid, "sig": to_base64(each.value)} for each in envelope.signatures],
    }
    return json.dumps(value, indent=1).encode() + b"\n"


def decode(data: bytes) -> Envelope:
    """Read an envelope.

    Fields that DSSE does not know are passed over, as it demands; keys that stand twice are not.

    Raises:
        BundleError: It is none, holds something else, or is larger than any bundle.
    """
    value = read_json(data)
    if value.get("payloadType") != PAYLOAD_TYPE:
        raise BundleError("it is no policy bundle of a version that is known: its payloadType is another")
    signatures = value.get("signatures")
    if not isinstance(signatures, list) or len(signatures) > MOST_SIGNATURES:
        raise BundleError(f"its signatures must be a list of at most {MOST_SIGNATURES}")
    return Envelope(from_base64(value.get("payload"), "payload"), tuple(map(_signature, signatures)))


def read_json(data: bytes) -> Mapping[str, Any]:
    """A JSON object, read strictly: no key twice, bounded in size, depth and number of values.

    Raises:
        BundleError: It is none.
    """
    if len(data) > MOST_BYTES:
        raise BundleError(f"it is larger than {MOST_BYTES} bytes")
    try:
        value = read(data, _NAME).value
    except ConfigError as error:
        raise BundleError(f"line {error.line}: {error.problem}" if error.line else error.problem) from None
    if not isinstance(value, dict):
        raise BundleError("it is no JSON object")
    return value


def _signature(value: Any) -> Signature:
    if not isinstance(value, dict):
        raise BundleError("a signature is no JSON object")
    keyid = value.get("keyid", "")
    found = from_base64(value.get("sig"), "sig")
    if not isinstance(keyid, str) or len(found) != _SIGNATURE_BYTES:
        raise BundleError("a signature is none of Ed25519")
    return Signature(keyid, found)


def to_base64(data: bytes) -> str:
    """Bytes as a field holds them in Base64."""
    return b2a_base64(data, newline=False).decode()


def from_base64(value: Any, name: str) -> bytes:
    """What a field holds in Base64, with the standard alphabet or that for addresses.

    Raises:
        BundleError: It is no text, or no Base64.
    """
    if not isinstance(value, str):
        raise BundleError(f"{name} is missing, or no text")
    try:
        return a2b_base64(value.translate(_URL_SAFE), strict_mode=True)
    except (Base64Error, ValueError):
        raise BundleError(f"{name} is not Base64") from None
