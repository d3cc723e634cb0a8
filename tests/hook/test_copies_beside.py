"""A clean copy of the state beside the real one: no variable and no file of a project leads a hook to it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from adapters.payloads import tool
from hook.process import HOOK, Told, folders, run
from lockgate.clients.hook.start_resident import OFF

PUSH = tool("PreToolUse", "Bash", {"command": "git push https://git.example.com/x.git"})
READ = tool(
    "PostToolUse", "WebFetch", tool_input={"url": "https://a.example/"}, tool_response={"result": "t", "code": 200}
)
START = {**tool("SessionStart"), "source": "startup"}


def _hook(home: Path, event: dict[str, object], **environment: str) -> Told:
    words = [sys.executable, "-I", "-S", HOOK, "claude-code", *folders(home)]
    return run(words, event, env={**os.environ, OFF: "off", **environment}, cwd=home)


@pytest.mark.parametrize("place", ["XDG_STATE_HOME", "HOME", "a file", "beside"])
def test_a_hook_is_not_led_to_a_clean_copy(tmp_path: Path, place: str) -> None:
    assert not _hook(tmp_path, START).refuses
    assert not _hook(tmp_path, PUSH).refuses, "clean"
    clean = tmp_path / "clean" / ".local" / "state" / "lockgate"
    shutil.copytree(tmp_path / "state", clean)
    assert _hook(tmp_path, READ).code == 0
    assert _hook(tmp_path, PUSH).refuses
    environment = {}
    if place == "XDG_STATE_HOME":
        environment = {place: str(clean.parent)}
    elif place == "HOME":
        environment = {place: str(tmp_path / "clean")}
    elif place == "a file":
        (tmp_path / "lockgate.yaml").write_text(f"state: {clean}\n")
    else:
        for name in ("lockgate.db", "lockgate.db-wal", "lockgate.db-shm"):
            if (clean / name).exists():
                shutil.copy(clean / name, tmp_path / "state" / f"copy-{name}")
        shutil.copytree(clean, tmp_path / "state" / "lockgate")
    assert _hook(tmp_path, PUSH, **environment).refuses
