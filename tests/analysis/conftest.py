"""The machine that most tests speak about."""

from __future__ import annotations

import pytest

from lockgate.resources.host_view import HostView
from lockgate.shell.knowledge.lookup import lookup

HOME = "/home/user"
WORK = "/home/user/work"


@pytest.fixture
def around() -> HostView:
    return HostView(
        home=HOME,
        workspace=WORK,
        own_paths=("/home/user/.local/state/lockgate", "/opt/lockgate"),
        client_paths=("/tmp/claude-1000/work",),
        variables={"PATH": "/home/user/tools:/home/user/work/.venv/bin:/usr/bin"},
        is_known_program=lambda name: lookup(name) is not None,
    )
