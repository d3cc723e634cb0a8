"""Real hooks of a fleet that names approvers: what one signs on another host runs, and a forged yes does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.payloads import tool
from gate.approver_world import KEYS, listed
from hook.process import HOOK, folders
from lockgate.gate.approvals import answering, wakeups
from lockgate.store.postgres.store import PostgresStore
from lockgate.store.rows import ApprovalRow
from support.shared_states import opened, share

pytestmark = pytest.mark.slow

PUSH = tool("PreToolUse", tool_input={"command": "git push origin main"})


@pytest.fixture
def homes(tmp_path: Path, postgres_url: str) -> Iterator[tuple[Path, PostgresStore]]:
    """The host whose hook waits, and the store as another host has it."""
    north, south = tmp_path / "north", tmp_path / "south"
    for home in (north, south):
        folders(home)
    share([north / "state", south / "state"], postgres_url)
    (south / "config").mkdir()
    said = {"table": {"egress": "ask"}, "approvals": {"headless": "wait"}, "approvers": listed("ann")}
    (south / "config" / "lockgate.yaml").write_text(json.dumps(said))
    store = opened(north / "state")
    yield south, store
    store.close()


def _waiting(home: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", HOOK, "claude-code", *folders(home)]
    environ = {**os.environ, "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
    assert process.stdin is not None
    process.stdin.write(json.dumps(PUSH).encode())
    process.stdin.close()
    process.stdin = None
    return process


def _question(home: Path, store: PostgresStore, process: subprocess.Popen[bytes]) -> ApprovalRow:
    until = time.monotonic() + 60
    while True:
        with store.reading() as tx:
            found = [row for row in tx.approvals() if wakeups.is_waited_for(str(home / "state"), row.approval)]
        if found:
            return found[0]
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("is_signed", [True, False], ids=["signed by an approver", "by the role of a gate"])
def test_a_hook_that_waits_hears_an_approver_alone(homes: tuple[Path, PostgresStore], is_signed: bool) -> None:
    home, store = homes
    with _waiting(home) as process:
        row = _question(home, store, process)
        signer = answering.signer_of(listed("ann"), KEYS["ann"], store.clock()) if is_signed else None
        told = {"approve": True, "by": "ann (signed)", "signer": signer}
        answering.answer(store, str(home / "state"), row.approval, **told)  # type: ignore[arg-type]
        out, _ = process.communicate(timeout=60)
    decided = json.loads(out)["hookSpecificOutput"]
    assert decided["permissionDecision"] == ("allow" if is_signed else "deny")
    if not is_signed:
        assert "no approver of the configuration has signed this yes" in out.decode()
