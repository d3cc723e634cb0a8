"""The gate's folders, by the XDG base directory specification (also on macOS).

An installed hook is told its folders on its command line and does not ask the environment: a project's settings can set
environment variables for hooks, and must not be able to lead the gate to another state or configuration.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from lockgate.core.errors import BadInputError
from lockgate.core.record import Record

PAUSE = "pause"
"""The file of the state folder that says until when the gate is paused."""

_BESIDE = ".lockgate"
RUNTIME = "/run/user"
"""Below it each user has a folder that lasts until the machine stops. The variable for it could be set by a project."""


class Folders(Record):
    """Absolute paths."""

    home: str
    """The user's home folder."""
    state: str
    """Labels, approvals and the audit. Mode 0700."""
    config: str
    """The user's ``lockgate.yaml``."""


def _absolute(value: str | None, default: str) -> str:
    # The specification says that a relative path in these variables is to be ignored.
    return os.path.normpath(value) if value and os.path.isabs(value) else default


def home_folder(environ: Mapping[str, str]) -> str:
    """The user's home folder: ``HOME``; where it is not set, what the user database says.

    Raises:
        BadInputError: It is set, and empty or relative: programs differ in what they take that for. Or it is not set,
            and the user database does not know this user, as in many containers.
    """
    home = environ.get("HOME")
    if home is not None:
        if not os.path.isabs(home):
            raise BadInputError(f"HOME is {'relative' if home else 'empty'}: set it to your home folder, or unset it")
        return os.path.normpath(home)
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        says = f"HOME is not set, and the user database has no user {os.getuid()}"
        raise BadInputError(f"{says}: set HOME to your home folder") from None


def user_name() -> str:
    """This user's name as the system knows it; the number where it knows none, as in many containers.

    No variable is asked, as :func:`getpass.getuser` does: what is recorded in a person's name is what they are.
    """
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def folders(environ: Mapping[str, str] | None = None) -> Folders:
    """The folders for an environment, by default this process's own."""
    env = os.environ if environ is None else environ
    home = home_folder(env)
    state = _absolute(env.get("XDG_STATE_HOME"), os.path.join(home, ".local", "state"))
    config = _absolute(env.get("XDG_CONFIG_HOME"), os.path.join(home, ".config"))
    return Folders(home, os.path.join(state, "lockgate"), os.path.join(config, "lockgate"))


def outside_folders(state: str) -> tuple[str, str]:
    """The folders that tell of a state folder and must not be put back with it: beside it, and until the next start."""
    return os.path.join(os.path.dirname(state), _BESIDE), f"{RUNTIME}/{os.geteuid()}/lockgate"


def find_managed_folder() -> str:
    """The folder of the machine's administrator: layers for all users, and the fleet that the machine belongs to."""
    return "/Library/Application Support/lockgate" if sys.platform == "darwin" else "/etc/lockgate"


def home() -> str:
    """The user's home folder."""
    return folders().home


def state_dir() -> str:
    """The folder for labels, approvals and the audit."""
    return folders().state


def config_dir() -> str:
    """The folder for the user's ``lockgate.yaml``."""
    return folders().config
