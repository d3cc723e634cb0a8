"""The ``lockgate`` command. Each group lives in a module of its own, imported only when it is called."""

from __future__ import annotations

import importlib
import os
from typing import Any

import click

from lockgate.core.errors import BadInputError
from lockgate.core.version import __version__
from lockgate.system.folders import home_folder

_COMMANDS = {
    "approvals": "lockgate.cli.approvals:approvals",
    "approve": "lockgate.cli.approvals.approve:approve",
    "audit": "lockgate.cli.audit:audit",
    "bench": "lockgate.cli.bench:bench",
    "brief": "lockgate.cli.approvals.brief:brief",
    "canary": "lockgate.cli.canary:canary",
    "ci": "lockgate.cli.ci:ci",
    "completion": "lockgate.cli.completion:completion",
    "config": "lockgate.cli.config:config",
    "contain": "lockgate.cli.contain:contain_command",
    "dashboard": "lockgate.cli.dashboard:dashboard",
    "demo": "lockgate.cli.demo:demo",
    "deny": "lockgate.cli.approvals.approve:deny",
    "doctor": "lockgate.cli.doctor:doctor",
    "endorse": "lockgate.cli.approvals.endorse:endorse",
    "explain": "lockgate.cli.explain:explain",
    "files": "lockgate.cli.files:files",
    "gate": "lockgate.cli.gate:gate",
    "hook": "lockgate.cli.hook:hook_command",
    "install": "lockgate.cli.install:install",
    "judge": "lockgate.cli.judge:judge",
    "needless": "lockgate.cli.explain.needless:needless",
    "patterns": "lockgate.cli.patterns:patterns",
    "pause": "lockgate.cli.pause:pause_command",
    "plugins": "lockgate.cli.plugins:plugins",
    "policy": "lockgate.cli.policy:policy",
    "prompt": "lockgate.cli.prompt:prompt",
    "question": "lockgate.cli.approvals.question:question",
    "resume": "lockgate.cli.pause:resume",
    "rooms": "lockgate.cli.rooms:rooms_command",
    "scan": "lockgate.cli.scan:scan_command",
    "serve": "lockgate.cli.serve:serve_command",
    "service": "lockgate.cli.service:service",
    "sessions": "lockgate.cli.status:sessions",
    "setup": "lockgate.cli.setup:setup",
    "status": "lockgate.cli.status:status",
    "statusline": "lockgate.cli.statusline:statusline",
    "store": "lockgate.cli.store:store",
    "telemetry": "lockgate.cli.telemetry:telemetry",
    "trust": "lockgate.cli.trust:trust",
    "uninstall": "lockgate.cli.install:uninstall",
    "untrust": "lockgate.cli.trust:untrust",
    "update": "lockgate.cli.install:update",
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, sorted."""
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        target = _COMMANDS.get(cmd_name)
        if target is None:
            return None
        module, _, name = target.partition(":")
        command: Any = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and keep all its words for :func:`cli`."""
        name, command, rest = super().resolve_command(ctx, args)
        ctx.obj = (name, *rest)
        return name, command, rest


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lockgate")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Information-flow reference monitor for AI agents."""
    try:
        os.getcwd()
    except OSError:
        raise click.ClickException("the current folder is gone; change to another one") from None
    try:
        home_folder(os.environ)
    except BadInputError as error:
        raise click.ClickException(str(error)) from None
    from lockgate.cli.common.hooks_state import check_state

    check_state(ctx.obj)
