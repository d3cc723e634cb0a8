"""Loads a plugin from a file that may be trusted. It runs exactly the bytes that it has checked."""

from __future__ import annotations

import os
import stat
import sys
from types import ModuleType
from typing import Any

from lockgate.core.display_text import visible
from lockgate.core.errors import PluginError
from lockgate.core.record import Record
from lockgate.system.digests import sha256
from lockgate.system.files import open_regular, read_open

MOST_BYTES = 1_000_000
"""The largest file that is loaded."""
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class PluginCode(Record):
    """A plugin's file as it is now."""

    path: str
    data: bytes
    digest: str
    """SHA-256, hexadecimal."""


def is_file(entry: str) -> bool:
    """Whether an entry of the configuration names a file, and not an entry point."""
    return "/" in entry or entry.startswith("~") or entry.endswith(".py")


def path_of(entry: str, home: str, base: str) -> str:
    """The absolute path that an entry names.

    Args:
        entry: As the configuration has it.
        home: The user's home folder.
        base: The folder of the configuration file; empty where it comes from a program.

    Raises:
        PluginError: It is relative, and there is no file that it is relative to; or it is another user's ``~name``.
    """
    if entry == "~" or entry.startswith("~/"):
        return os.path.normpath(home + entry[1:])
    if entry.startswith("~"):
        raise PluginError("only your own home folder is known by `~`")
    if os.path.isabs(entry):
        return os.path.normpath(entry)
    if not base:
        raise PluginError("its path is relative, and no configuration file says to which folder")
    return os.path.normpath(os.path.join(base, entry))


def read(path: str) -> PluginCode:
    """Read a plugin's file, where nobody but its owner can have changed it.

    Raises:
        PluginError: It is not there, or others than the user and the administrator could have changed it.
    """
    try:
        # Where a link leads is what is run, and what has to be safe.
        real = os.path.realpath(path)
        for link in dict.fromkeys((path, real)):
            _check_folders(os.path.dirname(link))
        descriptor = open_regular(real, follow=False)
        try:
            _check(os.fstat(descriptor), "the file", _OTHERS)
            data = read_open(descriptor, MOST_BYTES)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise PluginError("there is no such file") from None
    except (OSError, ValueError) as error:
        raise PluginError(
            f"it cannot be read: {getattr(error, 'strerror', None) or 'its path cannot be one'}"
        ) from None
    return PluginCode(path, data, sha256(data).hexdigest())


def _check_folders(folder: str) -> None:
    """Whether nobody else can put another file in the place of one in this folder."""
    _check(os.stat(folder), "its folder", _OTHERS, sticky=True)
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        # Above it a group may write, as in a home folder whose group is the user's own.
        _check(os.stat(folder), "a folder above it", stat.S_IWOTH, sticky=True)


def _check(found: os.stat_result, what: str, others: int, *, sticky: bool = False) -> None:
    if found.st_uid not in (os.geteuid(), 0):
        raise PluginError(f"{what} belongs to another user")
    # In a folder with the sticky bit others can add files, but not replace this one.
    if found.st_mode & others and not (sticky and found.st_mode & stat.S_ISVTX):
        raise PluginError(f"others can write to {what}: chmod go-w")


def load(code: PluginCode) -> Any:
    """Run a plugin's file as a module. Raises whatever it raises."""
    name = f"lockgate_plugin_{code.digest[:16]}"
    module = ModuleType(name)
    module.__file__ = code.path
    # Known by its name, as other modules are: classes that it defines look for themselves there.
    sys.modules[name] = module
    try:
        exec(compile(code.data, code.path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - a person's own
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def stem(path: str) -> str:
    """What a file's plugin is called."""
    return visible(os.path.basename(path).removesuffix(".py"), 60)
