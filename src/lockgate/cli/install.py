"""``lockgate install`` and ``lockgate uninstall``."""

from __future__ import annotations

import json
import os
import sys
from contextlib import AbstractContextManager, nullcontext

import click

from lockgate.cli.common.person import require_person
from lockgate.clients.adapter import CLIENTS
from lockgate.clients.common.hook_command import HookLaunch, remote_words
from lockgate.clients.install import claude, others
from lockgate.clients.install.claude import SCOPES, SettingsChange
from lockgate.core.display_text import visible
from lockgate.core.errors import InstallError, LockgateError
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.system.folders import Folders, folders

_ALIASES = {"claude": "claude-code", "gemini": "gemini-cli", "copilot": "copilot-cli", "cursor-agent": "cursor"}
"""What people call clients whose names here are longer."""


class _Client(click.Choice[str]):
    """A client's name, or what people call it."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as the adapters have it."""
        return super().convert(_ALIASES.get(value, value), param, ctx)


_CLIENTS = _Client(CLIENTS)


def _options(command: click.decorators.FC) -> click.decorators.FC:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing."),
        click.option(
            "--project",
            type=click.Path(exists=True, file_okay=False, resolve_path=True),
            default=".",
            help="The project's folder, for the scopes project and local.  [default: the current folder]",
        ),
        click.option(
            "--scope",
            type=click.Choice(SCOPES),
            default="user",
            show_default=True,
            help="Whose settings: yours for all projects, the project's shared ones, or yours for the project.",
        ),
        click.argument("client", type=_CLIENTS),
    ):
        command = option(command)
    return command


@click.command()
@_options
@click.option("--statusline", is_flag=True, help="Also show the session's labels in the status line, if there is none.")
@click.option("--trust", is_flag=True, help="Codex: also trust these hooks, as its /hooks screen does.")
@click.option("--plugin", is_flag=True, help="Only tell the installed plugin where this program is; its hooks do it.")
@click.option("--remote", metavar="PLACE", default="", help="In a container: ipc:DIR, unix:PATH or https://HOST:PORT.")
@click.option("--key-file", metavar="FILE", default="", help="In a container: the key that its host has made for it.")
@click.option("--ca-file", metavar="FILE", default="", help="Certificates to trust instead of the system's.")
@click.option("--no-native", is_flag=True, help="Start the hooks with Python, though there is a native client.")
def install(
    client: str,
    scope: str,
    project: str,
    dry_run: bool,
    as_json: bool,
    statusline: bool,
    trust: bool,
    plugin: bool,
    remote: str,
    key_file: str,
    ca_file: str,
    no_native: bool,
) -> None:
    """Register the gate with an agent client.

    Entries are added to the client's settings and nothing else in them changes. Doing it again renews the entries.
    The pattern library is compiled, which takes a few seconds the first time. At the end the registered hook is tried,
    with a call that it must refuse.

    Exit status: 0 installed; 1 it cannot be, sessions would not be guarded, or an agent seems to ask; 2 usage.
    """
    where = folders()
    if client != "claude-code" and (statusline or plugin):
        raise click.UsageError("--statusline and --plugin are for claude-code")
    if client != "codex" and trust:
        raise click.UsageError("--trust is for codex")
    try:
        if plugin:
            _install_for_plugin(client, where, native=not no_native, dry_run=dry_run, as_json=as_json)
            if not dry_run:
                _prove_plugin(client, where, project)
            return
        file = _file(client, scope, where, project)
        launch = claude.this_launch(where, file, native=not no_native)
        change = _planned(client, launch._replace(remote=_remote(remote, key_file, ca_file)), statusline=statusline)
        _carry_out(change, where, "installed", dry_run=dry_run, as_json=as_json)
        if trust and not dry_run:
            _trust(where, change.file, project)
    except InstallError as error:
        raise click.ClickException(visible(str(error), 600)) from None
    if not dry_run and not remote:
        _prepare_patterns(where, project if scope != "user" else "")
        _renew_gate(where)
    if not (as_json or dry_run):
        if scope == "project":
            click.echo("Note: these settings are shared, and hold the path of this program on this machine.", err=True)
        then = "" if client == "claude-code" or trust else others.WAYS[client].then
    if not dry_run and not remote:
        _prove(client, where, project)
    if not (as_json or dry_run):
        click.echo(then or "Sessions that start from now on are guarded. Check it: lockgate doctor")


@click.command(short_help="Take the gate out of a client's settings.")
@_options
def uninstall(client: str, scope: str, project: str, dry_run: bool, as_json: bool) -> None:
    """Take the gate out of an agent client's settings, and leave them as they were before.

    Labels and the audit are kept.

    Exit status: 0 taken out, 1 it cannot be, or an agent seems to ask, 2 usage.
    """
    where = folders()
    try:
        file = _file(client, scope, where, project)
        trusted: list[str] = []
        if client == "claude-code":
            change = claude.plan_uninstall(file, where)
        else:
            change = others.plan_uninstall(client, file, where)
        if client == "codex":
            from lockgate.clients.install import codex_trust

            trusted = codex_trust.own_keys(file)
        _carry_out(change, where, "uninstalled", dry_run=dry_run, as_json=as_json)
        if trusted and not dry_run:
            codex_trust.forget(trusted, where.home)
    except InstallError as error:
        raise click.ClickException(visible(str(error), 600)) from None


