"""``lockgate doctor``: is this machine's agent really guarded?"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping

import click

from lockgate.adapters import claude_doctor, claude_install, native_client, other_doctor
from lockgate.adapters.claude_look import Check, Look, enabled_plugins, hook_commands, look
from lockgate.cli.state import SELF_TEST, paint
from lockgate.errors import LockgateError
from lockgate.folders import Folders, folders
from lockgate.record import TYPE_CHECKING
from lockgate.text import visible

if TYPE_CHECKING:
    from typing import Any

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}
_SECONDS = 20


@click.command(short_help="Check that the protection is in force.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    default=".",
    help="The project's folder.  [default: the current folder]",
)
def doctor(as_json: bool, project: str) -> None:
    """Look for every way in which the protection might not be in force, and say how to mend it.

    The last check sends a call that must be refused through the registered hook.

    Exit status: 0 nothing failed (there may be warnings), 1 something failed, 2 usage.
    """
    found = findings(project)
    failed = any(check.state == "fail" for check in found)
    if as_json:
        click.echo(json.dumps({"ok": not failed, "checks": [check._asdict() for check in found]}, indent=2))
    else:
        for check in found:
            click.echo(_line(check))
    raise click.exceptions.Exit(1 if failed else 0)


def findings(project: str) -> list[Check]:
    """Everything that is looked at for a project's folder, in order."""
    seen = look(folders(), project, os.environ, _client_version())
    return [*_client_checks(seen), *_own_checks(seen), *_self_tests(seen)]


def _has_claude(seen: Look) -> bool:
    """Whether Claude Code is to be looked at: it is here, it is guarded, or no other client is."""
    registered = bool(hook_commands(seen, "PreToolUse") or enabled_plugins(seen))
    return registered or shutil.which("claude") is not None or not other_doctor.guarded(seen)


def _client_checks(seen: Look) -> Iterator[Check]:
    if _has_claude(seen):
        yield from claude_doctor.checks(seen)
    yield from other_doctor.checks(seen)


def _line(check: Check) -> str:
    state = paint(f"{check.state:4}", _COLOURS[check.state])
    mend = f"\n      -> {check.mend}" if check.mend and check.state != "ok" else ""
    return f"{state}  {check.name}: {visible(check.says, 600)}{mend}"


