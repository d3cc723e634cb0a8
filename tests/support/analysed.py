"""What a command does on the machine that most tables of commands are about."""

from __future__ import annotations

from lockgate.core.model import EffectKind
from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell

PROJECT = "/home/user/work"
STATE = "/home/user/.local/state/lockgate"
AROUND = HostView(
    home="/home/user",
    workspace=PROJECT,
    own_paths=(STATE,),
    state_paths=(STATE,),
    variables={"HOME": "/home/user", "TMPDIR": "/tmp", "PATH": "/usr/bin:/bin"},
)


def kinds(command: str) -> set[EffectKind]:
    """The kinds of a command's effects."""
    return {effect.kind for effect in analyse_shell(command, PROJECT, AROUND).effects}
