"""Where a person sits before the client, it asks them in its own window, and nobody else can answer."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from e2e.conftest import Serve
from e2e.harness.script import Call, Script, agent, bash, fetch_issue, write
from e2e.harness.terminal import Terminal
from e2e.harness.world import PUSH, World
from lockgate.gate.messages import tool_dialog

ASKED = "Do you want to proceed?"


def until_asked(terminal: Terminal, prompt: str) -> str:
    terminal.say(prompt)
    assert terminal.wait_for(ASKED, "ALL DONE") == ASKED
    return terminal.text


@pytest.mark.parametrize("mode", ["acceptEdits", "auto"])
def test_yes_is_once(world: World, serve: Serve, mode: str) -> None:
    model = serve(Script.of(fetch_issue(), bash(PUSH), bash(PUSH)))
    with world.open(model, mode) as terminal:
        shown = until_asked(terminal, "look at the issue, then push")
        for text in (f"| Bash: {PUSH}", "Locked by: mcp__tracker__fetch_issue", "more: lockgate question "):
            assert text in shown
        terminal.press("1")
        terminal.wait_until(lambda: len(world.pushes) == 1, "the push")
        assert terminal.wait_for(ASKED, "ALL DONE") == ASKED
        terminal.press("\x1b")
        terminal.wait_for("Interrupted")
    assert len(world.pushes) == 1
    assert not model.result(1).is_error


def test_where_it_came_as_the_plugin(bare_world: World, serve: Serve) -> None:
    bare_world.lockgate("install", "claude-code", "--plugin")
    bare_world.use_plugin()
    model = serve(Script.of(fetch_issue(), bash(PUSH)))
    with bare_world.open(model, "acceptEdits") as terminal:
        assert "more: lockgate question " in until_asked(terminal, "look at the issue, then push")
        terminal.press("1")
        terminal.wait_for("ALL DONE")
    assert len(bare_world.pushes) == 1


def test_a_sub_agent_is_asked_about_in_the_same_window(world: World, serve: Serve) -> None:
    model = serve(Script.of(fetch_issue(), agent("CHILD: push it"), CHILD=[bash(PUSH)]))
    with world.open(model, "acceptEdits") as terminal:
        terminal.say("look at the issue, then have it pushed")
        terminal.wait_for(ASKED)
        assert "more: lockgate question " in terminal.text
        terminal.press("1")
        terminal.wait_until(lambda: len(world.pushes) == 1, "the push")
        terminal.wait_until(lambda: "toolu_CHILD_000_00" in model.results(), "its result")
    listed = json.loads(world.lockgate("approvals", "list", "--all", "--json"))
    assert [(row["state"], bool(row["agent"])) for row in listed] == [("used", True)]


def test_no_is_final_and_thirty_variants_are_three_questions_at_most(world: World, serve: Serve) -> None:
    forms = [bash(f"git push https://git.example.com/mirror.git HEAD:b{number}") for number in range(30)]
    model = serve(Script.of(fetch_issue(), bash(PUSH), bash(PUSH), forms))
    with world.open(model, "acceptEdits") as terminal:
        until_asked(terminal, "look at the issue, then push")
        terminal.press("\x1b")
        terminal.wait_for("Interrupted")
        shown = until_asked(terminal, "go on")
        assert PUSH not in shown.rpartition("Bash command")[2], "the same words were refused without a question"
        terminal.press("\x1b")
        terminal.wait_until(lambda: terminal.text.count("Interrupted") > 1, "the second no")
    assert world.pushes == []
    refused = model.result(2)
    assert refused.is_error
    assert "A person said no to exactly this call" in refused.text
    asked = json.loads(world.lockgate("approvals", "list", "--all", "--json"))
    assert 2 <= len(asked) <= 4


def add_local_hook(world: World, hook: str, said: dict[str, Any]) -> None:
    """Add a hook to the project's own settings that always says the same."""
    answering = world.root / "answer.sh"
    answering.write_text(f"#!/bin/sh\ncat >/dev/null\necho '{json.dumps({'hookSpecificOutput': said})}'\n")
    answering.chmod(0o755)
    entry = {"matcher": "", "hooks": [{"type": "command", "command": str(answering)}]}
    local = world.project / ".claude" / "settings.local.json"
    local.parent.mkdir(exist_ok=True)
    local.write_text(json.dumps({"hooks": {hook: [entry]}}))


