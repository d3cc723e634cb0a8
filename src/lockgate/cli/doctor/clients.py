"""What ``lockgate doctor`` finds of the clients: what each of them has registered, and whether it refuses."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping

from lockgate.cli.common.hooks_state import find_hooks_elsewhere
from lockgate.clients.install import claude_checks, other_checks
from lockgate.clients.install.claude_settings_view import CheckContext, DoctorCheck, find_enabled_plugins, hook_commands
from lockgate.core.display_text import visible
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.session.trials import TrialSession
from lockgate.store.opening import open_store
from lockgate.system.programs import run

if TYPE_CHECKING:
    from typing import Any

_SECONDS = 20
_SELF_TEST = "self-test"


def claude_version() -> str:
    """What the installed Claude Code says of its version; empty where there is none, or it says nothing."""
    program = shutil.which("claude")
    if program is None:
        return ""
    # Not in the project: managers of versions take from files there which program is started.
    ran = run([program, "--version"], _SECONDS, cwd="/", environ={**os.environ, "DISABLE_AUTOUPDATER": "1"})
    return ran.out[:200]


def _has_claude(seen: CheckContext) -> bool:
    """Whether Claude Code is to be looked at: it is here, it is guarded, or no other client is."""
    return seen.has_hooks or shutil.which("claude") is not None or not other_checks.find_guarded(seen)


def client_checks(seen: CheckContext) -> Iterator[DoctorCheck]:
    """What is found of each client that is here."""
    yield from _state_of_hooks(seen)
    if _has_claude(seen):
        yield from claude_checks.checks(seen)
    yield from other_checks.checks(seen)


def _state_of_hooks(seen: CheckContext) -> Iterator[DoctorCheck]:
    """Nothing is said where hooks use the state that this terminal names."""
    for each in find_hooks_elsewhere(seen):
        mend = f"run: {visible(each.mend('lockgate doctor'), 4000)}"
        yield DoctorCheck(f"state of the hooks ({each.client})", "fail", each.says, mend)


def self_tests(seen: CheckContext) -> Iterator[DoctorCheck]:
    """The proof: a call that must be refused goes through the registered hook of each client."""
    # A trial would leave a session in that folder, or begin a state there.
    elsewhere = {each.client for each in find_hooks_elsewhere(seen)}
    if _has_claude(seen) and "claude-code" not in elsewhere:
        yield _self_test(seen)
    for client in dict(other_checks.find_guarded(seen)):
        if client not in elsewhere:
            yield from _other_self_test(client, seen)


def why_unguarded(client: str, seen: CheckContext) -> list[DoctorCheck]:
    """Why sessions of a client whose hooks were just registered would not be guarded; nothing where they are."""
    from lockgate.cli.doctor.own import file_system

    found = list(file_system(seen.folders.state))
    if client == "claude-code":
        found += [*claude_checks.checks(seen), _self_test(seen)]
    else:
        found += _other_self_test(client, seen)
    return [check for check in found if check.state == "fail"]


def unproven(client: str, seen: CheckContext) -> list[DoctorCheck]:
    """What leaves it open whether the hooks of a client run: also what :func:`why_unguarded` leaves to a person."""
    if client == "claude-code":
        return why_unguarded(client, seen)
    file = dict(other_checks.find_guarded(seen)).get(client)
    if file is None:
        return [DoctorCheck(client, "fail", "its hooks stand in no file", f"run: lockgate install {client}")]
    current, *hazards = other_checks.checks_of(client, file, seen)
    tried = list(_other_self_test(client, seen)) or [DoctorCheck(client, "fail", "its hook cannot be tried")]
    open_ones = [current] if current.state != "ok" else []
    return [*open_ones, *(check for check in (*hazards, *tried) if check.state == "fail")]


def _other_self_test(client: str, seen: CheckContext) -> Iterator[DoctorCheck]:
    with TrialSession(lambda: open_store(seen.folders.state)) as session:
        tried = other_checks.trial(client, seen, session)
        if tried is not None:
            command, payload = tried
            yield _try_hook(f"self-test ({client})", command, payload, seen, f"run: lockgate install {client}")


def _self_test(seen: CheckContext) -> DoctorCheck:
    """Send a call that must be refused through the registered hook, as the client does."""
    command = _find_registered_command(seen)
    if isinstance(command, DoctorCheck):
        return command
    target = os.path.join(seen.folders.state, "lockgate.db")
    payload = {
        "transcript_path": "",
        "cwd": seen.project,
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": target, "content": ""},
    }
    with TrialSession(lambda: open_store(seen.folders.state)) as session:
        ids = {"session_id": session, "tool_use_id": session}
        return _try_hook(_SELF_TEST, command, {**ids, **payload}, seen, "run: lockgate install claude-code")


def _try_hook(name: str, command: str, payload: Mapping[str, Any], seen: CheckContext, mend: str) -> DoctorCheck:
    words = ["/bin/sh", "-c", command]
    ran = run(words, _SECONDS, given=json.dumps(payload), cwd=seen.project, environ=dict(seen.environ))
    if ran.problem:
        return DoctorCheck(name, "fail", f"the hook does not answer ({ran.problem})", mend)
    if ran.code == 0 and _is_denied(ran.out):
        return DoctorCheck(name, "ok", "a call that tampers with the gate was refused, for that reason")
    if ran.code == 2:
        says = f"the gate cannot decide and blocks everything: {visible(ran.err.strip(), 200)}"
        return DoctorCheck(name, "fail", says, "do what it says, or mend what failed above; else install it again")
    return DoctorCheck(name, "fail", "the hook let a call through that it must refuse", mend)


def _find_registered_command(seen: CheckContext) -> str | DoctorCheck:
    """The registered command; or, where there is none that may be run, why."""
    own = hook_commands(seen, "PreToolUse")
    for layer, command in own:
        if claude_checks.may_be_tried(seen, layer, command):
            return command
    if own:
        return _not_run(own[0][0].file)
    copies = claude_checks.plugin_copies(seen) if find_enabled_plugins(seen) else ()
    if not copies:
        says = "there is no registered hook to try"
        return DoctorCheck(_SELF_TEST, "fail", says, "run: lockgate install claude-code")
    script = copies[-1] / "hooks" / "run.sh"
    if not claude_checks.is_usual(seen):
        return _not_run(str(script))
    data = os.path.join(seen.claude, "plugins", "data", "lockgate")
    return f"/bin/sh {shlex.quote(str(script))} PreToolUse {shlex.quote(data)} || exit 2"


def _not_run(file: str) -> DoctorCheck:
    """What is said of a command that somebody else can have written into a file."""
    says = f"what {file} has for a hook is not what this version registers there: it was not run"
    return DoctorCheck(_SELF_TEST, "fail", says, "look at it; then: lockgate install claude-code")


def _is_denied(stdout: str) -> bool:
    """Whether an answer refuses a call for the place that it touches, in whichever client's dialect."""
    try:
        answer = json.loads(stdout)
        answer = {**answer, **answer.get("hookSpecificOutput", {})}
    except (ValueError, TypeError, AttributeError):
        return False
    if "deny" in answer:
        return "place:" in str(answer["deny"])
    verdict = answer.get("permissionDecision") or answer.get("permission") or answer.get("decision")
    reason = answer.get("permissionDecisionReason") or answer.get("agent_message") or answer.get("reason")
    return verdict == "deny" and "place:" in str(reason)
