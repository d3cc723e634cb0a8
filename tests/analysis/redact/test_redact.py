"""What the records may show."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.patterns.redaction.credentials import redact, redact_input
from lockgate.resources.data import build
from support import tables

ROWS = tables.read(build.HERE / "redaction.yaml")
EXAMPLES = [
    pytest.param(row["name"], pieces, id=f"{row['name']}-{n}")
    for row in ROWS
    for n, pieces in enumerate(row["examples"])
]
HARMLESS = [pytest.param(text, id=f"{row['name']}-{n}") for row in ROWS for n, text in enumerate(row["harmless"])]


def test_there_are_many_kinds():
    assert len({row["name"] for row in ROWS}) == len(ROWS) >= 40


@pytest.mark.parametrize(("name", "pieces"), EXAMPLES)
def test_example_is_taken_out(name, pieces):
    text = f"echo before; {''.join(pieces)}\nafter"
    shown = redact(text)
    assert f"[redacted:{name}]" in shown
    assert pieces[-1].strip("'\"") not in shown
    assert shown.startswith("echo before; ")


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays(text):
    assert redact(text) == text


EVERYDAY = [
    "git push origin main",
    "curl -sS https://api.example.com/v1/items?page=2 | jq '.items[].name'",
    "git commit -m 'Explain how tokens are kept'",
    "pytest tests/test_passwords.py -k token",
    "kubectl get secret my-secret -o name",
    "ssh -i ~/.ssh/id_ed25519 deploy@example.com uptime",
    "export PATH=/usr/bin:$PATH",
    "sha256sum dist/*.whl",
    "0123456789abcdef0123456789abcdef01234567",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
    "docker run -p 8080:80 nginx:1.25",
]


@pytest.mark.parametrize("text", EVERYDAY)
def test_everyday_command_stays(text):
    assert redact(text) == text


def test_what_is_around_a_secret_stays():
    shown = redact("curl -H 'Authorization: Bearer abcdefghijklmnop' https://u:pw123@h.example/x?a=1 --data q")
    assert shown == (
        "curl -H 'Authorization: Bearer [redacted:authorization]' "
        "https://[redacted:url-password]@h.example/x?a=1 --data q"
    )


@given(st.text(st.sampled_from("abAB01=:-_ '\"/@.\n$KEYtoken"), max_size=200))
def test_redacting_twice_changes_nothing(text):
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "a" * 300_000,
        "-----BEGIN PRIVATE KEY-----" * 4000,
        "eyJ" * 60_000,
        "://a" * 50_000,
        "token" * 40_000,
        "token=" * 30_000,
        "--token " * 20_000,
        "-" * 200_000,
        "_" * 200_000,
        "password" + " " * 190_000,
        "Authorization:" * 14_000,
        "a.-" * 60_000,
        "sk-" * 60_000,
        '"' * 200_000,
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_is_answered(text):
    """Each of these is quadratic for a careless pattern: minutes, where a linear one takes milliseconds."""
    assert len(redact(text)) <= 2_000_000


def test_contents_of_files_become_size_and_hash():
    shown = redact_input("Write", {"file_path": "/a", "content": "top secret"})
    assert shown == {"file_path": "/a", "content": {"characters": 10, "sha256": sha256(b"top secret").hexdigest()}}
    edits = redact_input("MultiEdit", {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}]})
    assert edits["edits"][0]["old_string"] == {"characters": 1, "sha256": sha256(b"x").hexdigest()}


def test_what_is_named_as_a_secret_is_taken_out_whatever_it_looks_like():
    given = {"password": "blue horse", "n": {"apiKey": ["a", "b"], "max_tokens": 5, "text": "x"}, "token": ""}
    shown = redact_input("mcp__a__b", given)
    mark = "[redacted:assignment]"
    assert shown == {"password": mark, "n": {"apiKey": [mark, mark], "max_tokens": 5, "text": "x"}, "token": ""}
    assert redact_input("", {"token": "of the desk"}) == {"token": "of the desk"}


def test_commands_are_redacted_and_cut():
    shown = redact_input("Bash", {"command": "DB_PASSWORD=hunter22 x " + "y" * 9000, "timeout": 5})
    assert shown["command"].startswith("DB_PASSWORD=[redacted:assignment] x yyy")
    assert 4000 < len(shown["command"]) < 4100
    assert shown["timeout"] == 5


def test_a_secret_behind_the_cut_does_not_survive_in_part():
    token = "ghp_" + "a" * 36
    shown = redact_input("Bash", {"command": "x" * 3980 + " " + token})
    assert "aaaa" not in json.dumps(shown)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(
    st.sampled_from(["Bash", "Write", "mcp__a__b"]),
    st.dictionaries(st.text(max_size=8) | st.just("content"), json_values),
)
def test_every_input_can_be_recorded(tool, tool_input):
    json.dumps(redact_input(tool, tool_input))


def test_deep_and_wide_inputs_are_cut():
    deep: object = "x"
    for _ in range(2000):
        deep = [deep]
    assert len(json.dumps(redact_input("mcp__a__b", {"deep": deep, "wide": ["x" * 2000] * 500}))) < 200_000
