"""What is put into a settings file comes out again, byte for byte, whatever the file looks like."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.clients.claude.events import EVENTS
from lockgate.clients.common.hook_command import (
    HookLaunch,
    find_missing_entries,
    hook_entry,
    statusline_entry,
    valid_entries,
)
from lockgate.clients.install import settings_text as claude_settings
from lockgate.core.errors import InstallError
from lockgate.system.documents import json_edit as json_text
from lockgate.system.folders import Folders

pytestmark = pytest.mark.slow

LAUNCH = HookLaunch(
    "/opt/my py/python", "/opt/it's/lockgate/hook.py", Folders("/h", "/s", "/c"), "/h/.claude/settings.json"
)
ENTRIES = {event: hook_entry(LAUNCH, event) for event in EVENTS}
STATUSLINE = statusline_entry(LAUNCH)
OLDER = {event: hook_entry(LAUNCH._replace(python="/usr/bin/python3.9"), event) for event in EVENTS[:6]}

_scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6)
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_their_hook = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.text(max_size=8)}, optional={"timeout": st.integers(1, 60)}
)
_their_group = st.fixed_dictionaries(
    {"hooks": st.lists(_their_hook, max_size=2)}, optional={"matcher": st.text(max_size=4)}
)
_their_hooks = st.dictionaries(
    st.sampled_from([*EVENTS, "Stop", "Notification"]), st.lists(_their_group, max_size=2), max_size=4
)
_settings = st.builds(
    lambda before, hooks, after: {**before, **hooks, **after},
    st.dictionaries(st.text(max_size=5), _values, max_size=3),
    st.just({}) | _their_hooks.map(lambda hooks: {"hooks": hooks}),
    st.dictionaries(st.sampled_from(["model", "permissions", "env", "statusLine"]), _values, max_size=2),
).filter(lambda settings: isinstance(settings.get("hooks", {}), dict))


_STRING_OR_EMPTY = r'"(?:[^"\\]|\\.)*"|\{\}|\[\]'
"""Strings are found so that brackets inside them are left as they are."""


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A settings file in some layout, empty brackets with anything between them."""
    value = draw(_settings)
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t", " \t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : ")]))
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = re.sub(_STRING_OR_EMPTY, lambda found: {"{}": "{\n  }", "[]": "[ ]"}.get(found[0], found[0]), text)
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    start, end = draw(st.sampled_from(["", "\n", "\ufeff", "  "])), draw(st.sampled_from(["", "\n", "\n\n ", "\r\n"]))
    return start + text + end


def loaded(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))


def _hooks_of(settings: dict[str, Any]) -> dict[str, list[Any]]:
    return {event: groups for event, groups in settings.get("hooks", {}).items() if groups}


@given(texts(), st.booleans())
def test_in_and_out_again_is_as_before(text: str, statusline: bool) -> None:
    inside, record = claude_settings.put_in(text, ENTRIES, STATUSLINE if statusline else None)
    assert claude_settings.take_out(inside, record) == text


