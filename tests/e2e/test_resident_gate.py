"""The real client's hooks ask a resident gate, which the first of them has started; without it nothing is different."""

from __future__ import annotations

import json
import os
import signal

from e2e.conftest import Serve
from e2e.harness.script import Script, bash, fetch_issue
from e2e.harness.world import PUSH, World
from support.gates import gates_below

STORY = (fetch_issue(), bash("ls"), bash("git status --short"), bash("ls"), bash(PUSH))


def test_the_gate_answers_the_client(world: World, serve: Serve) -> None:
    world.run(serve(Script.of(*STORY)))
    told = json.loads(world.lockgate("gate", "status", "--json"))
    assert told["answered"] > len(STORY), "most events of a session are answered by it"
    assert told["failed"] == 0
    assert gates_below(world.root) == [told["pid"]]
    assert world.pushes == []
    while gates_below(world.root):  # a hook of the client's end may come late, and start another one
        world.lockgate("gate", "stop")
    assert "the audit chain holds" in world.lockgate("audit", "verify")


def test_a_gate_that_is_killed_between_two_runs(world: World, serve: Serve) -> None:
    """The label is in the store: the next gate, and hooks without one, know it."""
    read = (fetch_issue(), bash("ls"))
    final = world.run(serve(Script.of(*read)))
    (pid,) = gates_below(world.root)
    os.kill(pid, signal.SIGKILL)
    model = serve(Script.of(*read, bash("true"), bash(PUSH)))  # a resumed conversation goes on where it was
    world.run(model, "go on", "--resume", str(final["session_id"]))
    assert world.pushes == []
    assert model.result(3).is_error
