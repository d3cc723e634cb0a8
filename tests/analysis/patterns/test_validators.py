"""The registry, and validators of keys: tokens are built here with the checksums that their issuers document."""

import base64
import hashlib
import itertools
import json
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lockgate.patterns.model import Candidate
from lockgate.patterns.validators import CHECKSUMS, VALIDATORS, keys

ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def ask(name, value, before="", after="", key="", parameter=None):
    return VALIDATORS[name](Candidate(value, value, key, before, after), parameter)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(header, payload, signature="c2lnbmF0dXJl"):
    return ".".join([base64url(json.dumps(header).encode()), base64url(json.dumps(payload).encode()), signature])


ANY_TEXT = st.text(st.characters(), max_size=20)
"""Also halves of surrogate pairs, which ``st.text`` alone leaves out."""


@given(st.sampled_from(sorted(VALIDATORS)), st.text(st.characters(), max_size=60), ANY_TEXT, ANY_TEXT)
@example("date_of_birth", "\u00b9", "", "")
def test_no_validator_fails_whatever_it_is_asked(name, value, before, after):
    assert ask(name, value, before, after) in (True, None, False)


NEARLY = (
    "123-45-6789",
    "912-70-1234",
    "AB123456C",
    "4012888888881881",
    "GB82WEST12345698765432",
    "255081416802538",
    "12345678Z",
    "X1234567L",
    "RSSMRA85T10A562S",
    "1985-05-12",
    "131052-308T",
    "11010519491231002X",
    "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
    "AKIAIOSFODNN7EXAMPLE",
    "8.8.4.4",
    "+491701234567",
    "2125550123",
    "a@b.de",
    "756.9217.0769.85",
    "ABCPE1234F",
    "111.444.777-35",
    "11222333000181",
    "npm_",
    "bc1q",
    "1",
    "12",
)
"""What most validators look at closely, before a digit in it is replaced."""
DIGITS = ("\u00b2", "\u0663", "\uff13", "\u0966", "\u2460", "\u2167", "\u00bd", "\ud800")
"""A superscript, digits of other scripts, numerals that are no digits, and half a character."""


@pytest.mark.parametrize("name", sorted(VALIDATORS))
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("", id="nothing"),
        pytest.param("9" * 5000, id="a number"),
        pytest.param("1-2-" + "9" * 5000, id="a year"),
        pytest.param("ghp_" + "\ud800" * 36, id="halves of characters"),
        pytest.param("npm_" + "\ud800" * 36, id="the same for npm"),
    ],
)
def test_long_and_broken_texts_fail_no_validator(name, value):
    assert ask(name, value, value, value, key="password", parameter=0.5) in (True, None, False)


@pytest.mark.parametrize("name", sorted(VALIDATORS))
def test_a_digit_that_is_none_fails_no_validator(name):
    for value in NEARLY:
        for at, odd in itertools.product(range(len(value)), DIGITS):
            changed = value[:at] + odd + value[at + 1 :]
            assert ask(name, changed, odd, odd, key="pin") in (True, None, False)


@given(st.sampled_from(sorted(VALIDATORS)), st.from_regex(r"[-A-Za-z0-9+/._: ]{0,40}", fullmatch=True))
def test_no_validator_fails_at_what_looks_like_a_key(name, value):
    assert ask(name, value) in (True, None, False)


def test_the_registry_imports_no_validator():
    code = (
        "import sys, lockgate.patterns.validators\n"
        "print([name for name in sys.modules if 'patterns.valid' in name or name.endswith('placeholders')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "['lockgate.patterns.validators']"


def checksum(secret):
    rest, text = zlib.crc32(secret.encode()), ""
    while rest:
        rest, digit = divmod(rest, 62)
        text = ALPHANUMERIC[digit] + text
    return text.rjust(6, "0")


@pytest.mark.parametrize(
    ("name", "prefix"),
    [*(("github_checksum", f"gh{kind}_") for kind in "pousr"), ("npm_checksum", "npm" + "_")],
)
@given(secret=st.text(ALPHANUMERIC, min_size=30, max_size=30), place=st.integers(0, 29))
def test_a_checksum_proves_a_token_and_a_wrong_one_rejects_none(name, prefix, secret, place):
    assert ask(name, prefix + secret + checksum(secret)) is True
    wrong = secret[:place] + ("A" if secret[place] != "A" else "B") + secret[place + 1 :]
    assert ask(name, prefix + wrong + checksum(secret)) is None


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (token({"alg": "HS256", "typ": "JWT"}, {"sub": "7"}), True),
        (token({"alg": "none"}, {"sub": "7"}, ""), True),
        (token({"alg": "HS256"}, {"sub": "7"}, ""), False),
        (token({"typ": "JWT"}, {"sub": "7"}), False),
        (token({"alg": "HS256"}, {"sub": "1234567890", "name": "John Doe"}), False),
        (token({"alg": "HS256"}, [7]), None),
        (token({"alg": "HS256"}, {"sub": "7"}, "no+base64url"), False),
        (token({"alg": "dir", "enc": "A256GCM"}, {}, "aXY.Y2lwaGVy.dGFn"), True),
        ("eyJhbGciOiJIUzI1NiJ9.eyJz", False),
        ("eyJhbGciOi.JIUzI1NiJ9.x", False),
        ("lockgate.patterns", False),
    ],
)
def test_a_json_web_token_has_a_header_a_payload_and_a_signature(value, answer):
    assert ask("jwt", value) is answer