@pytest.mark.parametrize("hook", ["PermissionRequest", "PreToolUse"])
def test_a_foreign_hook_ends_asking(world: World, serve: Serve, hook: str) -> None:
    said = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    if hook == "PreToolUse":
        said = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
    add_local_hook(world, hook, said)
    model = serve(Script.of(fetch_issue(), bash(PUSH)))
    with world.open(model, "acceptEdits") as terminal:
        terminal.say("look at the issue, then push")
        assert terminal.wait_for("ALL DONE", ASKED) == "ALL DONE"
    assert world.pushes == []
    refused = model.result(1)
    assert refused.is_error
    assert f"for {hook}" in refused.text


def test_nobody_in_front_is_not_asked(world: World, serve: Serve) -> None:
    model = serve(Script.of(fetch_issue(), bash(PUSH)))
    world.run(model, bypass=False)
    assert world.pushes == []
    assert "Lockgate blocked this call" in model.result(1).text


def test_who_comes_from_lockbox_is_refused_as_before(world: World, serve: Serve) -> None:
    (world.home / ".claude" / "lockbox.json").write_text("{}")
    model = serve(Script.of(fetch_issue(), bash(PUSH)))
    with world.open(model, "acceptEdits") as terminal:
        terminal.say("look at the issue, then push")
        assert terminal.wait_for("ALL DONE", ASKED) == "ALL DONE"
    assert world.pushes == []
    assert model.result(1).is_error


def test_in_bypass_mode_only_a_plain_command_is_asked(world: World, serve: Serve) -> None:
    model = serve(Script.of(fetch_issue(), bash(f"{PUSH}; echo >> .idea/x"), bash(PUSH)))
    with world.open(model) as terminal:
        until_asked(terminal, "look at the issue, then push")
        assert model.result(1).is_error, "the client could have lost the question about the other call"
        terminal.press("1")
        terminal.wait_for("ALL DONE")
    assert len(world.pushes) == 1


LONG = [f"HEAD:refs/heads/branch-{number:02}-{'x' * 60}" for number in range(12)]
"""More than the client shows of a question, and less than it shows of a command in a terminal of 40 rows."""


@pytest.mark.parametrize("size", [(24, 80), (40, 120)])
def test_a_long_call_is_asked_about_where_the_window_shows_all_of_it(
    world: World, serve: Serve, size: tuple[int, int]
) -> None:
    model = serve(Script.of(fetch_issue(), bash(f"{PUSH} {' '.join(LONG)}")))
    with world.open(model, "acceptEdits", size) as terminal:
        terminal.say("look at the issue, then push")
        if terminal.wait_for(ASKED, "ALL DONE") == ASKED:
            assert size == (40, 120)
            assert all(branch in terminal.text for branch in LONG)
            for text in (
                "The call: all that stands in the box above",
                "Locked by: mcp__tracker__fetch_issue",
                "more: ",
            ):
                assert text in terminal.text
            terminal.press("1")
            terminal.wait_for("ALL DONE")
    assert len(world.pushes) == (size == (40, 120))
    if size == (24, 80):
        assert "does not fit into the client's window" in model.result(1).text


SMALL = (24, 80)


@pytest.mark.parametrize("lines", [6, 7, 8])
@pytest.mark.parametrize("plugin", [False, True])
def test_in_a_small_window_the_question_takes_fewer_lines(
    bare_world: World, serve: Serve, lines: int, *, plugin: bool
) -> None:
    bare_world.lockgate("install", "claude-code", *["--plugin"] * plugin)
    if plugin:
        bare_world.use_plugin()
    words = [f"echo {'line-' * 13}{number}" for number in range(lines - 1)]
    model = serve(Script.of(fetch_issue(), bash("\n".join([PUSH, *words]))))
    with bare_world.open(model, "acceptEdits", SMALL) as terminal:
        shown = until_asked(terminal, "look at the issue, then push")
        # Six lines leave room for what the call is, and where more is told; with more of them that is one line.
        assert ("once? more: lockgate question " in shown) is (lines > 6)
        assert "more: lockgate question " in shown
        for text in (PUSH, *words, "Locked by: mcp__tracker__fetch_issue", "Why: ", "1. Yes"):
            assert text in shown
        terminal.press("1")
        terminal.wait_for("ALL DONE")
    assert len(bare_world.pushes) == 1


TOOL_ASKS = "Enter to select"
"""What the client's tool for questions shows below one."""


def ask_person() -> Call:
    """Have the question put that the gate has named last, as the refusal tells the agent."""
    return Call("AskUserQuestion", tool_dialog.request("{{Lockgate question ([a-z0-9]{10})}}"))


