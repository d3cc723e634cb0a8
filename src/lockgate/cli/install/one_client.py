"""Putting the gate's hooks into one client's settings, and taking them out again."""

from __future__ import annotations

import json
import os
import shlex
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import click

from lockgate.cli.common.person import require_person
from lockgate.cli.install import every_user
from lockgate.clients.install import claude, registration
from lockgate.clients.install.claude import SettingsChange
from lockgate.core.display_text import visible
from lockgate.core.errors import InstallError, LockgateError
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.store.opening import ask_once
from lockgate.system.folders import Folders

MANAGED = "managed"
"""The scope of every user of the machine."""


class InstallOptions(NamedTuple):
    """What a person asked for, of whichever client."""

    scope: str
    project: str
    dry_run: bool = False
    as_json: bool = False
    statusline: bool = False
    trust: bool = False
    remote: tuple[str, ...] = ()
    native: bool = True


def put_in(client: str, asked: InstallOptions, where: Folders) -> SettingsChange:
    """Put the gate's hooks into a client's settings.

    Raises:
        InstallError: The settings cannot be read or written.
        click.ClickException: An agent seems to ask.
    """
    file = _file(client, asked, where)
    if not asked.remote and asked.scope != MANAGED:
        _refuse_another_state(f"lockgate install {client}", file, where)
    launch = claude.this_launch(where, file, native=asked.native)
    launch = launch._replace(remote=asked.remote, for_everyone=asked.scope == MANAGED)
    if launch.for_everyone:
        every_user.check((launch.python, launch.hook, launch.native), dry_run=asked.dry_run)
    change = registration.plan_install(client, launch, statusline=asked.statusline)
    _carry_out(change, where, asked)
    if asked.trust and client == "codex" and not asked.dry_run:
        _trust(where, change.file, asked.project)
    return change


def _refuse_another_state(command: str, file: str, where: Folders) -> None:
    """Make sure that no hooks lose the labels that they know, as in a terminal that lacks a variable.

    What the settings were before the installation is known in the state that they name, too.

    Raises:
        InstallError: The hooks that are there name another state, which exists.
    """
    named = registration.find_named_states(claude.read_text(file) or "")
    for other in (each for each in named if registration.is_another_installation(each, where.state)):
        again = registration.use_that_state(other, command)
        raise InstallError(
            f"the hooks in {file} have their labels in {other}, and this terminal names {where.state}."
            f" To keep these labels, run: {again}."
            f" Where the labels are in {where.state}, as after a move, run:"
            f" mv {shlex.quote(other)} {shlex.quote(other)}.aside && {command}"
        )


def tell_unchanged(client: str, asked: InstallOptions, where: Folders) -> SettingsChange:
    """What there is to tell of a client whose settings stay as they are.

    Raises:
        InstallError: The settings cannot be read.
    """
    file = _file(client, asked, where)
    text = claude.read_text(file)
    return SettingsChange(file, text, text, claude.read_records(where.state).get(os.path.realpath(file)))


def make_sure(client: str, asked: InstallOptions, where: Folders) -> str:
    """Make ready what the hooks of a client need, and prove that they refuse.

    Returns:
        What is left for the person to do; empty after a dry run.

    Raises:
        click.ClickException: Sessions would not be guarded.
    """
    if asked.dry_run:
        return ""
    if asked.scope == MANAGED:
        _prepare_for_every_user()
        return "Sessions of every user that start from now on are guarded. Each of them checks it: lockgate doctor"
    if asked.scope == "project" and not asked.as_json:
        click.echo("Note: these settings are shared, and hold the path of this program on this machine.", err=True)
    if not asked.remote:
        with ask_once(where.state):
            _prepare_patterns(where, asked.project if asked.scope != "user" else "")
            _renew_gate(where)
            _prove(client, where, asked.project)
    left = "" if asked.trust else registration.describe_next_step(client)
    return left or "Sessions that start from now on are guarded. Check it: lockgate doctor"


def take_out(client: str, asked: InstallOptions, where: Folders) -> SettingsChange:
    """Take the gate out of a client's settings.

    Raises:
        InstallError: They cannot be read or written.
        click.ClickException: An agent seems to ask.
    """
    file = _file(client, asked, where)
    if asked.scope != MANAGED:
        _refuse_another_state(f"lockgate uninstall {client}", file, where)
    change = registration.plan_uninstall(client, file, where)
    trusted = registration.find_trusted_hooks(client, file)
    _carry_out(change, where, asked)
    if trusted and not asked.dry_run:
        registration.forget_trust(trusted, where.home)
    return change


def change_as_json(change: SettingsChange, asked: InstallOptions) -> dict[str, object]:
    """A change of settings, as JSON has it."""
    return {"file": change.file, "changed": change.changes, "dry_run": asked.dry_run, "diff": change.diff()}


def say(change: SettingsChange, asked: InstallOptions, done: str) -> None:
    """Tell a person of a change of settings."""
    if not change.changes:
        state = "is as it should be" if change.record else "holds nothing of Lockgate"
        click.echo(f"nothing to do: {change.file} {state}")
    elif asked.dry_run:
        click.echo(change.diff(), nl=False)
        click.echo(f"this was a dry run: {change.file} was not changed", err=True)
    else:
        click.echo(f"{done}: {change.file}")


