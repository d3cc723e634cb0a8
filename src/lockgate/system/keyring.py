"""Reads Lockgate's secrets from the system's keyring: Keychain, Secret Service, or the library keyring's."""

from __future__ import annotations

import os
from contextlib import contextmanager
from threading import Lock

from lockgate.core.errors import KeyringError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.folders import home_folder
from lockgate.system.libraries import library

if TYPE_CHECKING:
    from collections.abc import Iterator

USER = "lockgate"
"""The name under which a secret stands in a service."""

_CHOOSE = ("KEYRING_PROPERTY_", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
"""How the names of variables begin by which the library is told where its settings are, and what a keyring is to do."""
_BACKEND = "PYTHON_KEYRING_BACKEND"
_BACKENDS = ("keyring.backends.", "keyrings.")
"""How the names of keyrings begin. The library imports whatever module the variable names."""
_ENVIRONMENT = Lock()


def secret_in(service: str) -> str:
    """The secret in a service; empty where there is none. Blocks while the person is asked to unlock the keyring.

    Raises:
        KeyringError: The keyring cannot be asked.
    """
    try:
        with _use_own_settings():
            found = library("keyring").get_password(service, USER)
    except ImportError:
        how = "in a clone of Lockgate, pip install '.[judge]'"
        raise KeyringError(f"the system keyring takes the library keyring: {how}") from None
    except Exception as error:  # noqa: BLE001 - the libraries under it raise what they like
        # Their texts may name what they found.
        raise KeyringError(f"the system keyring cannot be asked ({type(error).__name__})") from None
    return found if isinstance(found, str) else ""


@contextmanager
def _use_own_settings() -> Iterator[None]:
    """Make the library read its settings from this user's folder: they name code that it loads.

    A hook has variables that a project can set.
    """
    with _ENVIRONMENT:
        foreign = not os.environ.get(_BACKEND, "").startswith(_BACKENDS)
        chosen = (*_CHOOSE, "HOME", _BACKEND) if foreign else (*_CHOOSE, "HOME")
        before = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(chosen)}
        os.environ["HOME"] = home_folder({})
        try:
            yield
        finally:
            del os.environ["HOME"]
            os.environ.update(before)
