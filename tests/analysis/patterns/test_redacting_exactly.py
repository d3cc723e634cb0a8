"""Whatever a text holds, what is taken out of it lies within a value: the shipped library, over random texts."""

from __future__ import annotations

import base64
import quopri
import string
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lockgate.configuration.pattern_library.layers import read_shipped_layer
from lockgate.patterns.engine.request import CheckRequest
from lockgate.patterns.engine.scanner import Scanner
from lockgate.patterns.fields import Field
from lockgate.patterns.library.linking import link
from lockgate.patterns.library.merging import merge
from lockgate.patterns.model import GuardrailDecision, Side
from lockgate.patterns.redaction.spans import redact
from support.pattern_library import scanner

pytestmark = pytest.mark.slow

OUTPUT = CheckRequest(Side.OUTPUT, "Bash", timeout_ms=1e6)


@cache
def shipped() -> Scanner:
    return scanner(link(merge([read_shipped_layer()])).library)


VALUES = st.one_of(
    st.binary(min_size=16, max_size=60).map(lambda data: base64.b64encode(data).decode()),
    st.binary(min_size=16, max_size=60).map(lambda data: base64.urlsafe_b64encode(data).decode()),
    st.binary(min_size=16, max_size=32).map(bytes.hex),
    st.text(string.ascii_letters + string.digits, min_size=20, max_size=40),
)
NAMES = st.sampled_from(["API_KEY", "DB_PASSWORD", "client_secret", "PrivateKey", "authToken", "db.password"])
NOTATIONS = st.sampled_from(
    [
        "{n}={v}",
        "{n} = {v}",
        "{n}: {v}",
        '{n} = "{v}"',
        "  '{n}': '{v}',",
        "export {n}={v}",
        "<{n}>{v}</{n}>",
        "-{n}={v}",
        "src/a.py:12:{n} = '{v}'",
        "https://api.test/a?{n}={v}&page=2",
        '{{\\"{n}\\": \\"{v}\\"}}',
    ]
)
PLAIN = st.sampled_from(
    [
        *("", "DEBUG=1", "[section]", "host: db1", "Address = 10.0.0.2/32", "# a remark", "}", "next line of words"),
        *("-----", "===", "\tx += 1;", "Grüße"),
    ]
)
SECRET = st.tuples(NOTATIONS, NAMES, VALUES).map(lambda made: (made[0].format(n=made[1], v=made[2]), made[2]))
LINES = st.lists(st.one_of(PLAIN.map(lambda line: (line, "")), SECRET), max_size=8)


def outside(text: str, values: Sequence[str]) -> list[str]:
    """What was taken out of a text beside the values, which stand in it in their order."""
    free = [True] * len(text)
    at = 0
    for value in filter(None, values):
        at = text.index(value, at)
        free[at : at + len(value)] = [False] * len(value)
        at += len(value)
    matches = [match for match in shipped().check([Field("", "", text)], OUTPUT).pattern_matches if match.redact]
    gone = {at for match in matches for at in range(match.start, match.end)}
    unmarked = [match._replace(replacement="") for match in matches]
    assert redact(text, unmarked) == "".join(letter for at, letter in enumerate(text) if at not in gone)
    return [text[match.start : match.end] for match in matches if any(free[match.start : match.end])]


