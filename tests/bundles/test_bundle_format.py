"""The envelope and the manifest: what is read is exactly what was signed, and nothing else is read at all."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles.fleets import FLEET, NOW, bundle, packed, payload_of, public, signed
from lockgate.configuration.bundles import envelope, manifest
from lockgate.configuration.bundles.acceptance import verify_signed
from lockgate.configuration.bundles.envelope import Envelope, Signature
from lockgate.configuration.bundles.keys import PublicKey, parse
from lockgate.configuration.layers.files import MOST_BYTES
from lockgate.core.errors import BundleError

FILE = {"name": "lockgate.yaml", "sha256": "", "content": ""}


def test_what_is_encoded_for_signing_is_that_of_the_specification() -> None:
    """The example in DSSE's protocol.md."""
    found = envelope.pae("http://example.com/HelloWorld", b"hello world")
    assert found == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"


def test_a_bundle_is_read_as_it_was_written() -> None:
    files = {name: f"# {name} \u00e9\u4e2d\n".encode() for name in manifest.FILES}
    made = bundle(7, expires=NOW + 60, files=files)
    verified = verify_signed(signed(manifest.encode(made), "ann"), [public("ann")])
    assert (verified.bundle, verified.key) == (made, public("ann"))
    assert list(manifest.digests(verified.bundle)) == list(manifest.FILES)


def test_the_same_bundle_has_the_same_bytes() -> None:
    files = dict.fromkeys(manifest.FILES, b"x: 1\n")
    turned = dict(reversed(files.items()))
    assert manifest.encode(bundle(files=files)) == manifest.encode(bundle(files=turned))


def test_the_alphabet_for_addresses_is_read_too() -> None:
    value = json.loads(packed())
    value["payload"] = value["payload"].replace("+", "-").replace("/", "_")
    for each in value["signatures"]:
        each["sig"] = each["sig"].replace("+", "-").replace("/", "_")
    assert verify_signed(json.dumps(value).encode(), [public("ann")]).bundle == bundle()


def test_fields_that_dsse_does_not_know_are_passed_over() -> None:
    value = {**json.loads(packed()), "more": [1]}
    assert verify_signed(json.dumps(value).encode(), [public("ann")]).bundle == bundle()


def test_a_name_of_a_key_is_a_hint_and_decides_nothing() -> None:
    value = json.loads(packed(1, "eve"))
    value["signatures"][0]["keyid"] = public("ann").id
    with pytest.raises(BundleError, match="no pinned key"):
        verify_signed(json.dumps(value).encode(), [public("ann")])
    value = json.loads(packed(1, "ann"))
    value["signatures"][0]["keyid"] = "nobody"
    assert verify_signed(json.dumps(value).encode(), [public("ann")]).bundle == bundle()


def test_one_good_signature_among_bad_ones_is_enough() -> None:
    value = json.loads(packed(1, "eve", "ann"))
    value["signatures"].insert(0, {"keyid": "", "sig": base64.b64encode(bytes(64)).decode()})
    assert verify_signed(json.dumps(value).encode(), [public("bob"), public("ann")]).key == public("ann")