def _file(client: str, asked: InstallOptions, where: Folders) -> str:
    """The file that the client's hooks stand in."""
    return registration.hooks_file(client, asked.scope, where, asked.project, os.environ)


def _trust(where: Folders, file: str, project: str) -> None:
    """Do what Codex's own screen does after a person's review: this command is that review."""
    require_person("trust hooks in Codex")
    trusted = registration.trust_hooks(file, project, where.home)
    click.echo(f"trusted in Codex: {trusted} hooks", err=True)


def _prepare_patterns(where: Folders, project: str) -> None:
    """Compile the pattern library now, so that no session has to wait for it. Where that fails, hooks will refuse."""
    from lockgate.configuration.load import find_workspace
    from lockgate.configuration.pattern_library.readiness import make_ready
    from lockgate.store.opening import open_store

    workspace = find_workspace(project, where.home) if project else ""
    try:
        store = open_store(where.state)
        try:
            with _show_waiting("compiling the pattern library: once, a few seconds"):
                made = make_ready(store, where, workspace)
        finally:
            store.close()
    except LockgateError as error:
        click.echo(f"Warning: {visible(str(error), 600)}. Until that is mended every call is blocked.", err=True)
        return
    for problem in made.problems:
        click.echo(f"Warning: {visible(str(problem), 600)}", err=True)


def _prepare_for_every_user() -> None:
    """Compile the shipped patterns beside the code, so that no user's first calls have to wait for it."""
    from lockgate.configuration.pattern_library.readiness import make_beside

    try:
        with _show_waiting("compiling the pattern library: once, a few seconds"):
            make_beside()
    except (LockgateError, OSError, ImportError) as error:
        says = f"Warning: {visible(str(error), 600)}. Each user's first calls are blocked until theirs are compiled."
        click.echo(says, err=True)


def _prove(client: str, where: Folders, project: str) -> None:
    """Send a call that must be refused through the hook, and end with 1 where sessions would not be guarded."""
    from lockgate.cli.doctor.clients import why_unguarded
    from lockgate.clients.hook.start_resident import OFF
    from lockgate.clients.install.claude_settings_view import look

    problems = why_unguarded(client, look(where, project, {**os.environ, OFF: "off"}, ""))
    for problem in problems:
        mend = f" -> {problem.mend}" if problem.mend else ""
        click.echo(f"{problem.name}: {visible(problem.says, 400)}{mend}", err=True)
    if problems:
        raise click.ClickException("the hooks are registered, and sessions would not be guarded: see above")


def _renew_gate(where: Folders) -> None:
    """End a gate of other code, so that none that was there before decides for the hooks that are there now."""
    from lockgate.cli.service import managers
    from lockgate.clients.hook.start_resident import launch
    from lockgate.clients.wire.resident_control import look, stop_gate
    from lockgate.system.code_identity import code_of

    found = look(where.state)
    if not found.runs or found.facts.get("code") == code_of(os.path.join(PACKAGE_FOLDER, "hook.py")):
        return
    try:
        manager = managers.find_running(where)
        stop_gate(where.state)
        if manager is not None:
            managers.start_again(manager)
        else:
            launch(where, sys.executable)
    except (LockgateError, OSError, click.ClickException) as error:
        click.echo(f"Warning: the old gate still runs: {visible(str(error), 300)}", err=True)
        click.echo("The next hook ends it. To end it now: lockgate gate stop", err=True)


def _show_waiting(says: str) -> AbstractContextManager[object]:
    """Say on a terminal what is waited for, as long as it lasts."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(says)


def _carry_out(change: SettingsChange, where: Folders, asked: InstallOptions) -> None:
    if change.changes and not asked.dry_run:
        require_person("change the agent's hooks")
        claude.apply(change, where)


def tell_plugin(asked: InstallOptions, where: Folders) -> None:
    """Write down for Claude Code's plugin where this program is, and prove its hook where the plugin is there."""
    launch = claude.this_launch(where, native=asked.native)
    file = claude.launch_record(where)
    if not asked.dry_run:
        require_person("change how the agent's hooks run")
        claude.write_launch_record(launch)
        _prepare_patterns(where, "")
        _renew_gate(where)
    if asked.as_json:
        click.echo(json.dumps({"client": "claude-code", "file": file, "dry_run": asked.dry_run}))
    else:
        click.echo(f"{'would write' if asked.dry_run else 'wrote'} {file}")
    if not asked.dry_run:
        _prove_plugin(where, asked.project)


def _prove_plugin(where: Folders, project: str) -> None:
    """Try the plugin's hook, where the plugin is there: it is told where the program is before it is installed, too."""
    from lockgate.clients.install.claude_settings_view import find_enabled_plugins, look

    if find_enabled_plugins(look(where, project, os.environ, "")):
        _prove("claude-code", where, project)
        return
    mend = "claude plugin marketplace add ./ && claude plugin install lockgate@lockgate"
    click.echo(f"No session is guarded until the plugin is there. In a checkout of Lockgate: {mend}", err=True)