def two(first: str, second: str, between: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Two lines with a value each, and the lines between them."""
    values = base64.b64encode(bytes(10) + b"\x17\x00\x04\x40\x03").decode(), base64.b64encode(bytes(16)).decode()
    return [
        (first.format(v=values[0]), values[0]),
        *((line, "") for line in between),
        (second.format(v=values[1]), values[1]),
    ]


@given(LINES, st.sampled_from(["\n", "\r\n"]))
@example(two('API_KEY = "{v}"', "  'API_KEY': '{v}',", [""]), "\n")
@example(two('API_KEY = "{v}"', "  'API_KEY': '{v}',", ["", " ", ""]), "\r\n")
def test_no_redaction_goes_beyond_a_value(lines: list[tuple[str, str]], end: str) -> None:
    text = end.join(line for line, _ in lines) + end
    assert outside(text, [value for _, value in lines]) == []


@given(LINES)
def test_nor_does_one_in_text_that_an_encoder_broke(lines: list[tuple[str, str]]) -> None:
    """Here a value is what is left of it in the lines, with the breaks: all lines without a value stay."""
    text = quopri.encodestring("\n".join(line for line, _ in lines).encode()).decode()
    result = shipped().check([Field("", "", text)], OUTPUT)
    left = redact(text, result.pattern_matches)
    plain = [line for line, value in lines if not value and line.isascii() and "=" not in line]
    assert [line for line in plain if line not in left] == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("user=bob&password={v}&remember=1", ""),
        ("DATABASE_PASSWORD={v}&ssl=true\n", ""),
        ("https://api.test/?password={v}&amp;page=2", ""),
        ("oauth_token={v}&oauth_token_secret={v}&page=2", ""),
        ("Set-Cookie: sessionid={v}; Path=/", ""),
        ("The password is {v}.", ""),
        ("(the api key was {v})", ""),
        ("the password is \u201c{v}\u201d.", ""),
        ("password = '{v}'", "Kitty77&b=x9."),
        ("DB_PASSWORD={v}", "Kitty77&x9!"),
    ],
)
def test_what_stands_behind_a_value_stays(text: str, value: str) -> None:
    value = value or "q9Xk2LmVz8" + "RtYw4PbN7sD"
    whole = text.format(v=value)
    matches = shipped().check([Field("", "", whole)], OUTPUT).pattern_matches
    unmarked = [match._replace(replacement="") for match in matches]
    assert redact(whole, unmarked) == text.format(v="")


def _token(claims: str) -> str:
    parts = ('{"alg":"HS256","typ":"JWT"}', claims)
    coded = ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)
    return f"{coded}.kZ3vQ9sXw0bT6yLr2HcJ8mNfA1uEoPgD5iRtV4qWx7U"


GOOGLE = "AIza" + "X1Cam_WpLyyQx_q4ypJaKvLAXyBj4i3DYjH"
PUBLIC = {
    "Firebase": f'apiKey: "{GOOGLE}",\n  authDomain: "shop-1.firebaseapp.com",',
    "Firebase, variable": f"NEXT_PUBLIC_FIREBASE_API_KEY={GOOGLE}",
    "Supabase": _token('{"iss":"supabase","ref":"ab12","role":"anon","iat":1767225600}'),
    "Sentry": "https://74ea4f17670b8ec5" + "47c07325503ddc33@o447951.ingest.sentry.io/5429219",
    "Stripe": "pk_live_" + "5PLR1pMTBTgFxvkUQn3pfP5n",
    "Segment": "SEGMENT_WRITE_KEY=" + "qEmOtn388WYf11WkqClHA8GcNlWEDh8N",
    "Mapbox": "pk.eyJ1IjoiYWNtZSIsImEiOiI3MjYwbzlxMHZ0bGNoZzJoNHdyaHV5aGs4In0" + ".J5l_RpPmmF_F-Rfvhb2QNN",
}
SECRET_NEARBY = {
    "Google": f"maps = '{GOOGLE}'",
    "Firebase, server": f"FIREBASE_SERVER_KEY={GOOGLE}",
    "Supabase, service": _token('{"iss":"supabase","ref":"ab12","role":"service_role","iat":1767225600}'),
    "no Supabase": _token('{"iss":"acme","role":"anon","iat":1767225600}'),
    "Stripe": "sk_live_" + "5PLR1pMTBTgFxvkUQn3pfP5n",
}


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_by_design_is_a_remark(name: str) -> None:
    for side in (Side.INPUT, Side.OUTPUT):
        request = CheckRequest(side, "Bash", timeout_ms=1e6)
        result = shipped().check([Field("", "", PUBLIC[name])], request)
        assert result.decision in (GuardrailDecision.APPROVE, GuardrailDecision.WARN)
        assert not any(match.redact for match in result.pattern_matches)
        assert not result.found_secret


@pytest.mark.parametrize("name", SECRET_NEARBY)
def test_what_only_looks_public_is_taken_out(name: str) -> None:
    result = shipped().check([Field("", "", SECRET_NEARBY[name])], OUTPUT)
    assert any(match.redact for match in result.pattern_matches)


@pytest.mark.parametrize(
    "text",
    [
        "Ihr Token ist abgelaufen. Bitte melden Sie sich an.",
        "fehler:\n  token: abgelaufen\n  passwort: erforderlich\n",
        "Votre jeton: invalide",
        "El token ha caducado",
        "token: verlopen",
    ],
)
def test_prose_in_other_languages_stays(text: str) -> None:
    assert outside(text, []) == []
