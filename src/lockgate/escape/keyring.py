"""Secrets of Lockgate's own in the system's keyring: Keychain, Secret Service, or what the library keyring finds."""

from __future__ import annotations

from lockgate.errors import KeyringError
from lockgate.libraries import library

USER = "lockgate"
"""The name under which a secret stands in a service."""


def secret_in(service: str) -> str:
    """The secret in a service; empty where there is none. Blocks while the person is asked to unlock the keyring.

    Raises:
        KeyringError: The keyring cannot be asked.
    """
    try:
        found = library("keyring").get_password(service, USER)
    except ImportError:
        how = "in a clone of Lockgate, pip install '.[judge]'"
        raise KeyringError(f"the system keyring takes the library keyring: {how}") from None
    except Exception as error:  # noqa: BLE001 - the libraries under it raise what they like
        # Their texts may name what they found.
        raise KeyringError(f"the system keyring cannot be asked ({type(error).__name__})") from None
    return found if isinstance(found, str) else ""
