"""Install, use, uninstall: the settings end as they began, to the byte."""

from __future__ import annotations

import pytest

from e2e.conftest import Serve
from e2e.harness.script import Script, bash, fetch_issue
from e2e.harness.world import PUSH, World

OWN_HOOK = '{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}}'
SETTINGS = {
    "no-file": None,
    "empty-object": "{}",
    "no-last-line-break": '{\n    "includeCoAuthoredBy": false,\n    "cleanupPeriodDays": 30\n}',
    "own-hooks-on-one-line": OWN_HOOK,
    "unusual-spacing": '{"permissions" :\t{"allow":["Bash(ls:*)"] },\r\n  "env":{"NAME":"J\\u00fcrgen, Zoë"}}\r\n\n',
}


@pytest.mark.parametrize("before", SETTINGS.values(), ids=SETTINGS.keys())
def test_uninstalling_leaves_the_settings_as_they_were(bare_world: World, serve: Serve, before: str | None) -> None:
    world = bare_world
    if before is not None:
        world.settings.write_bytes(before.encode())
    original = world.remembered_settings()

    world.lockgate("install", "claude-code")
    assert world.remembered_settings() != original
    guarded = serve(Script.of(fetch_issue(), bash(PUSH)))
    world.run(guarded)
    assert world.pushes == []

    world.lockgate("uninstall", "claude-code")
    assert world.remembered_settings() == original
    free = serve(Script.of(fetch_issue(), bash(PUSH)))
    world.run(free)
    assert len(world.pushes) == 1
