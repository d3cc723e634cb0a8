"""Describes a question as JSON for whoever is notified, and starts the process that notifies them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping

from lockgate.core.model import REACHING
from lockgate.core.record import TYPE_CHECKING
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.store.rows import ApprovalRow
from lockgate.system import caller
from lockgate.system.folders import Folders
from lockgate.system.timestamps import utc

if TYPE_CHECKING:
    from typing import Any

    from lockgate.core.questions import PersonQuestion

_PROGRAM = os.path.join(PACKAGE_FOLDER, "gate", "approvals", "notify_process.py")
_REACHING = frozenset(kind.value for kind in REACHING)
_COPIED = (
    "cwd",
    "tool",
    "input",
    "labels",
    "column",
    "profile",
    "reasons",
    "effects",
    "effects_omitted",
    "provenance",
    "guardrail",
)


def start(where: Folders, question: PersonQuestion) -> None:
    """Start to notify a person of a question, if that is configured. Never raises, and never waits.

    The home folder is the gate's: that of the caller's environment may be a project's word, and the person's program is
    looked for there (``~/bin/tell-me``), as are that program's own settings.
    """
    options = question.options or {}
    if not options.get("notify_command") and not options.get("webhook"):
        return
    import subprocess
    from contextlib import suppress

    told = json.dumps({"approval": question.approval, "options": dict(options)})
    argv = [sys.executable, "-I", "-S", _PROGRAM, where.state]
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(  # noqa: S603 - this package's own program
            argv,
            input=told.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**caller.environ(), "HOME": where.home},
            check=False,
            timeout=10,
        )


def reaches(effect: Mapping[str, Any]) -> bool:
    """Whether an effect, as a question or a record tells it, names whom the call talks to; also one in a script."""
    return str(effect.get("kind") or effect.get("row")).partition("_")[0] in _REACHING


def facts(row: ApprovalRow) -> dict[str, Any]:
    """What may leave this machine of a question: credentials are taken out, contents of files are named by hash.

    Args:
        row: The question.
    """
    about: Mapping[str, Any] = row.about
    return {
        "approval": row.approval,
        "state": row.state,
        "asked_at": utc(row.asked_at),
        "expires_at": utc(row.expires_at),
        "client": row.client,
        "session": row.session,
        "agent": row.agent,
        "digest": row.digest,
        **{name: about[name] for name in _COPIED if name in about},
    }


def message(row: ApprovalRow) -> dict[str, Any]:
    """What a program or a server is told of a new question."""
    return {
        "type": "approval.asked",
        "version": 1,
        **facts(row),
        "commands": {
            "show": f"lockgate approvals show {row.approval}",
            "approve": f"lockgate approve {row.approval}",
            "deny": f"lockgate deny {row.approval}",
        },
    }
