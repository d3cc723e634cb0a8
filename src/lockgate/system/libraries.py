"""Imports optional libraries in a process that was started without them.

A hook runs with ``-S``, because looking through the environment costs more than most decisions. Lockgate's own folder
is then the only one that is searched: installed, that holds the libraries too; in a checkout it does not.
"""

from __future__ import annotations

import _imp
import os
import sys

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def library(name: str) -> Any:
    """Import a top-level library, looking through the whole environment only where it is not found otherwise.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return __import__(name)
    except ImportError:
        if not sys.flags.no_site:
            raise
        import site

        site.main()
        return __import__(name)


def is_installed(name: str) -> bool:
    """Whether a top-level package lies where :func:`library` would find it. Nothing of it is imported."""
    return name in sys.modules or any(os.path.isdir(os.path.join(folder, name)) for folder in _folders())


def extension(package: str, module: str) -> Any:
    """Load a native module of a package without the package's own code, which may cost more than the module does.

    Args:
        package: The top-level package that it lies in.
        module: Its name there.

    Raises:
        ImportError: It is not installed, or has no such native module.
    """
    name = f"{package}.{module}"
    if name in sys.modules:
        return sys.modules[name]
    for folder in _folders():
        for suffix in _imp.extension_suffixes():
            path = os.path.join(folder, package, module + suffix)
            if os.path.isfile(path):
                return _load(name, path)
    library(package)
    __import__(name)
    return sys.modules[name]


def _folders() -> list[str]:
    """Where packages are: the path of this process, and the environment that its interpreter belongs to."""
    environment = os.path.dirname(os.path.dirname(os.path.abspath(sys.executable)))
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return [*sys.path, os.path.join(environment, "lib", version, "site-packages")]


def _load(name: str, path: str) -> Any:
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import ExtensionFileLoader

    spec = ModuleSpec(name, ExtensionFileLoader(name, path), origin=path)
    made = _imp.create_dynamic(spec)
    _imp.exec_dynamic(made)
    return sys.modules.setdefault(name, made)
