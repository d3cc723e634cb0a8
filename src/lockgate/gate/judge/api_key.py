"""Reads the key of the judge's endpoint from a variable or the system keyring. It is stored nowhere.

A keyring is slow, and may ask the person to unlock it. So a hook looks into it only when the judge is really asked;
that it gave no key is remembered for a while, and until then the judge counts as absent.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from lockgate.core.errors import JudgeError
from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.judge.settings import FOLDER, JudgeSettings, is_available, settings_of
from lockgate.system.digests import sha256
from lockgate.system.keyring import secret_in
from lockgate.system.libraries import is_installed
from lockgate.system.ownership import make_folders

if TYPE_CHECKING:
    from typing import Any

EXTRA = "a library is missing: install Lockgate with its extra judge (docs/judge.md)"
MISSING_SECONDS = 60.0
"""How long a keyring without a key is not looked into again."""
_SENDABLE = lazy_re(r"[!-~]{1,4096}")
"""What can stand in a header: visible ASCII."""


class ApiKey:
    """A key that shows itself to nobody but the endpoint."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Raises ``JudgeError`` where the text cannot be a key."""
        text = text.strip()
        if not _SENDABLE.fullmatch(text):
            raise JudgeError("the judge's key has characters that no key has")
        self._text = text

    def reveal(self) -> str:
        """The key itself, for the header that carries it."""
        return self._text

    def __repr__(self) -> str:
        return "Key(...)"

    def __reduce__(self) -> Any:
        raise TypeError("a key is not written anywhere")


def find_key(settings: JudgeSettings, environ: Mapping[str, str], state: str) -> ApiKey | None:
    """The key for an endpoint; ``None`` where it needs none and none is said.

    Args:
        settings: The judge.
        environ: Where the variable is looked for.
        state: The state folder: that the keyring has no key is remembered in it.

    Raises:
        JudgeError: There is none, or it cannot be one.
        KeyringError: The keyring cannot be asked.
    """
    text = environ.get(settings.key_env, "") if settings.key_env else ""
    if not text and settings.key_keyring:
        _remember(settings, state, missing=True)
        text = secret_in(settings.key_keyring)
        if text:
            _remember(settings, state, missing=False)
    if text:
        return ApiKey(text)
    if settings.needs_key:
        raise JudgeError("there is no key for the judge")
    return None


def can_be_asked(configured: Mapping[str, Any] | None, environ: Mapping[str, str], state: str) -> bool:
    """Whether the judge that the configuration describes may be asked on this machine.

    It is :func:`available`, its library is there, and its keyring gave a key when it was last asked.
    """
    return not why_not(configured, environ, state)


def why_not(configured: Mapping[str, Any] | None, environ: Mapping[str, str], state: str) -> str:
    """Why the judge cannot be asked, for a person; empty where it can."""
    try:
        settings = settings_of(configured)
    except JudgeError as error:
        return str(error)
    if not settings.enabled:
        return "it is turned off (judge.enabled)"
    if not is_available(settings, environ):
        return f"there is no key: {settings.key_env or 'judge.key_env'} is not set, and no keyring is named"
    if not is_installed("httpx"):
        return EXTRA
    if settings.needs_key and not environ.get(settings.key_env) and _gave_none(settings, state):
        return f"the system keyring gave no key for {settings.key_keyring}"
    return ""


def _gave_none(settings: JudgeSettings, state: str) -> bool:
    try:
        return 0 <= time.time() - os.stat(_note(settings, state)).st_mtime < MISSING_SECONDS
    except OSError:
        return False


def _note(settings: JudgeSettings, state: str) -> str:
    name = sha256(settings.key_keyring.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return os.path.join(state, FOLDER, f"no-key-{name}")


def _remember(settings: JudgeSettings, state: str, *, missing: bool) -> None:
    """An empty file says by its age when the keyring was last asked and gave no key."""
    path = _note(settings, state)
    try:
        if missing:
            make_folders(os.path.dirname(path))
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            os.utime(path)
        else:
            os.unlink(path)
    except OSError:
        return
