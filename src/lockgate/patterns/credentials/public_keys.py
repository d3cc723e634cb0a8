"""Keys that everybody may see, by what stands in them or beside them: they are remarked on, not hidden or refused.

Keys whose prefix says so (``pk_live_``) have rules of their own. Here are those that share their format with secrets.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_BEFORE, _BEHIND = 160, 240
"""Bytes beside a key that are looked at."""
_WEB_APP = lazy_re(rb"(?i)firebase|\bauthDomain\b|\bmessagingSenderId\b")
_SERVER = lazy_re(rb"(?i)(?:server|admin|private|fcm)[\w.-]{0,20}[\"'\s:=]{0,8}$")


def is_public(type_: str, data: bytes, start: int, end: int) -> bool:
    """Whether a value is public by design.

    Args:
        type_: Of the rule that found it.
        data: The text.
        start: Where the value stands in it.
        end: Where it ends.
    """
    judge = _JUDGES.get(type_)
    return judge is not None and judge(data, start, end)


def _is_anonymous(data: bytes, start: int, end: int) -> bool:
    """A token of Supabase whose role is ``anon``: https://supabase.com/docs/guides/api/api-keys."""
    from lockgate.patterns.validators.keys import claims_of

    claims = claims_of(data[start:end].decode("utf-8", "replace"))
    return claims.get("role") == "anon" and "supabase" in str(claims.get("iss", ""))


def _is_of_a_web_app(data: bytes, start: int, end: int) -> bool:
    """A key of Google in the configuration of a web app: https://firebase.google.com/docs/projects/api-keys."""
    before = data[max(0, start - _BEFORE) : start]
    beside = _WEB_APP.search(before) or _WEB_APP.search(data[end : end + _BEHIND])
    return beside is not None and _SERVER.search(before) is None


_JUDGES: dict[str, Callable[[bytes, int, int], bool]] = {
    "json_web_token": _is_anonymous,
    "supabase_token": _is_anonymous,
    "gcp_api_key": _is_of_a_web_app,
}
