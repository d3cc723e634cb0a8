"""What ``lockgate doctor`` says of asking a person who is elsewhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from lockgate.clients.common.hook_command import CALL_TIMEOUT
from lockgate.configuration import load as configuration
from lockgate.core.errors import LockgateError
from lockgate.gate.approvals import notifiers as notifying
from lockgate.gate.approvals import waiting
from lockgate.system.libraries import library

_HOOK_WAITS = CALL_TIMEOUT - 30
"""Seconds that a hook can wait at most, a little less than the client."""
Found = tuple[Literal["ok", "warn"], str, str]
"""How it is, what was seen, and how to mend it."""


def people(project: str, state: str) -> Iterator[Found]:
    """Whether a person can be told, and what a headless session does where one is needed.

    Args:
        project: The project's folder.
        state: The state folder.
    """
    try:
        options = configuration.load_for_cli(project).options.approvals or {}
    except LockgateError:
        return  # the configuration has a check of its own
    problems = list(_problems(options))
    for problem, mend in problems:
        yield "warn", problem, mend
    if not problems:
        waits = waiting.attended(state, options)
        does = "waits for lockgate approve" if waits else "is refused (to have it wait: docs/approvals.md)"
        yield "ok", f"in a headless session, a call that needs a person {does}", ""


def _problems(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if command := options.get("notify_command"):
        program = os.path.expanduser(str(command[0]))
        if shutil.which(program, path=notifying.PATH) is None:
            yield f"notify_command names {program}, which is not there", "give the program's whole path"
    if webhook := options.get("webhook"):
        yield from _webhook(webhook)
    if options.get("expire_seconds", 0) > _HOOK_WAITS:
        yield f"a hook waits {_HOOK_WAITS} s at most, and expire_seconds says more", "lower approvals.expire_seconds"


def _webhook(webhook: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not notifying.is_safe(str(webhook.get("url", ""))):
        yield "the webhook's address is not https:// (http:// is for this machine only)", "change approvals.webhook.url"
    try:
        library("httpx")
    except ImportError:
        yield "the webhook takes the library httpx", "in a clone of Lockgate, run: pip install '.[judge]'"
    try:
        signed = bool(notifying.secret_of(webhook))
    except LockgateError as error:
        yield f"no webhook is sent: {error}", "put the secret there"
        return
    if not signed:
        yield "the webhook is not signed: its receiver cannot tell who sends", "set secret_env or secret_keyring"