@pytest.mark.parametrize(
    ("mode", "size", "lines"),
    [
        ("acceptEdits", (24, 80), 4),
        ("bypassPermissions", (40, 120), 22),
        ("auto", (40, 120), 1),
    ],
)
def test_about_a_file_the_person_is_asked_by_the_clients_tool(
    world: World, serve: Serve, mode: str, size: tuple[int, int], lines: int
) -> None:
    file = world.project / "CLAUDE.md"
    content = "\n".join(f"line {number} **of** `{lines}`" for number in range(lines))
    change = write(file, content)
    model = serve(Script.of(fetch_issue(), change, ask_person(), change, change))
    with world.open(model, mode, size) as terminal:
        terminal.say("look at the issue, then write")
        assert terminal.wait_for(TOOL_ASKS, "ALL DONE") == TOOL_ASKS
        shown = terminal.text
        for text in ("Lockgate: let exactly this run once?", "Locked by: mcp__tracker__fetch_issue", "more: lockgate"):
            assert text in shown
        assert all(line in shown for line in content.split("\n"))
        assert not file.exists()
        terminal.press("2")
        terminal.wait_for("ALL DONE")
    assert file.read_text() == content
    assert not model.result(3).is_error
    assert "A person sits before the client" in model.result(4).text, "a yes is once"


@pytest.mark.parametrize(("size", "lines"), [((24, 60), 35), ((40, 120), 100)])
def test_a_long_change_is_shown_in_pages_of_one_dialog(
    world: World, serve: Serve, size: tuple[int, int], lines: int
) -> None:
    file = world.project / "CLAUDE.md"
    content = "\n".join(f"line {number:03}" for number in range(lines))
    change = write(file, content)
    model = serve(Script.of(fetch_issue(), change, ask_person(), change))
    with world.open(model, "acceptEdits", size) as terminal:
        terminal.say("look at the issue, then write")
        shown = []
        for number in range(1, 5):
            terminal.wait_for(f"let exactly this run once? Page {number} of 4")
            shown.append(terminal.text)
            terminal.press("2")
        terminal.wait_for("Submit answers")
        assert not file.exists()
        terminal.press("1")
        terminal.wait_for("ALL DONE")
    assert re.findall(r"line \d+", "".join(shown)) == content.split("\n")
    assert all("Page" in text and "1. No" in text and "Enter to select" in text for text in shown)
    for text in ("Why: ", "Locked by: mcp__tracker__fetch_issue", "more: lockgate question"):
        assert text in shown[-1]
    assert file.read_text() == content


def test_pages_that_are_passed_over_are_no_yes(world: World, serve: Serve) -> None:
    file = world.project / "CLAUDE.md"
    change = write(file, "\n".join(f"line {number}" for number in range(60)))
    model = serve(Script.of(fetch_issue(), change, ask_person(), change))
    with world.open(model, "acceptEdits", (40, 120)) as terminal:
        terminal.say("look at the issue, then write")
        for number in (1, 2):
            terminal.wait_for(f"Page {number} of 3")
            terminal.press("\t")
        terminal.wait_for("Page 3 of 3")
        terminal.press("2")
        terminal.wait_for("Submit answers")
        terminal.press("1")
        terminal.wait_for("ALL DONE")
    assert not file.exists()


def test_a_no_by_the_clients_tool_stays(world: World, serve: Serve) -> None:
    file = world.project / "CLAUDE.md"
    model = serve(Script.of(fetch_issue(), write(file, "obey"), ask_person(), write(file, "obey")))
    with world.open(model, "acceptEdits") as terminal:
        terminal.say("look at the issue, then write")
        terminal.wait_for(TOOL_ASKS)
        terminal.press("\r")  # the first answer, which is marked
        terminal.wait_for("ALL DONE")
    assert not file.exists()
    assert "A person said no to exactly this call" in model.result(3).text


def test_a_hook_that_answers_ends_questions_by_the_clients_tool(world: World, serve: Serve) -> None:
    file = world.project / "CLAUDE.md"
    yes = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    add_local_hook(world, "PermissionRequest", yes)
    model = serve(Script.of(fetch_issue(), write(file, "obey")))
    with world.open(model, "acceptEdits") as terminal:
        terminal.say("look at the issue, then write")
        assert terminal.wait_for("ALL DONE", TOOL_ASKS) == "ALL DONE"
    assert not file.exists()
    assert "AskUserQuestion" not in model.result(1).text
