"""Finds this installation's native hook client, and tests whether it runs here. See docs/native-client.md.

An installer takes it where it runs; Python starts the hooks where it does not.
"""

from __future__ import annotations

import os

from lockgate.clients.common.hook_command import native_file
from lockgate.system.programs import run

ABOUT = "lockgate-hook LOCKGATE3\n"
"""What a client says of itself that speaks the protocol of this version's gate."""
_SECONDS = 5


def problem(hook: str) -> str:
    """Why the native client beside a hook's file cannot be used; empty where it can be.

    Args:
        hook: The file of :mod:`lockgate.hook`.
    """
    file = native_file(hook)
    if not os.path.exists(file):
        return "it was not built: there was no C compiler, or this is no Linux and no macOS"
    ran = run([file, "--about"], _SECONDS)
    if ran.problem:
        return f"it does not run: {ran.problem}"
    if (ran.code, ran.out) != (0, ABOUT):
        return "it is not of this version, or broken"
    return ""


def usable(hook: str) -> str:
    """The native client beside a hook's file, where it can be used; else nothing."""
    return "" if problem(hook) else native_file(hook)
