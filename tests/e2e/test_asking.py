"""Where the gate asks, a person decides, and nothing of the client's own can answer for them."""

from __future__ import annotations

import pytest

from e2e.conftest import Serve
from e2e.harness.script import Script, bash, fetch_issue
from e2e.harness.world import World

JOB = "python3 job.py"


@pytest.fixture
def busy(world: World) -> World:
    """A project with a program of which nobody knows what it does."""
    (world.project / "job.py").write_text("open('made', 'w').close()\n")
    # Where this machine can contain such a program, nobody would be asked.
    config = world.home / ".config" / "lockgate"
    config.mkdir(parents=True)
    (config / "lockgate.yaml").write_text("table: {execute: {untrusted: ask}}\n")
    return world


@pytest.mark.parametrize("answer", ["yes", "no"])
@pytest.mark.parametrize("mode", ["acceptEdits", "auto"])
def test_the_native_dialog_decides(busy: World, serve: Serve, mode: str, answer: str) -> None:
    """In ``auto`` too, where the client has a model answer its own questions."""
    model = serve(Script.of(fetch_issue(), bash(JOB)))
    with busy.open(model, mode) as terminal:
        terminal.say("look at the issue, then run the job")
        terminal.wait_for("Do you want to proceed?")
        assert "Lockgate" in terminal.text
        assert "fetch_issue" in terminal.text, "the person reads where the label came from"
        terminal.press("1" if answer == "yes" else "\x1b")
        terminal.wait_for("ALL DONE" if answer == "yes" else "Interrupted")
    assert (busy.project / "made").exists() == (answer == "yes")


# In the mode that asks nothing, the client drops a hook's question about a call that it would have asked about itself,
# and runs it: writing below one of these names is enough.
SHEDDING = (".idea/x", ".vscode/x", ".npmrc", ".husky/x", ".git/x", ".claude/x", ".gitmodules", ".zshrc")


def test_a_question_cannot_be_shed(busy: World, serve: Serve) -> None:
    for name in SHEDDING:
        (busy.project / name).parent.mkdir(exist_ok=True)
    jobs = [bash(f"{JOB}; echo >> {name}") for name in SHEDDING]

    model = serve(Script.of(fetch_issue(), jobs))
    busy.run(model)
    assert not (busy.project / "made").exists()
    assert [job.input for place, job in enumerate(jobs) if not model.result(1, place).is_error] == []