ENVELOPES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "ends too early"),
    "a policy that nobody signed": (b"profile: observe\n", "no JSON value"),
    "a list": (b"[]", "no JSON object"),
    "no type": (b'{"payload": "", "signatures": []}', "payloadType"),
    "a type of others": (
        b'{"payloadType": "application/vnd.in-toto+json", "payload": "", "signatures": []}',
        "payloadType",
    ),
    "no signatures": (json.dumps({"payloadType": envelope.PAYLOAD_TYPE, "payload": ""}).encode(), "list"),
    "too many signatures": (
        json.dumps({"payloadType": envelope.PAYLOAD_TYPE, "payload": "", "signatures": [{}] * 17}).encode(),
        "at most 16",
    ),
    "a signature that is none": (
        json.dumps({"payloadType": envelope.PAYLOAD_TYPE, "payload": "", "signatures": [7]}).encode(),
        "no JSON object",
    ),
    "a short signature": (
        json.dumps({"payloadType": envelope.PAYLOAD_TYPE, "payload": "", "signatures": [{"sig": "AAAA"}]}).encode(),
        "Ed25519",
    ),
    "no Base64": (
        json.dumps({"payloadType": envelope.PAYLOAD_TYPE, "payload": "?", "signatures": []}).encode(),
        "Base64",
    ),
    "no payload": (json.dumps({"payloadType": envelope.PAYLOAD_TYPE, "signatures": []}).encode(), "payload is missing"),
    "a key twice": (packed().replace(b"{", b'{"payload": "",', 1), "twice"),
    "deep": (b"[" * 100_000, "deep"),
    "deep inside": (b'{"a":' * 100_000, "deep"),
    "huge": (b" " * (MOST_BYTES + 1), "larger"),
    "not text": (b"\xff\xfe{}", "byte order"),
    "half": (packed()[: len(packed()) // 2], "ends too early|not a JSON text"),
    "unsigned": (envelope.encode(Envelope(manifest.encode(bundle()))), "not signed"),
}


@pytest.mark.parametrize(("data", "problem"), ENVELOPES.values(), ids=ENVELOPES)
def test_what_is_no_signed_envelope_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(BundleError, match=problem):
        verify_signed(data, [public("ann")])


PAYLOADS: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"profile: observe", "no JSON value"),
    "another format": (payload_of(format=2), "format"),
    "no serial": (payload_of(serial=None), "serial"),
    "more than is known": (payload_of(strict=True), "strict"),
    "serial zero": (payload_of(serial=0), "serial"),
    "a serial below zero": (payload_of(serial=-1), "serial"),
    "a serial that is true": (payload_of(serial=True), "serial"),
    "a serial with a fraction": (payload_of(serial=1.5), "serial"),
    "a serial as text": (payload_of(serial="9"), "serial"),
    "a serial beyond what is exact": (payload_of(serial=2**53), "serial"),
    "a fleet that is no name": (payload_of(fleet="../x"), "fleet"),
    "a fleet of nothing": (payload_of(fleet=""), "fleet"),
    "a fleet that is no text": (payload_of(fleet=["acme"]), "fleet"),
    "no time": (payload_of(created="yesterday"), "created"),
    "a time with a zone": (payload_of(created="2026-01-01T00:00:00+02:00"), "created"),
    "a time that would be never": (
        payload_of(created="1969-01-01T00:00:00Z", expires="1970-01-01T00:00:00Z"),
        "created",
    ),
    "a month that is none": (payload_of(created="2026-13-01T00:00:00Z"), "created"),
    "expires before it began": (payload_of(expires="2020-01-01T00:00:00Z"), "expires before"),
    "expires never said": (payload_of(expires=0), "expires"),
    "no files": (payload_of(files=[]), "no files"),
    "files as a mapping": (payload_of(files={"lockgate.yaml": ""}), "no files"),
    "a file that is none": (payload_of(files=["lockgate.yaml"]), "exactly"),
    "a path that climbs": (payload_of(files=[{**FILE, "name": "../lockgate.yaml"}]), "no policy has"),
    "an absolute path": (payload_of(files=[{**FILE, "name": "/etc/lockgate/lockgate.yaml"}]), "no policy has"),
    "a path below": (payload_of(files=[{**FILE, "name": "x/lockgate.yaml"}]), "no policy has"),
    "a name with a zero byte": (payload_of(files=[{**FILE, "name": "lockgate.yaml\0"}]), "no policy has"),
    "a name that is no text": (payload_of(files=[{**FILE, "name": 7}]), "no policy has"),
    "another hash": (payload_of(files=[FILE]), "SHA-256"),
    "a hash that is no text": (payload_of(files=[{**FILE, "sha256": 7}]), "SHA-256"),
    "content that is no text": (payload_of(files=[{**FILE, "content": 7}]), "no text"),
    "more of a file": (payload_of(files=[{**FILE, "link": "/etc/passwd"}]), "exactly"),
    "a file twice": (payload_of(files=[json.loads(payload_of())["files"][0]] * 2), "twice"),
    "a key twice": (payload_of().replace(b'"serial": 1', b'"serial": 9, "serial": 1'), "twice"),
}


