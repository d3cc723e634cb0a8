"""Which calls leave nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lockgate.analysis import analyse
from lockgate.analysis.looking import looks_only
from lockgate.core.model import Analysis, Effect, EffectKind, Label, ToolCall
from lockgate.resources.data import build
from support.analysed import AROUND, PROJECT

ROWS: list[dict[str, Any]] = build.load(Path(build.__file__).with_name("looking.yaml"))


def _looks(kind: str, text: str) -> bool:
    call = ToolCall(text, {}, PROJECT) if kind == "tool" else ToolCall("Bash", {"command": text}, PROJECT)
    return looks_only(call, Analysis() if kind == "tool" else analyse(call, AROUND))


@pytest.mark.parametrize(
    ("kind", "text", "looks"),
    [
        pytest.param(row["kind"], text, looks, id=f"{text} {'looks' if looks else 'leaves something'}")
        for row in ROWS
        for looks, texts in ((True, row["yes"]), (False, row["no"]))
        for text in texts
    ],
)
def test_examples(kind: str, text: str, looks: bool) -> None:
    assert _looks(kind, text) is looks


@pytest.mark.parametrize("kind", list(EffectKind))
def test_a_tool_looks_only_where_it_does_nothing_else(kind: EffectKind) -> None:
    effects = (Effect(kind, "x", "test:rule", "a test"),)
    looking = kind in (EffectKind.INGEST, EffectKind.READ_SECRET, EffectKind.FETCH)
    assert looks_only(ToolCall("Read", {}), Analysis(effects)) is looking
    assert looks_only(ToolCall("mcp__tracker__get_issue", {}), Analysis(effects)) is looking


def test_a_tool_of_a_server_of_which_nothing_is_said_may_keep_anything() -> None:
    call = ToolCall("mcp__memory__note", {"text": "x"}, PROJECT)
    assert not looks_only(call, analyse(call, AROUND))
    assert not looks_only(call, Analysis())


def test_a_command_that_may_run_code_leaves_something() -> None:
    call = ToolCall("Bash", {"command": "git log"}, PROJECT)
    found = analyse(call, AROUND)
    assert looks_only(call, found)
    run = Effect(EffectKind.EXECUTE, "x", "test:rule", "a test", gives=Label.UNTRUSTED)
    assert not looks_only(call, found._replace(effects=(*found.effects, run)))
    assert not looks_only(call, found._replace(commands=()))
