"""What a change of a client's settings does to the gate, and what a project's settings run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lockgate.clients.claude import events as claude_changes
from lockgate.clients.claude.events import EVENTS
from lockgate.clients.common import transcripts as claude_files
from lockgate.clients.common.hook_command import HookLaunch, either_client, hook_entry, valid_entries
from lockgate.system.folders import Folders

LAUNCH = HookLaunch("/opt/py", "/opt/lockgate/hook.py", Folders("/h", "/s", "/c"), "settings")
ENTRIES = {event: hook_entry(LAUNCH, event) for event in EVENTS}
VALID = valid_entries(LAUNCH, EVENTS)
NATIVE = either_client(LAUNCH)[1]


def settings(**changes: Any) -> dict[str, Any]:
    hooks = {event: [{"hooks": [entry]}] for event, entry in ENTRIES.items()}
    return {"hooks": {**hooks, **changes}}


def _without(event: str) -> dict[str, Any]:
    whole = settings()
    del whole["hooks"][event]
    return whole


_GONE = "the gate's hooks are gone or changed for "
HARM = [
    pytest.param(settings(), "", id="as installed"),
    pytest.param({**settings(), "model": "opus"}, "", id="with other settings"),
    pytest.param(settings(PreToolUse=[{"matcher": "*", "hooks": [ENTRIES["PreToolUse"]]}]), "", id="matches all"),
    pytest.param({**settings(), "disableAllHooks": True}, "disableAllHooks switches the gate off", id="switched off"),
    pytest.param({**settings(), "disableAllHooks": False}, "", id="not switched off"),
    pytest.param({}, _GONE + ", ".join(EVENTS), id="emptied"),
    pytest.param({"hooks": []}, _GONE + ", ".join(EVENTS), id="hooks no object"),
    pytest.param(_without("PostToolUse"), _GONE + "PostToolUse", id="one event gone"),
    pytest.param(
        settings(PreToolUse=[{"hooks": [hook_entry(NATIVE, "PreToolUse")]}]), "", id="another client in one event"
    ),
    pytest.param(
        settings(PreToolUse=[{"hooks": [hook_entry(NATIVE._replace(native="/tmp/lockgate-hook"), "PreToolUse")]}]),
        _GONE + "PreToolUse",
        id="a native client of elsewhere",
    ),
    pytest.param(
        settings(PreToolUse=[{"hooks": [hook_entry(NATIVE._replace(python="/bin/true"), "PreToolUse")]}]),
        _GONE + "PreToolUse",
        id="a native client that falls back on something else",
    ),
    pytest.param(
        settings(PreToolUse=[{"matcher": "Read", "hooks": [ENTRIES["PreToolUse"]]}]),
        _GONE + "PreToolUse",
        id="narrowed",
    ),
    pytest.param(
        settings(PreToolUse=[{"hooks": [{**ENTRIES["PreToolUse"], "async": True}]}]), _GONE + "PreToolUse", id="async"
    ),
    pytest.param(
        settings(PreToolUse=[{"hooks": [{**ENTRIES["PreToolUse"], "if": "Bash(x)"}]}]), _GONE + "PreToolUse", id="if"
    ),
    pytest.param(
        settings(PreToolUse=[{"hooks": [{**ENTRIES["PreToolUse"], "timeout": 0.001}]}]),
        _GONE + "PreToolUse",
        id="hasty",
    ),
    pytest.param(
        settings(PreToolUse=[{"hooks": [{"type": "command", "command": "true # lockgate/hook.py' claude-code "}]}]),
        _GONE + "PreToolUse",
        id="a command that only looks like it",
    ),
    pytest.param(
        {**settings(), "enabledPlugins": {"lockgate@market": False}},
        "the plugin lockgate@market is switched off",
        id="plugin off",
    ),
    pytest.param({**settings(), "enabledPlugins": {"lockgate@market": True, "x@y": False}}, "", id="plugin on"),
]


@pytest.mark.parametrize(("content", "harm"), HARM)
def test_what_a_change_does(tmp_path: Path, content: dict[str, Any], harm: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(content))
    assert claude_files.harm_of_change(str(file), str(file), VALID) == harm


def test_another_file_need_not_hold_the_hooks(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text("{}")
    assert claude_files.harm_of_change(str(file), str(tmp_path / "settings.json"), VALID) == ""
    assert claude_files.harm_of_change("", str(tmp_path / "settings.json"), VALID) == ""
    assert claude_files.harm_of_change(str(tmp_path / "gone.json"), "", VALID) == ""


@pytest.mark.parametrize(
    ("content", "harm"), [(b"{", "not a JSON object"), (b"[]", "not a JSON object"), (None, "gone")]
)
def test_a_file_that_no_longer_holds_anything(tmp_path: Path, content: bytes | None, harm: str) -> None:
    file = tmp_path / "settings.json"
    if content is not None:
        file.write_bytes(content)
    assert harm in claude_files.harm_of_change(str(file), str(file), VALID)


def plugin_machine(tmp_path: Path, **switches: bool) -> tuple[Path, Path, Path]:
    """The user's settings, the project, and the plugin's data folder; each scope switches the plugin on or off."""
    user, project = tmp_path / "me" / "settings.json", tmp_path / "project"
    data = tmp_path / "me" / "plugins" / "data" / "lockgate-market"
    for scope, file in {"user": user, "project": project / ".claude" / "settings.json"}.items():
        file.parent.mkdir(parents=True)
        given = {"enabledPlugins": {"lockgate@market": switches[scope]}} if scope in switches else {}
        file.write_text(json.dumps(given))
    return user, project, data


@pytest.mark.parametrize(
    ("switches", "harm"),
    [
        ({"user": True}, ""),
        ({"project": True}, ""),
        ({"user": False, "project": True}, ""),
        ({"user": False}, "no settings switch the plugin on any more"),
        ({}, "no settings switch the plugin on any more"),
    ],
)
def test_the_last_switch_of_the_plugin(tmp_path: Path, switches: dict[str, bool], harm: str) -> None:
    user, project, data = plugin_machine(tmp_path, **switches)
    assert claude_files.harm_to_plugin(str(user), str(data), str(project)) == harm


def test_other_files_and_a_plugin_in_development_have_no_switch(tmp_path: Path) -> None:
    user, project, data = plugin_machine(tmp_path)
    assert claude_files.harm_to_plugin(str(tmp_path / "other.json"), str(data), str(project)) == ""
    assert claude_files.harm_to_plugin(str(user), f"{data.parent}/lockgate-inline", str(project)) == ""
    assert claude_files.harm_to_plugin(str(user), "", str(project)) == ""


@pytest.mark.parametrize(
    ("content", "acting"),
    [
        pytest.param({"permissions": {"allow": ["Bash(ls)"]}, "model": "x"}, "", id="permissions"),
        pytest.param({"hooks": {}}, "", id="no hooks"),
        pytest.param(settings(), "", id="our own hooks"),
        pytest.param({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}, "hooks", id="a hook"),
        pytest.param({"hooks": {"Stop": [{"hooks": [{"type": "http", "url": "x"}]}]}}, "hooks", id="no command"),
        pytest.param({"hooks": ["x"]}, "hooks", id="hooks of another shape"),
        pytest.param(
            {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x # lockgate/hook.py' claude-code"}]}]}},
            "hooks",
            id="a command that only looks like it",
        ),
        pytest.param({"env": {"A": "b"}, "apiKeyHelper": "x"}, "env, apiKeyHelper", id="variables and a helper"),
        pytest.param(["x"], "", id="no object"),
    ],
)
def test_what_a_projects_settings_run(tmp_path: Path, content: Any, acting: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(content))
    assert claude_changes.find_acting_settings("project_settings", str(file), VALID) == acting
    assert claude_changes.find_acting_settings("local_settings", str(file), VALID) == acting
    assert claude_changes.find_acting_settings("user_settings", str(file), VALID) == ""
    assert claude_changes.find_acting_settings("project_settings", str(tmp_path / "gone.json"), VALID) == ""