@pytest.mark.parametrize(("payload", "problem"), PAYLOADS.values(), ids=PAYLOADS)
def test_what_is_no_manifest_is_refused_though_it_is_signed(payload: bytes, problem: str) -> None:
    with pytest.raises(BundleError, match=problem):
        verify_signed(signed(payload, "ann"), [public("ann")])


def test_files_cannot_be_swapped() -> None:
    files = {"lockgate.yaml": b"profile: cascade\n", "patterns.yaml": b"patterns: {}\n"}
    value = json.loads(manifest.encode(bundle(files=files)))
    first, second = value["files"]
    first["content"], second["content"] = second["content"], first["content"]
    with pytest.raises(BundleError, match="SHA-256"):
        manifest.decode(json.dumps(value).encode())


def test_a_signature_of_other_bytes_or_another_type_is_none() -> None:
    payload = manifest.encode(bundle())
    with pytest.raises(BundleError, match="no pinned key"):
        verify_signed(signed(payload, "ann", payload_type="application/vnd.in-toto+json"), [public("ann")])
    bare = Envelope(payload, (Signature("", bytes(64)),))
    with pytest.raises(BundleError, match="no pinned key"):
        verify_signed(envelope.encode(bare), [public("ann")])


def test_a_changed_byte_anywhere_changes_no_policy() -> None:
    """Each byte of a bundle changed: it is refused, or says exactly the same (a space, or the name of a key)."""
    data = packed()
    same = 0
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1
        try:
            found = verify_signed(bytes(changed), [public("ann")])
        except BundleError:
            continue
        assert found.bundle == bundle()
        same += 1
    assert same < 100


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = ("format", "fleet", "serial", "created", "expires", "files")


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_and_nothing_breaks(data: bytes) -> None:
    with pytest.raises(BundleError):
        verify_signed(data, [public("ann")])


@given(st.sampled_from(_FIELDS), _JSON)
def test_a_manifest_with_any_value_in_a_field_is_read_or_refused(field: str, value: Any) -> None:
    payload = json.dumps({**json.loads(payload_of()), field: value}).encode()
    try:
        found = manifest.decode(payload)
    except BundleError:
        return
    assert found.fleet == FLEET or field == "fleet"
    assert manifest.decode(manifest.encode(found)) == found


@given(st.dictionaries(st.sampled_from(["payload", "payloadType", "signatures", "x"]), _JSON, max_size=4))
def test_an_envelope_of_any_values_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(BundleError):
        verify_signed(json.dumps(value).encode(), [public("ann")])


# ---------------------------------------------------------------- keys


def test_a_public_key_is_read_as_it_is_written() -> None:
    key = public("ann")
    assert parse(key.line) == key
    assert parse(f"  {key.line}\n") == key
    assert parse(key.line.rpartition(" ")[0]) == PublicKey(key.raw)


KEYS = {
    "nothing": "",
    "a word": "ssh-ed25519",
    "another kind": "ssh-rsa " + base64.b64encode(b"\0\0\0\7ssh-rsa").decode(),
    "no base64": "ssh-ed25519 ????",
    "short": public("ann").line[:40],
    "of another kind inside": "ssh-ed25519 " + base64.b64encode(b"\0\0\0\13ssh-ed2551X\0\0\0\40" + bytes(32)).decode(),
    "longer": "ssh-ed25519 " + base64.b64encode(b"\0\0\0\13ssh-ed25519\0\0\0\40" + bytes(33)).decode(),
}


@pytest.mark.parametrize("line", KEYS.values(), ids=KEYS)
def test_what_is_no_key_is_refused(line: str) -> None:
    with pytest.raises(BundleError, match="not a public key"):
        parse(line)
