"""Whose environment, ancestry and configuration counts: the hook's, as it is now."""

from __future__ import annotations

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from lockgate.clients.wire import resident as wire
from lockgate.service.resident.decider import REMEMBER

from .machine import PATIENT, Machine

pytestmark = pytest.mark.sampled

PUSH = "git push https://git.example.com/x.git"


def bash(command: str, **fields: Any) -> dict[str, Any]:
    return tool("PreToolUse", tool_input={"command": command}, **fields)


def verdict(said: bytes) -> str:
    code, stdout, _ = wire.answer_of(said)
    assert code == 0
    return str(json.loads(stdout or b"{}").get("hookSpecificOutput", {}).get("permissionDecision", "silent"))


def project(machine: Machine, name: str, table: dict[str, str]) -> Path:
    """A project whose own configuration says this; it can only tighten."""
    folder = machine.root / name
    folder.mkdir()
    (folder / "lockgate.yaml").write_text(json.dumps({"table": table}))
    return folder


def test_the_project_is_the_caller_s(served: Machine) -> None:
    strict, lax = project(served, "strict", {"egress": "deny"}), project(served, "lax", {})
    (served.config / "lockgate.yaml").write_text(json.dumps({"table": {"egress": "ask"}}))
    callers = [
        ({"CLAUDE_PROJECT_DIR": str(strict)}, "deny"),
        ({"CLAUDE_PROJECT_DIR": str(lax)}, "ask"),
    ]
    for environ, wanted in callers:
        event = bash(PUSH, cwd=environ["CLAUDE_PROJECT_DIR"], transcript_path="")
        found = served.hook(event, LOCKGATE_RESIDENT="off", **environ).answer["hookSpecificOutput"]
        assert found["permissionDecision"] == wanted, "the control"

    def asked(number: int) -> tuple[str, str]:
        environ, wanted = callers[number % 2]
        event = bash(PUSH, cwd=environ["CLAUDE_PROJECT_DIR"], tool_use_id=f"t{number}", transcript_path="")
        return verdict(served.said(served.request(event, **environ))), wanted

    with ThreadPoolExecutor(6) as crowd:
        for found, wanted in crowd.map(asked, range(90)):
            assert found == wanted
    assert served.facts["declined"] == 0


@pytest.mark.parametrize(
    ("name", "values", "command"),
    [
        ("PATH", ("/usr/bin:/bin", "{project}/bin:/usr/bin:/bin"), "ls"),
        ("TMPDIR", ("/tmp", "{home}/.ssh"), "echo x >$TMPDIR/authorized_keys"),
        ("SHELL", ("/bin/bash", "/bin/zsh"), "echo *(e:'git push':)"),
        ("CLAUDE_PROJECT_DIR", ("{project}", "{home}"), "cat ../home/notes.txt"),
    ],
)
def test_what_the_environment_says_is_the_caller_s(
    served: Machine, name: str, values: tuple[str, str], command: str
) -> None:
    """Asked in turn, each is told what a hook by itself would be told."""
    (served.project / "bin").mkdir()
    (served.project / "bin" / "ls").write_text("#!/bin/sh\ngit push\n")
    (served.project / "bin" / "ls").chmod(0o755)
    event = bash(command, cwd=str(served.project), transcript_path="")
    environs = [{name: value.format(project=served.project, home=served.home)} for value in values]
    alone = [served.hook(event, *PATIENT, LOCKGATE_RESIDENT="off", **environ) for environ in environs]
    for _ in range(2):
        assert [served.hook(event, *PATIENT, **environ) for environ in environs] == alone
    assert served.facts["answered"] > 0  # a hook that waits too long on a busy machine decides by itself


def test_the_client_is_found_above_the_caller(served: Machine) -> None:
    """Not above the gate, which has no parent: a fork is known by its client's process."""
    served.hook(served.event("SessionStart", source="startup"))
    served.hook(served.event("SessionStart", source="startup", session_id="other"), LOCKGATE_RESIDENT="off")
    with served.store() as store, store.reading() as tx:
        by_gate, by_itself = [session.process for session in tx.sessions()]
    assert by_gate == by_itself != ""


def test_configuration_applies_within_a_second(served: Machine) -> None:
    event = bash(PUSH, cwd=str(served.project))
    assert verdict(served.said(served.request(event))) == "silent"
    (served.config / "lockgate.yaml").write_text(json.dumps({"table": {"egress": "deny"}}))
    time.sleep(REMEMBER + 0.1)
    assert verdict(served.said(served.request(event))) == "deny"
    (served.config / "lockgate.yaml").write_text(json.dumps({"table": {"egress": "ask"}}))
    time.sleep(REMEMBER + 0.1)
    assert verdict(served.said(served.request(event))) == "ask"
    (served.config / "lockgate.yaml").unlink()
    time.sleep(REMEMBER + 0.1)
    assert verdict(served.said(served.request(event))) == "silent"


def test_configuration_that_is_broken_tightens(served: Machine) -> None:
    """As with a hook by itself: the last good layers hold."""
    event = bash(PUSH, cwd=str(served.project))
    (served.config / "lockgate.yaml").write_text(json.dumps({"table": {"egress": "deny"}}))
    assert verdict(served.said(served.request(event))) == "deny"
    (served.config / "lockgate.yaml").write_text("table: {egress: [")
    time.sleep(REMEMBER + 0.1)
    assert verdict(served.said(served.request(event))) == "deny"


# ---------------------------------------------------------------- a client that does not finish
def test_a_payload_that_never_ends_is_refused(served: Machine) -> None:
    command = served.command("claude-code", "--event", "PreToolUse")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=served.environment, cwd=served.project
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(bash("ls")).encode())
        process.stdin.flush()
        answer = json.loads(process.stdout.read())
        assert process.wait() == 2
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