def key_id(account, generation=1):
    number = generation << 79 | account << 39 | 0x2B5A6D1C7
    return "AK" + "IA" + base64.b32encode(number.to_bytes(10, "big")).decode()


@given(st.integers(1, 10**12 - 1))
def test_an_aws_key_id_holds_the_number_of_an_account(account):
    assert ask("aws_access_key_id", key_id(account)) is True


@pytest.mark.parametrize("value", [key_id(10**12), key_id(7, generation=0), "AK" + "IA0189018901890189", "AK" + "IA"])
def test_an_aws_key_id_that_tells_no_account_is_not_proven_and_not_rejected(value):
    assert ask("aws_access_key_id", value) is None


@pytest.mark.parametrize(
    ("name", "value", "answer"),
    [
        ("discord_token", base64url(b"1042938475610293847") + ".GhTyUi.x8Kd0Qm2Rv7Zs4Lp9Nb1Hc6Wf3Jg", True),
        ("discord_token", base64url(b"104293") + ".GhTyUi.x8Kd0Qm2Rv7Zs4Lp9Nb1Hc6Wf3Jg", False),
        ("discord_token", "MH7XAZOyvRi5MStrd7KTiksz" + ".ANeNPt.i7QnuOsRV1dTijRwpUibPSdSL-4", None),
        ("discord_token", "Some.dotted.name", False),
        ("discord_token", "mfa.x8Kd0Qm2Rv7Zs4Lp9Nb1Hc6Wf3Jg", None),
        ("telegram_token", "718293645:" + "AAx8Kd0Qm2Rv7Zs4Lp9Nb1Hc6Wf3JgYtEuB", None),
        ("telegram_token", "018293645:" + "AAx8Kd0Qm2Rv7Zs4Lp9Nb1Hc6Wf3JgYtEuB", False),
        ("telegram_token", "718293645:" + "A" * 35, False),
        ("telegram_token", "17182:" + "AAx8Kd0Qm2Rv7Zs4Lp9Nb1Hc6Wf3JgYtEuB", False),
    ],
)
def test_bots_have_tokens_with_their_number(name, value, answer):
    assert ask(name, value) is answer


BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def in_base58(payload):
    raw = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    number, text = int.from_bytes(raw, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + text


@given(st.binary(min_size=1, max_size=80), st.data())
def test_base58_with_a_wrong_character_is_rejected(payload, data):
    text = in_base58(payload)
    assert ask("base58check", text) is True
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from(BASE58.replace(text[place], "")))
    assert ask("base58check", text[:place] + other + text[place + 1 :]) is False


@pytest.mark.parametrize("text", ["A12UEL5L", "a12uel5l", "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"])
def test_the_examples_of_bip_173_are_bech32(text):
    assert ask("bech32", text) is True
    assert ask("bech32", text[:-1] + ("q" if text[-1].islower() else "Q")) is False
    assert ask("bech32", text[:-1] + text[-1].swapcase()) is False


def block(kind, raw, newline="\n"):
    text = base64.b64encode(raw).decode()
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    return newline.join([f"-----BEGIN {kind} KEY-----", *lines, f"-----END {kind} KEY-----"])


DER = b"\x30\x82\x01\x00" + bytes(range(256))


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (block("RSA PRIVATE", DER), True),
        (block("RSA PRIVATE", DER, "\\n"), True),
        (block("PRIVATE", b"\x30\x2e" + bytes(46)), True),
        (block("OPENSSH PRIVATE", b"openssh-key-v1\0" + bytes(90)), True),
        (block("RSA PRIVATE", DER[:-1]), None),
        (block("ENCRYPTED PRIVATE", b"\xaa" * 100), None),
        (block("RSA PRIVATE", DER).partition("-----END")[0], None),
        (block("RSA PRIVATE", b"secret"), False),
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQ...\n-----END PRIVATE KEY-----", False),
        ("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----", False),
    ],
)
def test_a_pem_block_holds_a_key(value, answer):
    assert ask("pem", value) is answer


def test_the_checksum_of_a_nats_seed_proves_it():
    seed = "SUAFFQRYAYZXRPOOC4BD" + "ZHVGIJNYE3FDY7NTD7LQ24ZKHHDDIJPTAGYFUU"
    assert ask("nats_seed", seed) is True
    assert not any(ask("nats_seed", seed[:at] + "Q" + seed[at + 1 :]) for at in range(2, 58) if seed[at] != "Q")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("JBSWY3DPEHPK3PXP" + "GEZDGNBVGY3TQOJQ", None),
        ("JDPSL6EUFQTIDUFI", None),
        ("AAAAAAAAAAAAAAAA", False),
        ("AUTHENTICATIONREQUIRED", False),
        ("JBSWY3DPEHPK3PX", False),
        ("JBSWY3DP", False),
    ],
)
def test_a_seed_of_one_time_passwords_has_bytes_enough(text, answer):
    assert ask("base32_seed", text) is answer


def test_each_key_that_a_crc32_proves_is_found_where_letters_touch_it():
    asks = {name for name in VALIDATORS if "crc32" in "".join(getattr(keys, name, ask).__code__.co_names)}
    assert asks
    assert asks == set(CHECKSUMS)


def test_the_page_has_all_validators():
    page = (Path(__file__).parents[3] / "docs" / "patterns-validators.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = [name.partition(":")[0] for cell in cells for name in re.findall("`([^`]+)`", cell)]
    assert sorted(named) == sorted(VALIDATORS)
