"""Notifies a person that a question waits: by a program of theirs, or a webhook.

This runs in a process of its own (:mod:`lockgate.gate.approvals.notify_process`), which outlives the hook that started
it and which no hook waits for. A question can be told of twice, where a hook was ended and started again: its
``approval`` is the same then.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from lockgate.core.errors import ApprovalError
from lockgate.resources.loopback import is_loopback
from lockgate.system.keyring import USER, secret_in
from lockgate.system.libraries import library

COMMAND_SECONDS = 30.0
"""How long a person's program may take before it is ended."""
POST_SECONDS = 10.0
"""How long a server may take to answer."""
ATTEMPTS = 8
FIRST_PAUSE = 1.0
"""Seconds after the first failure; each further pause is twice as long, a little more or less."""
LONGEST_PAUSE = 60.0

PATH = "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin:/usr/sbin:/sbin"
"""Where a person's program is looked for: not where an environment says, which a project can set for a hook."""
_PASSED = (
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
)
"""Variables that a person's program gets: what reaches their desktop, and nothing that could be a secret."""
_HERE = {"DISPLAY": (":", "unix:", "unix/", "/private/", "localhost:"), "DBUS_SESSION_BUS_ADDRESS": ("unix:",)}
"""How those begin that lead to this machine: another display sees the question, and an address of D-Bus can name a
program to run."""
_AGAIN = frozenset({408, 425, 429})
"""Statuses below 500 after which it is tried again."""

Goes = Callable[[], bool]
"""Whether the question is still open."""


def run_command(argv: Sequence[str], message: Mapping[str, Any], *, seconds: float = COMMAND_SECONDS) -> None:
    """Run a person's program, with the question as JSON on its standard input. No shell reads its arguments.

    Raises:
        ApprovalError: It cannot be run, fails, or takes too long; then it is ended with all its children.
    """
    environment = {name: os.environ[name] for name in _PASSED if name in os.environ and _is_here(name)}
    try:
        process = subprocess.Popen(  # noqa: S603 - the person's own configuration names it
            [os.path.expanduser(argv[0]), *argv[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**environment, "PATH": PATH},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ApprovalError(f"notify_command cannot be run: {getattr(error, 'strerror', None) or error}") from error
    try:
        process.communicate(json.dumps(message).encode() + b"\n", timeout=seconds)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise ApprovalError(f"notify_command took longer than {seconds:g} s") from error
    if process.returncode:
        raise ApprovalError(f"notify_command ended with status {process.returncode}")


def _is_here(name: str) -> bool:
    """Whether a variable leads nowhere else than to this machine; D-Bus tries several addresses in turn."""
    return name not in _HERE or all(each.startswith(_HERE[name]) for each in os.environ[name].split(";"))


def post(
    webhook: Mapping[str, Any],
    message: Mapping[str, Any],
    goes: Goes = lambda: True,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Send the question to a server, again and again as long as it is open and the server fails.

    Args:
        webhook: The configuration's ``webhook``.
        message: The question.
        goes: Whether it is still open.
        sleep: Waits between two attempts.

    Returns:
        How many attempts it took.

    Raises:
        ApprovalError: It was not delivered.
        KeyringError: It cannot be signed, because the keyring cannot be asked.
    """
    url = str(webhook["url"])
    if not is_safe(url):
        raise ApprovalError("the webhook's address must begin with https://; http:// is for this machine only")
    secret = secret_of(webhook)
    body = json.dumps(message, separators=(",", ":")).encode()
    httpx = _httpx()
    problem = "the question was answered before"
    # No proxy and no certificates that the agent's environment names, and no address but this one.
    with httpx.Client(timeout=POST_SECONDS, follow_redirects=False, trust_env=False) as client:
        for attempt, pause in enumerate(_pauses(), 1):
            if not goes():
                break
            try:
                status = client.post(url, content=body, headers=_headers(message, body, secret)).status_code
            except httpx.HTTPError as error:
                problem = f"the webhook cannot be reached ({type(error).__name__})"
            else:
                if 200 <= status < 300:
                    return attempt
                problem = f"the webhook answered with status {status}"
                if status < 500 and status not in _AGAIN:
                    break
            sleep(pause)
    raise ApprovalError(problem)


def _httpx() -> Any:
    try:
        return library("httpx")
    except ImportError as error:
        how = "in a clone of Lockgate, pip install '.[judge]'"
        raise ApprovalError(f"a webhook takes the library httpx: {how}") from error


def _pauses() -> Iterator[float]:
    pause = FIRST_PAUSE
    for _ in range(ATTEMPTS):
        yield pause * random.uniform(0.8, 1.2)  # noqa: S311 - so that many do not come at once
        pause = min(pause * 2, LONGEST_PAUSE)


def _headers(message: Mapping[str, Any], body: bytes, secret: str) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "lockgate",
        "X-Lockgate-Event": str(message["type"]),
        "X-Lockgate-Delivery": str(message["approval"]),
    }
    if secret:
        headers["X-Lockgate-Signature"] = signature(secret, body, int(time.time()))
    return headers


def signature(secret: str, body: bytes, at: int) -> str:
    """What proves that a message is Lockgate's, and when it was sent: HMAC-SHA-256 over time, a dot, and the body.

    Args:
        secret: Known to Lockgate and the server.
        body: The bytes of the message.
        at: Seconds since the epoch.
    """
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def is_safe(url: str) -> bool:
    """Whether nobody on the way can read what is sent to an address: HTTPS, or a server on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))


def secret_of(webhook: Mapping[str, Any]) -> str:
    """The secret that signs messages, empty where the configuration names none.

    Raises:
        ApprovalError: It names one that is not there: an unsigned message would be taken for a forged one.
        KeyringError: The keyring cannot be asked.
    """
    if name := webhook.get("secret_env"):
        secret = os.environ.get(str(name), "")
        if not secret:
            raise ApprovalError(f"the webhook's secret is not in the variable {name}")
        return secret
    if service := webhook.get("secret_keyring"):
        secret = secret_in(str(service))
        if not secret:
            raise ApprovalError(f"the system keyring has no secret of {USER} for {service}")
        return secret
    return ""
