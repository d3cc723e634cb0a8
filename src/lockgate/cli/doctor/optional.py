"""What ``lockgate doctor`` says of what not every machine has: people elsewhere, telemetry, and a fleet's policy."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any, Literal

import click

from lockgate.cli.approvals.key import read_chosen_key
from lockgate.cli.policy.files import public_key
from lockgate.clients.common.hook_command import CALL_TIMEOUT
from lockgate.configuration import load
from lockgate.configuration.bundles.fleet import Fleet, look
from lockgate.configuration.bundles.keys import NOT_INSTALLED
from lockgate.configuration.layers.files import may_be_in_fleet
from lockgate.core.errors import LockgateError, StoreError
from lockgate.gate.approvals import notifiers, waiting
from lockgate.gate.authors import whose_words
from lockgate.service.observability.process import only_exporter
from lockgate.service.observability.settings import TelemetrySettings, settings_of
from lockgate.store.opening import open_existing
from lockgate.system.libraries import is_installed, library

_HOOK_WAITS = CALL_TIMEOUT - 30
"""Seconds that a hook can wait at most, a little less than the client."""
Found = tuple[Literal["ok", "warn", "fail"], str, str]
"""How it is, what was seen, and how to mend it."""

_NAMED = 5
"""Approvers that are named."""


def people(project: str, state: str) -> Iterator[Found]:
    """Whether a person can be told, and what a headless session does where one is needed.

    Args:
        project: The project's folder.
        state: The state folder.
    """
    try:
        found = load.load_for_cli(project).options
    except LockgateError:
        return  # the configuration has a check of its own
    options = found.approvals or {}
    problems = list(_problems(options))
    for problem, mend in problems:
        yield "warn", problem, mend
    if not problems:
        waits = waiting.waits_for_person(state, options)
        does = "waits for lockgate approve" if waits else "is refused (to have it wait: docs/approvals-told.md)"
        yield "ok", f"in a headless session, a call that needs a person {does}", ""


def author_hosts(project: str) -> Iterator[Found]:
    """Which hosts the gate itself asks who wrote what an agent reads; none where nobody is trusted by author.

    Args:
        project: The project's folder.
    """
    try:
        trust = load.load_for_cli(project).options.trust
    except LockgateError:
        return  # the configuration has a check of its own
    hosts = whose_words.hosts_asked(trust)
    if not hosts:
        yield "ok", "no service is asked who wrote what: everybody is a stranger (docs/whose-words.md)", ""
        return
    yield "ok", f"the gate asks {', '.join(hosts)} who may write, with your log-in of gh", ""


def approver_keys(project: str) -> Iterator[Found]:
    """Whose keys have to sign a yes, and whether the person's own is among them.

    Args:
        project: The project's folder.
    """
    try:
        approvers = load.load_for_cli(project).options.approvers
    except LockgateError:
        return  # the configuration has a check of its own
    if approvers is None:
        yield "ok", "none are configured: a yes needs no signature (docs/approvers.md)", ""
        return
    names = [str(each["name"]) for each in approvers["keys"]]
    yield "ok", f"a yes must be signed by one of {len(names)}: {', '.join(names[:_NAMED])}", ""
    yield from _check_signing(approvers)


def _check_signing(approvers: Mapping[str, Any]) -> Iterator[Found]:
    """Whether what approvers sign can be verified here, and whether the person is one of them."""
    if not is_installed("cryptography"):
        yield "fail", NOT_INSTALLED, "until then no yes counts: nobody can verify what approvers have signed"
        return
    try:
        _, own = read_chosen_key()
    except click.ClickException:
        return  # not everybody approves
    names = [each["name"] for each in approvers["keys"] if public_key(each["key"]).raw == own.raw]
    if names:
        yield "ok", f"you sign answers as {names[0]}", ""
    else:
        mend = "give whoever keeps the configuration what `lockgate approvals key show` prints"
        yield "warn", "your key is not among the approvers: a yes of yours counts for nothing", mend


def _problems(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if command := options.get("notify_command"):
        program = os.path.expanduser(str(command[0]))
        if shutil.which(program, path=notifiers.PATH) is None:
            yield f"notify_command names {program}, which is not there", "give the program's whole path"
    if webhook := options.get("webhook"):
        yield from _webhook(webhook)
    if options.get("expire_seconds", 0) > _HOOK_WAITS:
        yield f"a hook waits {_HOOK_WAITS} s at most, and expire_seconds says more", "lower approvals.expire_seconds"


def _webhook(webhook: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not notifiers.is_safe(str(webhook.get("url", ""))):
        yield "the webhook's address is not https:// (http:// is for this machine only)", "change approvals.webhook.url"
    try:
        library("httpx")
    except ImportError:
        yield "the webhook takes the library httpx", "in a clone of Lockgate, run: pip install '.[judge]'"
    try:
        signed = bool(notifiers.secret_of(webhook))
    except LockgateError as error:
        yield f"no webhook is sent: {error}", "put the secret there"
        return
    if not signed:
        yield "the webhook is not signed: its receiver cannot tell who sends", "set secret_env or secret_keyring"


def telemetry(project: str, state: str) -> Iterator[Found]:
    """Whether what is configured can be done, and is.

    Args:
        project: The project's folder.
        state: The state folder.
    """
    try:
        said = load.load_for_cli(project).options.observability
    except LockgateError:
        return  # the configuration has a check of its own
    settings = settings_of(said, os.environ)
    if settings == TelemetrySettings():
        return
    wanted = [("prometheus_client", settings.metrics), ("opentelemetry", settings.otlp)]
    if any(asked is not None and find_spec(name) is None for name, asked in wanted):
        how = "in a clone of Lockgate, run: pip install '.[observability]'"
        yield "warn", "the libraries for it are not installed", how
    elif not _runs(state):
        yield "warn", "it is configured, and no exporter runs", "run: lockgate telemetry run (docs/observability.md)"
    else:
        yield "ok", "an exporter runs", ""


def _runs(state: str) -> bool:
    if not os.path.isdir(state):
        return False
    try:
        with only_exporter(state) as free:
            return not free
    except StoreError:
        return False


_MEND = "see docs/fleet-policy.md, and run: lockgate policy status"


def fleet(state: str) -> Iterator[Found]:
    """Whether the fleet's policy is in force. Nothing is said of a machine that belongs to no fleet.

    Args:
        state: The state folder.
    """
    if not may_be_in_fleet(state):
        return
    try:
        found = _look(state)
    except StoreError:
        return  # the state has a check of its own
    if found is None:
        return
    current = found.current
    if not is_installed("cryptography"):
        yield "fail", NOT_INSTALLED, "until then no new policy can be verified"
    for problem in found.problems:
        yield ("fail" if current is None else "warn"), str(problem), _MEND
    if current is not None and not found.problems:
        who = "the administrator's keys" if found.pins and found.pins.managed else "keys that this user has pinned"
        yield "ok", f"{current.fleet}/{current.serial} is in force and binds, by {who}", ""


def containers(state: str) -> Iterator[Found]:
    """Whether what is known of the containers is as this installation has written it.

    Args:
        state: The state folder.
    """
    from lockgate.service.containers.groups import Groups

    known = Groups(state)
    for name in known.find_unsealed():
        says = f"{name}: an older version or something else has written its file, so nothing is decided for it"
        yield "fail", says, f"run: lockgate serve groups rotate {name}, which shows it and asks"
    if found := known.all():
        yield "ok", f"decided for: {', '.join(found)}", ""


def _look(state: str) -> Fleet | None:
    store = open_existing(state)
    if store is None:
        return look(state, time.time())
    try:
        return look(state, store.clock(), store=store)
    finally:
        store.close()
