"""The native hook client of this installation: is there one, and does it run here? See docs/native-client.md.

An installer takes it where it runs; Python starts the hooks where it does not.
"""

from __future__ import annotations

import os
import subprocess

from lockgate.clients.common.hook_command import native_file

ABOUT = "lockgate-hook LOCKGATE2\n"
"""What a client says of itself that speaks the protocol of this version's gate."""
_SECONDS = 5


def problem(hook: str) -> str:
    """Say why the native client beside a hook's file cannot be used; empty where it can be.

    Args:
        hook: The file of :mod:`lockgate.hook`.
    """
    file = native_file(hook)
    if not os.path.exists(file):
        return "it was not built: there was no C compiler, or this is no Linux and no macOS"
    try:
        done = subprocess.run(  # noqa: S603 - the installation's own file
            [file, "--about"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it does not run: {getattr(error, 'strerror', None) or type(error).__name__}"
    if (done.returncode, done.stdout) != (0, ABOUT):
        return "it is not of this version, or broken"
    return ""


def usable(hook: str) -> str:
    """The native client beside a hook's file, where it can be used; else nothing."""
    return "" if problem(hook) else native_file(hook)
