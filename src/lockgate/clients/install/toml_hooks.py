"""Puts tables of hooks behind what a TOML file holds, and takes them out again so that it is as it was.

The client may write the file anew meanwhile, without remarks. Then the tables are known by the program that they start.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from lockgate.core.errors import InstallError

_BEGIN = (
    "\n# Hooks of Lockgate. What stands between this line and the last one of them is written by: lockgate install\n"
)
_END = "# The end of the hooks of Lockgate.\n"
_TABLE = "[[hooks]]"
_OWN = "lockgate/hook.py"
_TABLES = re.compile(r"^(?=[ \t]*\[)", re.MULTILINE)
"""Where a table begins, outside of texts of several lines."""


def put_in(text: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """The text with these hooks and no others of the gate.

    Raises:
        InstallError: The text is no TOML, or holds its hooks in a form that no table can be put behind.
    """
    wanted = list(entries)
    if [hook for hook in hooks_in(text) if _is_own(hook)] == wanted:
        return text
    after = take_out(text) + _BEGIN + "".join(map(_table, wanted)) + _END
    if [hook for hook in hooks_in(after) if _is_own(hook)] != wanted:
        raise InstallError("its hooks are not tables of the form [[hooks]]")
    return after


def take_out(text: str) -> str:
    """The text without the gate's hooks.

    Raises:
        InstallError: The text is no TOML, or something else than those hooks would be lost.
    """
    begin, end = text.find(_BEGIN), text.find(_END)
    bare = text[:begin] + text[end + len(_END) :] if 0 <= begin < end else text
    parts = _TABLES.split(bare)
    bare = "".join(part for part in parts if not (part.lstrip().startswith(_TABLE) and _OWN in part))
    before = _parse(text)
    others = [hook for hook in hooks_in(text) if not _is_own(hook)]
    expected = {key: value for key, value in before.items() if key != "hooks"} | ({"hooks": others} if others else {})
    if _parse(bare) not in (expected, {**expected, "hooks": others}):
        raise InstallError("the gate's hooks in it cannot be told from the rest: take them out by hand")
    return bare


def hooks_in(text: str) -> list[Any]:
    """The hooks in a text.

    Raises:
        InstallError: The text is no TOML.
    """
    found = _parse(text).get("hooks", [])
    return found if isinstance(found, list) else []


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InstallError(f"it is no TOML that hooks can be put into ({error})") from None


def _is_own(hook: Any) -> bool:
    return isinstance(hook, dict) and _OWN in str(hook.get("command"))


def _table(entry: Mapping[str, Any]) -> str:
    """An entry as a table. JSON spells texts and numbers as TOML does."""
    return "".join(
        [f"{_TABLE}\n", *(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in entry.items())]
    )
