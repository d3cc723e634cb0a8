"""``lockgate completion``: prints a shell's completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(short_help="Print a shell's completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes lockgate's commands in a shell.

    \b
    bash: lockgate completion bash >
          ~/.local/share/bash-completion/completions/lockgate
    zsh:  lockgate completion zsh >
          _lockgate, in a folder of $fpath
    fish: lockgate completion fish >
          ~/.config/fish/completions/lockgate.fish
    """  # noqa: D301 - the escape keeps click from folding the lines
    kind = get_completion_class(shell)
    assert kind is not None
    root = ctx.find_root()
    click.echo(kind(root.command, {}, "lockgate", "_LOCKGATE_COMPLETE").source())
