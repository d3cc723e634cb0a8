"""Reads the judge's configuration, and tells whether the judge can be asked.

Every hook of a profile that names a judge asks :func:`is_available`, so nothing here imports a library.
"""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.core.errors import JudgeError
from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.loopback import is_loopback

if TYPE_CHECKING:
    from typing import Any

ANTHROPIC_MODEL = "claude-haiku-5-5"
"""A small, fast Claude model (https://platform.claude.com/docs/en/models/haiku-5-5/whats-new-haiku-5-5, 2026-10)."""
TIMEOUT_SECONDS = 8.0
MAX_CONCURRENT = 4
CACHE_SECONDS = 3600
FOLDER = "judge"
"""The folder in the state folder with what is remembered of asking."""

_ADDRESSES = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
_KEY_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
_ADDRESS = lazy_re(r"(https?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?\Z")


class JudgeSettings(Record):
    """The judge that a configuration describes. It holds no key."""

    api: str = "anthropic"
    """The wire format: ``anthropic`` or ``openai``."""
    model: str = ANTHROPIC_MODEL
    base_url: str = _ADDRESSES["anthropic"]
    """Without a slash at its end."""
    key_env: str = _KEY_VARIABLES["anthropic"]
    """The variable that holds the key; empty where the endpoint gets none from a variable."""
    key_keyring: str = ""
    """The service in the system keyring; asked where the variable is empty."""
    timeout_seconds: float = TIMEOUT_SECONDS
    max_concurrent: int = MAX_CONCURRENT
    cache_seconds: int = CACHE_SECONDS
    ca_file: str = ""
    """A PEM file of certificates to trust instead of the usual ones; empty for those."""
    proxy: str = ""
    """Through which proxy the endpoint is reached; empty for none."""
    enabled: bool = True

    @property
    def needs_key(self) -> bool:
        """Whether an endpoint is elsewhere, where nobody is answered without a key."""
        return not is_here(self.base_url)

    @property
    def host(self) -> str:
        """The endpoint's host, and port where one is said, for a person."""
        return self.base_url.partition("://")[2].partition("/")[0]


def settings_of(configured: Mapping[str, Any] | None) -> JudgeSettings:
    """The judge that the configuration's ``judge`` describes; the schema has checked each value by itself.

    A key from a default variable is sent to its own provider only: whoever names another address names the key too.

    Raises:
        JudgeError: The values do not go together.
    """
    said = {name: value for name, value in (configured or {}).items() if not name.startswith("_")}
    api = said.get("api", "anthropic")
    base_url = said.get("base_url", _ADDRESSES[api]).rstrip("/")
    if "model" not in said and api != "anthropic":
        raise JudgeError(f"judge.model is needed with api: {api}")
    _check_address(base_url)
    if said.get("proxy"):
        _check_address(said["proxy"].rstrip("/"), "judge.proxy", plain=True)
        if base_url.startswith("http://"):
            raise JudgeError("judge.proxy would carry the question in clear: judge.base_url must begin with https://")
    given = {"api": api, "model": ANTHROPIC_MODEL, "key_env": "", **said, "base_url": base_url}
    if base_url == _ADDRESSES[api] and "key_keyring" not in said:
        given["key_env"] = said.get("key_env", _KEY_VARIABLES[api])
    return JudgeSettings(**{**given, "timeout_seconds": float(given.get("timeout_seconds", TIMEOUT_SECONDS))})


def _check_address(address: str, name: str = "judge.base_url", *, plain: bool = False) -> None:
    found = _ADDRESS.match(address)
    if found is None:
        raise JudgeError(f"{name} must be an address with a host and a path, and nothing else: no name, key or query")
    if found[1] == "http" and not plain and not is_here(address):
        raise JudgeError(f"{name} must begin with https://, because it is not on this machine")


def is_here(address: str) -> bool:
    """Whether an address is one of this machine."""
    found = _ADDRESS.match(address)
    return found is not None and is_loopback(found[2].lower().strip("[]"))


def is_available(settings: JudgeSettings, environ: Mapping[str, str]) -> bool:
    """Whether the judge may be asked: it is enabled, and a key is there or not needed.

    The keyring is not looked into: it can take seconds, and a question to the person. Where one is named, it is
    believed to hold the key; :mod:`lockgate.gate.judge.api_key` remembers where it does not.
    """
    if not settings.enabled:
        return False
    return not settings.needs_key or bool(environ.get(settings.key_env)) or bool(settings.key_keyring)
