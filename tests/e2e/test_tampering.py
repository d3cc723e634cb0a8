"""An agent cannot take the gate away, in a clean session either."""

from __future__ import annotations

import json
import time

import pytest

from e2e.conftest import Serve
from e2e.harness.script import Script, Turn, bash, fetch_issue, read, write
from e2e.harness.world import PUSH, World

SETTINGS_WATCHED = 2.5
"""Seconds after which the client has certainly seen that its settings changed."""


def _snapshot(world: World) -> dict[str, bytes]:
    """The gate's own files and the client's settings; the state changes with every call, so only its names count."""
    config = [path for path in (world.home / ".config").rglob("*") if path.is_file()]
    state = {str(path): b"" for path in (world.home / ".local" / "state" / "lockgate").glob("*.db")}
    return {str(path): path.read_bytes() for path in [world.settings, *config]} | state


def test_an_agent_cannot_switch_the_gate_off(world: World, serve: Serve) -> None:
    local = world.project / ".claude" / "settings.local.json"
    attempts = [
        write(world.settings, "{}"),
        bash("echo '{}' > ~/.claude/settings.json"),
        bash("cp notes.txt ~/.claude/settings.json"),
        write(local, '{"disableAllHooks": true}'),
        bash("rm -rf ~/.local/state/lockgate"),
        bash("lockgate uninstall claude-code"),
        bash("python3 -m lockgate uninstall claude-code"),
        write(world.home / ".config" / "lockgate" / "lockgate.yaml", "profile: observe\n"),
    ]
    before: dict[str, bytes] = {}
    model = serve(
        Script.of(
            Turn([read(world.settings)], before=lambda: before.update(_snapshot(world))),
            attempts,
            fetch_issue(),
            bash(PUSH),
        )
    )
    world.run(model)
    let_through = [attempt.input for place, attempt in enumerate(attempts) if not model.result(1, place).is_error]
    assert let_through == []
    after = _snapshot(world)
    assert {name: after.get(name) for name in before} == before
    assert not local.exists()
    assert world.pushes == []


@pytest.mark.parametrize("content", ["{}", '{"disableAllHooks": true}'], ids=["hooks-removed", "hooks-disabled"])
def test_a_change_of_settings_does_not_open_the_running_session(world: World, serve: Serve, content: str) -> None:
    """What writes them from outside (a script that the agent got a person to run) cannot unlock this session."""

    def change() -> None:
        kept = json.loads(content)
        world.settings.write_text(json.dumps(kept))
        time.sleep(SETTINGS_WATCHED)

    model = serve(Script.of(fetch_issue(), Turn([bash("echo waiting")], before=change), bash(PUSH)))
    world.run(model)
    assert world.pushes == []
    assert model.result(2).is_error
