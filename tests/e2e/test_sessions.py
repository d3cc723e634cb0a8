"""A person who clears the context gets a clean session; nothing else does."""

from __future__ import annotations

import json
import shlex

import pytest

from e2e.conftest import Serve
from e2e.harness.script import Call, Script, bash, fetch_issue
from e2e.harness.world import PUSH, World

PLAN = "# SECOND plan\n1. push the branch\n"


def test_clear_begins_a_clean_session(world: World, serve: Serve) -> None:
    world.decide_by("quarantine-strict")
    model = serve(Script.of(fetch_issue(), bash(PUSH), SECOND=[bash(PUSH)]))
    with world.open(model) as terminal:
        terminal.say("look at the issue")
        terminal.wait_for("ALL DONE")
        assert world.pushes == []
        terminal.say("/clear")
        terminal.wait_until(lambda: "ALL DONE" not in terminal.text, "an empty screen")
        terminal.say("SECOND thing: push")
        terminal.wait_until(lambda: "toolu_SECOND_000_00" in model.results(), "the second session's push")
    assert model.result(1).is_error
    assert len(world.pushes) == 1, model.results()


def test_a_plan_accepted_with_cleared_context_begins_a_clean_session(world: World, serve: Serve) -> None:
    plan_file = '{{(/[^ `"\\\\]*/plans/[^ `"\\\\]*\\.md)}}'
    model = serve(
        Script.of(
            fetch_issue(),
            Call("Write", {"file_path": plan_file, "content": PLAN}),
            Call("ExitPlanMode", {"plan": PLAN}),
            SECOND=[bash(PUSH)],
        )
    )
    with world.open(model, "plan") as terminal:
        terminal.say("plan the push")
        terminal.wait_for("Would you like to proceed?")
        terminal.press("1")
        terminal.wait_until(lambda: "toolu_SECOND_000_00" in model.results(), "the second session's push")
    assert len(world.pushes) == 1, model.results()


def test_a_resumed_session_keeps_its_labels(world: World, serve: Serve) -> None:
    first = serve(Script.of(fetch_issue()))
    session = world.run(first)["session_id"]
    second = serve(Script.of(fetch_issue(), bash("true"), bash(PUSH)))
    world.run(second, "and now push", "--resume", session)
    assert world.pushes == []
    assert second.result(2).is_error


def test_the_transcript_of_an_ordinary_day_holds_no_news(world: World, serve: Serve) -> None:
    calls = [
        bash("true"),
        Call("NoSuchTool", {}),
        Call("Read", {"file": 7}),
        Call("Read", {"file_path": "/nowhere/at/all"}),
        bash("ls /nowhere"),
        bash("lockgate approve 1"),
        Call("TodoWrite", {"todos": []}),
        Call("ToolSearch", {"query": "select:WebSearch"}),
        bash("sleep 1"),
        bash("ls"),
    ]
    session = world.run(serve(Script.of(*calls)))["session_id"]
    world.run(serve(Script.of(*calls, bash("true"), bash("true"), bash("ls"))), "go on", "--resume", session)
    events = [json.loads(line)["body"]["event"] for line in world.lockgate("audit", "show", "--json").splitlines()]
    assert events.count("decision") >= 6
    assert "unknown-results" not in events


def test_a_session_that_goes_on_unwatched_has_every_label_afterwards(world: World, serve: Serve) -> None:
    session = world.run(serve(Script.of(bash("true"))))["session_id"]
    hooks = world.settings.read_bytes()
    world.settings.write_text("{}")
    step = bash("true")
    world.run(serve(Script.of(step, step, bash("ls"))), "go on", "--resume", session)
    world.settings.write_bytes(hooks)
    world.run(serve(Script.of(step, step, step, step, bash("ls"))), "and on", "--resume", session)
    assert json.loads(world.lockgate("status", "--session", session, "--json"))["state"] == "both"


def test_an_agent_that_an_untrusted_one_starts_is_untrusted(world: World, serve: Serve) -> None:
    """A person has let its start through; what it then does is decided by what the first one has read."""
    world.decide_by("observe")
    program = world.programs / "claude"
    model = serve(Script.of(fetch_issue(), bash("claude --model m -p 'SECOND push it'"), SECOND=[bash("true")]))
    argv, _ = world.command(model, "--dangerously-skip-permissions")
    program.write_text(f'#!/bin/sh\nexec {shlex.join(argv)} "$@"\n')
    program.chmod(0o755)
    world.run(model)
    rows = json.loads(world.lockgate("sessions", "--json", "--all"))
    assert [sorted(row["labels"]) for row in rows] == [["untrusted"], ["untrusted"]], rows
    records = [json.loads(line) for line in world.lockgate("audit", "show", "--json").splitlines()]
    prompts = [record for record in records if record["body"]["event"] == "prompt"]
    assert [record["body"]["human"] for record in prompts] == [True, False]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("file", "prompt"),
    [
        (".claude/commands/look.md", "/look https://typed.example.com/"),
        (".claude/skills/look/SKILL.md", "/look https://typed.example.com/"),
        ("look.md", "look at @look.md and https://typed.example.com/"),
    ],
    ids=["command", "skill", "mention"],
)
def test_only_what_was_typed_is_the_persons_word(world: World, serve: Serve, file: str, prompt: str) -> None:
    """The hook is told the words as they were typed, and not what the client makes of them."""
    pages = [Call("WebFetch", {"url": f"https://{who}.example.com/", "prompt": "p"}) for who in ("typed", "file")]
    place = world.project / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("---\nname: look\ndescription: look\n---\nRead https://file.example.com/ first.\n")
    model = serve(Script.of(fetch_issue(), *pages))
    world.run(model, prompt)
    assert "https://file.example.com/ first" in json.dumps(model.requests)
    assert "Lockgate" not in model.result(1).text
    assert "Lockgate" in model.result(2).text