@given(texts(), st.booleans())
def test_everything_is_in_force_and_nothing_is_lost(text: str, statusline: bool) -> None:
    inside, _ = claude_settings.put_in(text, ENTRIES, STATUSLINE if statusline else None)
    before, after = loaded(text), loaded(inside)
    assert find_missing_entries(after, valid_entries(LAUNCH, EVENTS)) == []
    assert list(after)[: len(before)] == list(before)
    for key in set(before) - {"hooks"}:
        assert after[key] == before[key]
    for event, groups in before.get("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups


@given(texts())
def test_the_second_time_changes_nothing(text: str) -> None:
    once, record = claude_settings.put_in(text, ENTRIES, STATUSLINE)
    twice, again = claude_settings.put_in(claude_settings.take_out(once, record), ENTRIES, STATUSLINE)
    assert (twice, again) == (once, record)


@given(texts())
def test_an_older_version_is_replaced(text: str) -> None:
    old, record = claude_settings.put_in(text, OLDER)
    new, _ = claude_settings.put_in(claude_settings.take_out(old, record), ENTRIES)
    assert new == claude_settings.put_in(text, ENTRIES)[0]


@given(texts())
def test_without_the_record_only_empty_brackets_may_differ(text: str) -> None:
    inside, _ = claude_settings.put_in(text, ENTRIES, STATUSLINE)
    after, before = loaded(claude_settings.take_out(inside, None)), loaded(text)
    assert _hooks_of(after) == _hooks_of(before)
    assert {key: value for key, value in after.items() if key != "hooks"} == {
        key: value for key, value in before.items() if key != "hooks"
    }


@given(texts(), _their_hook)
def test_a_hook_that_a_person_added_beside_ours_stays(text: str, theirs: dict[str, Any]) -> None:
    inside, record = claude_settings.put_in(text, ENTRIES)
    settings = loaded(inside)
    settings["hooks"]["PreToolUse"][-1]["hooks"].append(theirs)
    settings["hooks"]["SessionEnd"].append({"hooks": [theirs]})
    edited = json.dumps(settings, indent=3)
    after = loaded(claude_settings.take_out(edited, record))
    assert after["hooks"]["PreToolUse"][-1]["hooks"] == [theirs]
    assert after["hooks"]["SessionEnd"][-1]["hooks"] == [theirs]
    assert "lockgate" not in json.dumps(after["hooks"])


def test_a_status_line_of_their_own_stays() -> None:
    text = '{"statusLine": {"type": "command", "command": "date"}}'
    inside, record = claude_settings.put_in(text, ENTRIES, STATUSLINE)
    assert loaded(inside)["statusLine"]["command"] == "date"
    assert claude_settings.take_out(inside, record) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "line 1: not JSON", id="empty"),
        pytest.param("{", "line 1: a quoted key is expected", id="unfinished"),
        pytest.param('{"a": 1,}', "line 1: a quoted key is expected", id="trailing comma"),
        pytest.param('{\n// note\n"a": 1}', "line 2: a quoted key is expected", id="comment"),
        pytest.param('{"a" 1}', "line 1: a colon is expected", id="no colon"),
        pytest.param('{"a": [1 2]}', "line 1: a comma is expected", id="no comma"),
        pytest.param('{"a": NaN}', "line 1: not JSON", id="NaN"),
        pytest.param('{"a": 01}', "line 1: a comma is expected", id="octal"),
        pytest.param('{"a": "\n"}', "line 1: not a JSON string", id="raw newline"),
        pytest.param('{"a": 1} x', "line 1: text after the end", id="text behind"),
        pytest.param('{"hooks": {},\n "hooks": {}}', "line 2: the key 'hooks' stands there twice", id="twice"),
        pytest.param("[]", "line 1: the file must be an object", id="array"),
        pytest.param('{"hooks": []}', "line 1: hooks must be an object", id="hooks an array"),
        pytest.param(
            '{\n"hooks": {\n"PreToolUse": {}}}', "line 3: hooks.PreToolUse must be an array", id="event an object"
        ),
        pytest.param('{"a": ' + "[" * 10_000 + "]" * 10_000 + "}", "line 1: nested too deep", id="deep"),
    ],
)
def test_what_is_no_settings_file_is_not_touched(text: str, problem: str) -> None:
    with pytest.raises(InstallError) as caught:
        claude_settings.put_in(claude_settings.take_out(text, None), ENTRIES)
    assert problem in str(caught.value)


@given(_values)
def test_the_reader_agrees_with_the_standard_library(value: Any) -> None:
    for indent in (None, 2):
        text = json.dumps(value, indent=indent)
        node = json_text.parse(text)
        assert node.value == value
        assert text[node.start : node.end] == text


@given(st.text(alphabet='{}[]",: \n1aeE.+-\\tfn\ufeff', max_size=24))
def test_the_reader_takes_nothing_that_is_not_json(text: str) -> None:
    try:
        value = json_text.parse(text).value
    except InstallError:
        return
    assert json.loads(text.removeprefix("\ufeff")) == value
