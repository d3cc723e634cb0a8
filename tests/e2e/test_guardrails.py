"""What the pattern library promises, with the real client: a key goes into no tool, and out of no tool to the model."""

from __future__ import annotations

import json

import pytest

from e2e.conftest import Serve
from e2e.harness.script import Call, Script, bash, fetch_issue, read, write
from e2e.harness.scripted_model import ScriptedModel
from e2e.harness.world import PUSH, World

KEY = "ghp_" + "3UCuWfUloKquLhOsMR" + "6NQl7Dbeplvf43JWkR"
"""Made up, with a checksum that holds."""
RULE = "secrets_detection/github_pat"
MARK = "[REDACTED:github_pat"
PRINT = "cat settings.ini"
SETTINGS = f"[github]\nuser = someone\ntoken = {KEY}\nlast = line\n"


@pytest.fixture
def project(world: World) -> World:
    (world.project / "settings.ini").write_text(SETTINGS)
    (world.project / ".env").write_text(f"USER_NAME=someone\nGITHUB_TOKEN={KEY}\n")
    return world


def told(model: ScriptedModel) -> str:
    """All that the model was ever sent."""
    return json.dumps([request.get("messages") for request in model.requests], ensure_ascii=False)


def test_without_lockgate_a_key_reaches_the_model(bare_world: World, serve: Serve) -> None:
    """The control: what the other tests find taken out is taken out by Lockgate, and by nothing else."""
    (bare_world.project / "settings.ini").write_text(SETTINGS)
    model = serve(Script.of(bash(PRINT)))
    bare_world.run(model)
    assert KEY in told(model)


def test_a_key_is_not_written(project: World, serve: Serve) -> None:
    file = project.project / "new.py"
    model = serve(Script.of(write(file, f"TOKEN = '{KEY}'\n"), write(file, "TOKEN = os.environ['TOKEN']\n")))
    project.run(model)
    refusal = model.result(0)
    assert refusal.is_error
    assert RULE in refusal.text
    assert "content" in refusal.text
    assert KEY not in refusal.text
    assert file.read_text() == "TOKEN = os.environ['TOKEN']\n", "the honest way is open"


@pytest.mark.parametrize("way", ["command", "file", "dotenv", "background"])
def test_a_key_in_a_result_does_not_reach_the_model(project: World, serve: Serve, way: str) -> None:
    # It goes on until it was read: the client removes the file once it has told the model that the command has ended.
    until_read = f"{PRINT}; until test -e read; do sleep 0.2; done"
    background = {"command": until_read, "run_in_background": True, "description": "step"}
    calls: dict[str, list[Call]] = {
        "command": [bash(PRINT)],
        "file": [read(project.project / "settings.ini")],
        "dotenv": [read(project.project / ".env")],
        "background": [Call("Bash", background), bash("sleep 1"), read(r"{{written to: (\S+\.output)}}")],
    }
    model = serve(Script.of(*calls[way], bash("touch read")))
    project.run(model)
    assert KEY not in told(model)
    result = model.result(len(calls[way]) - 1).text
    assert MARK in result
    assert "someone" in result, "the rest of the result is there"
    assert "Lockgate took 1 value" in told(model)


def test_what_was_read_labels_the_session(project: World, serve: Serve) -> None:
    model = serve(Script.of(bash(PRINT), fetch_issue(), bash(PUSH)))
    project.run(model)
    assert project.pushes == []
    assert f"{RULE}" in model.result(2).text


def test_a_long_result_holds_it_neither_in_what_is_shown_nor_in_its_file(project: World, serve: Serve) -> None:
    (project.project / "long.txt").write_text("a line of text\n" * 5000 + SETTINGS)
    model = serve(Script.of(bash("cat long.txt"), read(r"{{saved to: (\S+\.txt)}}")))
    project.run(model)
    assert "Full output saved to" in model.result(0).text
    assert KEY not in told(model)
    kept = [file for file in (project.home / ".claude").rglob("tool-results/*") if file.is_file()]
    assert kept
    assert [file for file in kept if MARK in file.read_text()], [file.read_text()[-300:] for file in kept]
    assert not any(KEY in file.read_text() for file in kept)


def test_a_failed_call_gives_its_label_and_a_word_of_warning(project: World, serve: Serve) -> None:
    """The client has no way to change an error."""
    model = serve(Script.of(bash(f"{PRINT} >&2; exit 3"), fetch_issue(), bash(PUSH)))
    project.run(model)
    assert KEY in model.result(0).text
    assert "Do not repeat it" in told(model)
    assert project.pushes == []


def test_a_key_in_an_answer_of_a_server_does_not_reach_the_model(project: World, serve: Serve) -> None:
    (project.root / "issue").write_text(f"Crash on start with {KEY} in it\n")
    model = serve(Script.of(fetch_issue()))
    project.run(model)
    assert KEY not in told(model)
    assert "Crash on start with " + MARK in model.result(0).text


def test_a_mark_is_not_written_over_the_value(project: World, serve: Serve) -> None:
    file = project.project / "settings.ini"
    marked = r"token = {{(\[REDACTED:[^\]]+\])}}"
    model = serve(Script.of(read(file), write(file, marked)))
    project.run(model)
    assert "guardrail/redaction_mark" in model.result(1).text
    assert file.read_text() == SETTINGS
