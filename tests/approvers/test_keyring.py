"""A secret out of the system's keyring, for a webhook: there, not there, and a keyring that fails."""

from __future__ import annotations

import os
import pwd
import sys
from types import ModuleType

import pytest

from lockgate.core.errors import ApprovalError, KeyringError, LockgateError
from lockgate.gate.approvals.notifiers import secret_of
from lockgate.system.keyring import secret_in

SECRET = "kept-in-the-keyring"
WEBHOOK = {"url": "https://hooks.example.com/", "secret_keyring": "lockgate-webhook"}


def hold(monkeypatch: pytest.MonkeyPatch, held: object) -> None:
    """Stand in for the library, with one value in the service of :data:`WEBHOOK`."""

    def get_password(service: str, user: str) -> object:
        if isinstance(held, Exception):
            raise held
        return held if (service, user) == ("lockgate-webhook", "lockgate") else None

    made = ModuleType("keyring")
    made.get_password = get_password  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", made)


def test_a_secret_of_a_webhook(monkeypatch: pytest.MonkeyPatch) -> None:
    hold(monkeypatch, SECRET)
    assert secret_of(WEBHOOK) == SECRET
    assert secret_in("another service") == ""


def test_no_variable_says_which_keyring_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {
        "PYTHON_KEYRING_BACKEND": "evil.Keyring",
        "KEYRING_PROPERTY_HOST": "e.example",
        "XDG_CONFIG_HOME": "/project",
        "XDG_DATA_HOME": "/project",
        "HOME": "/project",
    }
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    seen: dict[str, str] = {}
    made = ModuleType("keyring")
    made.get_password = lambda *_: seen.update(os.environ)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", made)
    assert secret_in("lockgate-webhook") == ""
    assert seen["HOME"] == pwd.getpwuid(os.getuid()).pw_dir
    assert named.keys() & seen.keys() == {"HOME"}
    assert named.items() <= os.environ.items(), "and they are as they were"


@pytest.mark.parametrize(
    ("held", "error", "told"),
    [
        pytest.param(None, ApprovalError, "no secret of lockgate for lockgate-webhook", id="none"),
        pytest.param("", ApprovalError, "no secret", id="empty"),
        pytest.param(b"bytes", ApprovalError, "no secret", id="no text"),
        pytest.param(RuntimeError(f"locked; it holds {SECRET}"), KeyringError, r"asked \(RuntimeError\)", id="locked"),
        pytest.param(ModuleNotFoundError("keyring"), KeyringError, r"pip install '\.\[judge\]'", id="no library"),
    ],
)
def test_without_it_nothing_is_sent(
    monkeypatch: pytest.MonkeyPatch, held: object, error: type[LockgateError], told: str
) -> None:
    hold(monkeypatch, held)
    with pytest.raises(error, match=told) as raised:
        secret_of(WEBHOOK)
    assert SECRET not in str(raised.value)
