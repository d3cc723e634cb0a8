"""Turns what a plugin returned into one value, or a complaint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lockgate.configuration.plugins.model import HookDecision
from lockgate.core.display_text import visible
from lockgate.core.errors import PluginError
from lockgate.core.model import Verdict

LONGEST_REASON = 1000
"""Characters of a reason that are kept."""
_VERDICTS = {"": Verdict.ALLOW, "allow": Verdict.ALLOW, "ask": Verdict.ASK, "deny": Verdict.DENY}


def verdict_of(returned: Any) -> tuple[Verdict, str]:
    """The verdict (``ALLOW`` is no statement) and the reason of what a plugin returned.

    Raises:
        PluginError: It is nothing that a plugin may return; the message says what is wrong with it.
    """
    if returned is None:
        return Verdict.ALLOW, ""
    # A class of the plugin's own could answer otherwise each time it is asked.
    if type(returned) is HookDecision:
        given: Mapping[str, Any] = returned._asdict()
    elif isinstance(returned, dict):
        given = dict.copy(returned)
    else:
        raise PluginError(f"it returned {_kind_of(returned)}, not a HookDecision, a dictionary or None")
    return _verdict(given), _reason(given.get("reason"))


def _verdict(given: Mapping[str, Any]) -> Verdict:
    for key in given:
        if type(key) is not str:
            raise PluginError(f"it returned a key that is {_kind_of(key)}")
        if key not in ("decision", "allowed", "reason"):
            raise PluginError(f"it returned the unknown key {visible(repr(key), 60)}")
    allowed, decision = given.get("allowed", True), given.get("decision", "")
    # Nothing but true and false: `"false"` is true to Python, and was meant otherwise.
    if allowed is not True and allowed is not False:
        raise PluginError(f"`allowed` is {_kind_of(allowed)}, not true or false")
    word = str.__str__(decision) if isinstance(decision, str) else None
    if word is None or word not in _VERDICTS:
        shown = _kind_of(decision) if word is None else visible(repr(word), 60)
        raise PluginError(f"`decision` is {shown}, not 'deny', 'ask' or 'allow'")
    if allowed or word == "ask":
        return _VERDICTS[word]
    return Verdict.DENY


def _reason(reason: Any) -> str:
    if reason is None:
        return ""
    if not isinstance(reason, str):
        raise PluginError(f"`reason` is {_kind_of(reason)}, not a text")
    return visible(str.__str__(reason).strip(), LONGEST_REASON)


def _kind_of(value: Any) -> str:
    """What kind of value it is, without asking the value for anything."""
    name = visible(type(value).__name__, 60)
    return f"an {name}" if name[:1] in "aeiouAEIOU" else f"a {name}"
