"""Tokens for programs. The store keeps their hashes; the person who makes a token sees it once.

A token is 256 random bits, so that its plain SHA-256 cannot be turned back; nothing slower is needed, as it would be
for a password.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from typing import Any, Literal, cast

from lockgate.core.errors import LockgateError
from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.core.record import Record
from lockgate.store.audit.record import event_record
from lockgate.store.protocol import Store, Transaction

Scope = Literal["read", "approve"]

_SETTING = "dashboard:token:"
_PREFIX = "lgt"
_FORM = re.compile(r"lgt_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
_NOBODY = "0" * 64


class Token(Record):
    """A token as it is kept."""

    id: str
    name: str
    scope: Scope
    digest: str
    """SHA-256 of the token, hexadecimal."""
    created_at: float


def add(store: Store, name: str, scope: Scope) -> str:
    """Make a token and keep its hash; returns the token.

    Raises:
        LockgateError: The name cannot be one, or is taken.
        StoreError: The store cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise LockgateError("a token's name has letters, digits, spaces, dots, hyphens and underscores, 64 at most")
    key = secrets.token_hex(8)
    token = f"{_PREFIX}_{key}_{secrets.token_urlsafe(32)}"
    with store.transaction() as tx:
        if any(each.name == name for each in all_of(tx)):
            raise LockgateError(f"there is a token named {name} already")
        kept = {"name": name, "scope": scope, "sha256": _digest(token), "created_at": time.time()}
        tx.put_setting(_SETTING + key, json.dumps(kept))
        tx.append_audit(store.clock(), _record("token-added", name, scope))
    return token


def remove(store: Store, name: str) -> bool:
    """Forget a token: whoever has it is out at once. Returns whether there was one."""
    with store.transaction() as tx:
        found = [each for each in all_of(tx) if name in (each.name, each.id)]
        for each in found:
            tx.put_setting(_SETTING + each.id, None)
            tx.append_audit(store.clock(), _record("token-removed", each.name, each.scope))
    return bool(found)


def _record(event: str, name: str, scope: Scope) -> dict[str, Any]:
    return event_record(Context("cli", Subject("")), event, {"name": name, "scope": scope})


def all_of(tx: Transaction) -> list[Token]:
    """All tokens. One that cannot be read is left out: it opens nothing."""
    kept = tx.settings(_SETTING)
    return [token for name, value in kept.items() if (token := _token(name.removeprefix(_SETTING), value)) is not None]


def find(tx: Transaction, given: str) -> Token | None:
    """The token's record; ``None`` for an unknown one. How long that takes reveals nothing of what is kept."""
    form = _FORM.fullmatch(given)
    value = tx.setting(_SETTING + form[1]) if form else None
    token = _token(form[1], value) if form and value is not None else None
    right = hmac.compare_digest(_digest(given), token.digest if token is not None else _NOBODY)
    return token if right else None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _token(key: str, value: str) -> Token | None:
    try:
        kept = json.loads(value)
        scope = cast(Scope, kept["scope"])
        if scope not in ("read", "approve") or len(kept["sha256"]) != len(_NOBODY):
            return None
        return Token(key, str(kept["name"]), scope, str(kept["sha256"]), float(kept["created_at"]))
    except (ValueError, TypeError, KeyError):
        return None