def _client_version() -> str:
    program = shutil.which("claude")
    if program is None:
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - the person's own client
            [program, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "DISABLE_AUTOUPDATER": "1"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout[:200]


# ---------------------------------------------------------------- the gate's own things
def _own_checks(seen: Look) -> Iterator[Check]:
    yield _mode("state folder", seen.folders.state, 0o077)
    yield _mode("key", os.path.join(seen.folders.state, "key"), 0o077)
    yield _mode("configuration folder", seen.folders.config, 0o022)
    hook = claude_install.this_launch(seen.folders).hook
    yield _mode("program", os.path.dirname(hook), 0o022)
    yield _hook_client(hook)
    yield _configuration(seen)
    yield from _fleet(seen.folders)
    yield from _patterns(seen)
    yield from _plugins(seen)
    yield _containment(seen.folders)
    yield from _judge(seen)
    yield from _people(seen)
    yield from _telemetry(seen)
    yield from _state(seen.folders)


def _mode(name: str, path: str, forbidden: int) -> Check:
    try:
        found = os.lstat(path)
    except OSError:
        return Check(name, "ok", f"{path} is not there yet")
    if found.st_uid not in (os.geteuid(), 0):
        return Check(name, "fail", f"{path} belongs to another user", f"make it yours: {path}")
    if stat.S_ISLNK(found.st_mode):
        return Check(name, "warn", f"{path} is a link", "make sure that only you can change what it points to")
    if stat.S_IMODE(found.st_mode) & forbidden:
        tighter = f"{stat.S_IMODE(found.st_mode) & ~forbidden:o}"
        return Check(name, "fail", f"others can get at {path}", f"run: chmod {tighter} {shlex.quote(path)}")
    return Check(name, "ok", f"{path} is safe from others")


def _hook_client(hook: str) -> Check:
    """Which client an installation would take; either protects alike."""
    problem = native_client.problem(hook)
    return Check(
        "hook client",
        "ok",
        f"Python; the native one: {problem}" if problem else "native, where `lockgate install` chooses",
    )


def _configuration(seen: Look) -> Check:
    from lockgate import configuration

    try:
        problems = configuration.load_for_cli(seen.project).problems
    except LockgateError as error:
        return Check("configuration", "fail", str(error), "run: lockgate config check")
    if problems:
        return Check("configuration", "fail", "; ".join(map(str, problems)), "run: lockgate config check")
    return Check("configuration", "ok", "every layer is valid")


def _patterns(seen: Look) -> Iterator[Check]:
    """Whether the pattern library is compiled and loads, and what is to be said of its files and of known secrets."""
    from lockgate.configuration import find_workspace
    from lockgate.guardrails.readiness import make_ready
    from lockgate.store.opening import open_existing

    name = "patterns"
    try:
        store = open_existing(seen.folders.state)
        if store is None:
            yield Check(
                name,
                "warn",
                "not compiled yet: the first session will wait for it",
                "run: lockgate install claude-code",
            )
            return
        try:
            made = make_ready(store, seen.folders, find_workspace(seen.project, seen.folders.home))
        finally:
            store.close()
    except LockgateError as error:
        yield Check(name, "fail", str(error), "mend it; until then every call is blocked")
        return
    how = f"made ready now, in {made.seconds:.1f} s" if made.seconds else "compiled, and fresh"
    yield Check(name, "ok", f"the engines load; rules: {made.rules}; {how}")
    if made.problems:
        yield Check("pattern files", "fail", "; ".join(map(str, made.problems)), "run: lockgate patterns list")
    if made.notes:
        yield Check("pattern notes", "warn", "; ".join(made.notes), "see docs/patterns.md and docs/known-secrets.md")


def _plugins(seen: Look) -> Iterator[Check]:
    """Whether each plugin of the configuration can be loaded. Nothing is said where there is none."""
    from lockgate.cli.plugins import look as look_at_plugins

    try:
        found = look_at_plugins(seen.project)
    except LockgateError:
        return  # said already: the configuration cannot be read
    for each in found:
        if each.problem:
            yield Check(
                "gate plugin", "fail", f"{each.problem}; until then every call is denied", "run: lockgate plugins list"
            )
        else:
            yield Check("gate plugin", "ok", f"{each.as_json['name']} is asked about every call")


def _containment(where: Folders) -> Check:
    from lockgate.escape.containment.host import try_again

    found = try_again(where.state)
    if found.problem:
        install = "install bubblewrap; " if sys.platform == "linux" else ""
        mend = f"{install}where a command could be contained, a judge or a person is asked (docs/containment.md)"
        return Check("containment", "warn", found.problem, mend)
    return Check("containment", "ok", f"commands can be contained by {found.way} {found.program}".rstrip())


def _judge(seen: Look) -> Iterator[Check]:
    """Whether the judge can be asked, where this project's profile names one. To ask it would cost money."""
    from lockgate import configuration
    from lockgate.escape.judge.keys import why_not
    from lockgate.escape.judge.settings import settings_of
    from lockgate.model import Verdict

    try:
        found = configuration.load_for_cli(seen.project)
    except LockgateError:
        return  # said above
    if not found.policies[0].profile.says(Verdict.JUDGE):
        return
    problem = why_not(found.options.judge, os.environ, seen.folders.state)
    if problem:
        mend = "see docs/judge.md; until then the next verdict of its cells holds, most often a question to a person"
        yield Check("judge", "warn", f"it cannot be asked: {problem}", mend)
        return
    settings = settings_of(found.options.judge)
    yield Check("judge", "ok", f"{settings.model} at {settings.host} can be asked; to try it: lockgate judge check")


def _fleet(where: Folders) -> Iterator[Check]:
    from lockgate.cli.doctor_fleet import fleet

    for status, detail, mend in fleet(where.state):
        yield Check("fleet policy", status, detail, mend)


def _people(seen: Look) -> Iterator[Check]:
    from lockgate.cli.doctor_people import people

    for status, detail, mend in people(seen.project, seen.folders.state):
        yield Check("people", status, detail, mend)


def _telemetry(seen: Look) -> Iterator[Check]:
    from lockgate.cli.doctor_telemetry import telemetry

    for status, detail, mend in telemetry(seen.project, seen.folders.state):
        yield Check("telemetry", status, detail, mend)


def _resident_gate(seen: Look) -> Check:
    from lockgate.cli.doctor_gate import resident_gate

    return Check("resident gate", *resident_gate(seen.folders.state, os.environ))


def _state(where: Folders) -> Iterator[Check]:
    from lockgate.audit.chain import verify_store
    from lockgate.store.opening import open_existing

    try:
        store = open_existing(where.state)
    except LockgateError as error:
        yield Check("state", "fail", str(error), "see docs/claude-code.md; until then every call is blocked")
        return
    if store is None:
        yield Check("state", "ok", "nothing is recorded yet")
        return
    try:
        with store.reading() as tx:
            yield Check("state", "ok", f"it opens; sessions: {len(tx.sessions())}")
            verified = verify_store(tx, store.key)
    except LockgateError as error:
        yield Check("state", "fail", str(error), "see docs/claude-code.md")
        return
    finally:
        store.close()
    if verified.ok:
        yield Check("audit", "ok", f"the chain holds; records: {verified.records}")
    else:
        yield Check("audit", "fail", f"the chain is broken: {verified.problem}", "run: lockgate audit verify")


# ---------------------------------------------------------------- the proof
def _self_tests(seen: Look) -> Iterator[Check]:
    if _has_claude(seen):
        yield _self_test(seen)
    for client in dict(other_doctor.guarded(seen)):
        tried = other_doctor.trial(client, seen, SELF_TEST)
        if tried is not None:
            command, payload = tried
            yield _tried(f"self-test ({client})", command, payload, seen, f"run: lockgate install {client}")


def _self_test(seen: Look) -> Check:
    """Send a call that must be refused through the registered hook, as the client does."""
    name = "self-test"
    command = _registered(seen)
    if not command:
        return Check(name, "fail", "there is no registered hook to try", "run: lockgate install claude-code")
    payload = {
        "session_id": SELF_TEST,
        "transcript_path": "",
        "cwd": seen.project,
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": os.path.join(seen.folders.state, "lockgate.db"), "content": ""},
        "tool_use_id": SELF_TEST,
    }
    return _tried(name, command, payload, seen, "run: lockgate install claude-code")


def _tried(name: str, command: str, payload: Mapping[str, Any], seen: Look, mend: str) -> Check:
    try:
        done = subprocess.run(  # noqa: S603 - the very command that the client runs
            ["/bin/sh", "-c", command],
            input=json.dumps(payload),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
            cwd=seen.project,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, "fail", f"the hook does not answer ({type(error).__name__})", mend)
    if done.returncode == 0 and _denied(done.stdout):
        return Check(name, "ok", "a call that tampers with the gate was refused, for that reason")
    if done.returncode == 2:
        says = f"the gate cannot decide and blocks everything: {visible(done.stderr.strip(), 200)}"
        return Check(name, "fail", says, "mend what failed above, or install it again")
    return Check(name, "fail", "the hook let a call through that it must refuse", mend)


def _registered(seen: Look) -> str:
    own = hook_commands(seen, "PreToolUse")
    if own:
        return own[0][1]
    if not enabled_plugins(seen):
        return ""
    copies = claude_doctor.plugin_copies(seen)
    if not copies:
        return ""
    script = copies[-1] / "hooks" / "run.sh"
    data = os.path.join(seen.claude, "plugins", "data", "lockgate")
    return f"/bin/sh {shlex.quote(str(script))} PreToolUse {shlex.quote(data)} || exit 2"


def _denied(stdout: str) -> bool:
    """Whether an answer refuses a call for the place that it touches, in whichever client's dialect."""
    try:
        answer = json.loads(stdout)
        answer = {**answer, **answer.get("hookSpecificOutput", {})}
    except (ValueError, TypeError, AttributeError):
        return False
    verdict = answer.get("permissionDecision") or answer.get("permission") or answer.get("decision")
    reason = answer.get("permissionDecisionReason") or answer.get("agent_message") or answer.get("reason")
    return verdict == "deny" and "place:" in str(reason)
