"""A hook in a container is a process for one event too: it loads no network, no pattern library, gate or store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from containers.boxes import PACKAGE, Host

HEAVY = frozenset(
    (  # noqa: SIM905 - one name a line would be a screen
        "argparse asyncio click contextlib ctypes dataclasses hashlib hmac http.client inspect jsonschema logging "
        "pathlib random rich secrets select shutil socket sqlite3 ssl subprocess tempfile typing uuid "
        "watchfiles starlette uvicorn yaml hyperscan"
    ).split()
)


OUTSIDE = frozenset(
    {
        "lockgate.gate.host.assembly",
        "lockgate.gate.monitor.decide",
        "lockgate.store.sqlite.store",
        "lockgate.configuration.pattern_library.library",
    }
)
"""What only the host needs."""


def test_a_hook_that_asks_through_files_is_light(host: Host, tmp_path: Path) -> None:
    group = host.add("web")
    host.start()
    (tmp_path / "state").mkdir(mode=0o700)
    argv = [sys.executable, "-X", "importtime", "-I", "-S", str(PACKAGE / "hook.py"), "claude-code"]
    argv += ["--home", str(tmp_path), "--state", str(tmp_path / "state"), "--config", str(tmp_path)]
    argv += ["--remote", f"ipc:{group.folder}", "--key-file", f"{group.folder}/secret/key"]
    body = {
        "session_id": "s",
        "transcript_path": "",
        "cwd": str(tmp_path),
        "hook_event_name": "PreToolUse",
        "tool_use_id": "t",
        "tool_name": "Bash",
        "tool_input": {"command": "git push"},
    }
    done = subprocess.run(argv, input=json.dumps(body), capture_output=True, text=True, check=False, timeout=60)
    assert "blocks to be safe" not in done.stdout
    lines = (line.rpartition("|") for line in done.stderr.splitlines() if line.startswith("import time:"))
    imported = {name.strip() for _, _, name in lines}
    assert "lockgate.clients.wire.mailbox" in imported
    assert sorted(imported & HEAVY) == []
    assert sorted(imported & OUTSIDE) == []