def _remote(place: str, key_file: str, ca_file: str) -> tuple[str, ...]:
    """The words that lead a hook to a gate outside of this container; none for a gate of this machine."""
    for value in (place, key_file, ca_file):
        if not value.isprintable():
            raise click.UsageError("a place and a path have no control characters")
    kind, _, path = place.partition(":")
    known = os.path.isabs(path) if kind in ("ipc", "unix") else kind in ("https", "http")
    if place and not known:
        raise click.UsageError("--remote is ipc:DIR or unix:PATH with an absolute path, or https://HOST:PORT")
    if bool(place) != bool(key_file):
        raise click.UsageError("--remote and --key-file go together")
    return remote_words(place, os.path.abspath(key_file) if key_file else "", ca_file and os.path.abspath(ca_file))


def _file(client: str, scope: str, where: Folders, project: str) -> str:
    """The file that the client's hooks stand in."""
    if client == "claude-code":
        return claude.settings_file(scope, where, project, os.environ)
    return others.hooks_file(client, scope, where, project, os.environ)


def _planned(client: str, launch: HookLaunch, *, statusline: bool) -> SettingsChange:
    if client == "claude-code":
        return claude.plan_install(launch.settings, launch, statusline=statusline)
    return others.plan_install(client, launch.settings, launch)


def _trust(where: Folders, file: str, project: str) -> None:
    """Do what Codex's own screen does after a person's review: this command is that review."""
    from lockgate.clients.install.codex_trust import trust

    require_person("trust hooks in Codex")
    trusted = trust(file, project, where.home)
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
            with _waiting("compiling the pattern library: once, a few seconds"):
                made = make_ready(store, where, workspace)
        finally:
            store.close()
    except LockgateError as error:
        click.echo(f"Warning: {visible(str(error), 600)}. Until that is mended every call is blocked.", err=True)
        return
    for problem in made.problems:
        click.echo(f"Warning: {visible(str(problem), 600)}", err=True)


def _prove(client: str, where: Folders, project: str) -> None:
    """Send a call that must be refused through the hook, and end with 1 where sessions would not be guarded."""
    from lockgate.cli.doctor.clients import unguarded
    from lockgate.clients.hook.start_resident import OFF
    from lockgate.clients.install.claude_settings_view import look

    problems = unguarded(client, look(where, project, {**os.environ, OFF: "off"}, ""))
    for problem in problems:
        mend = f" -> {problem.mend}" if problem.mend else ""
        click.echo(f"{problem.name}: {visible(problem.says, 400)}{mend}", err=True)
    if problems:
        raise click.ClickException("the hooks are registered, and sessions would not be guarded: see above")


def _renew_gate(where: Folders) -> None:
    """End a gate of other code, so that none that was there before decides for the hooks that are there now."""
    from lockgate.cli.service import managers
    from lockgate.clients.hook.start_resident import launch
    from lockgate.clients.wire.resident_control import look, stop
    from lockgate.system.code_identity import code_of

    found = look(where.state)
    if not found.runs or found.facts.get("code") == code_of(os.path.join(PACKAGE_FOLDER, "hook.py")):
        return
    try:
        manager = managers.running(where)
        stop(where.state)
        if manager is not None:
            managers.start_again(manager)
        else:
            launch(where, sys.executable)
    except (LockgateError, OSError, click.ClickException) as error:
        click.echo(f"Warning: the old gate still runs: {visible(str(error), 300)}", err=True)
        click.echo("The next hook ends it. To end it now: lockgate gate stop", err=True)


def _waiting(says: str) -> AbstractContextManager[object]:
    """Say on a terminal what is waited for, as long as it lasts."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(says)


def _install_for_plugin(client: str, where: Folders, *, native: bool, dry_run: bool, as_json: bool) -> None:
    launch = claude.this_launch(where, native=native)
    file = claude.launch_record(where)
    if not dry_run:
        require_person("change how the agent's hooks run")
        claude.write_launch_record(launch)
        _prepare_patterns(where, "")
        _renew_gate(where)
    if as_json:
        click.echo(json.dumps({"client": client, "file": file, "dry_run": dry_run}))
    else:
        click.echo(f"{'would write' if dry_run else 'wrote'} {file}")


def _prove_plugin(client: str, where: Folders, project: str) -> None:
    """Try the plugin's hook, where the plugin is there: it is told where the program is before it is installed, too."""
    from lockgate.clients.install.claude_settings_view import enabled_plugins, look

    if enabled_plugins(look(where, project, os.environ, "")):
        _prove(client, where, project)
        return
    mend = "claude plugin marketplace add ./ && claude plugin install lockgate@lockgate"
    click.echo(f"No session is guarded until the plugin is there. In a checkout of Lockgate: {mend}", err=True)


def _carry_out(change: SettingsChange, where: Folders, done: str, *, dry_run: bool, as_json: bool) -> None:
    if not dry_run and change.changes:
        require_person("change the agent's hooks")
        claude.apply(change, where)
    if as_json:
        click.echo(
            json.dumps(
                {"file": change.file, "changed": change.changes, "dry_run": dry_run, "diff": change.diff()},
            )
        )
    elif not change.changes:
        state = "is as it should be" if change.record else "holds nothing of Lockgate"
        click.echo(f"nothing to do: {change.file} {state}")
    elif dry_run:
        click.echo(change.diff(), nl=False)
        click.echo(f"this was a dry run: {change.file} was not changed", err=True)
    else:
        click.echo(f"{done}: {change.file}")
