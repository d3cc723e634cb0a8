"""Puts the harmless options of a compiled entry into one text: most options are, and a text is read much faster."""

from __future__ import annotations

from typing import Any

from lockgate.shell.knowledge.lookup import SUFFIXES

_WRITTEN = {words: suffix for suffix, words in SUFFIXES.items()}


def packed(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry, and all below it, as `lockgate.shell.knowledge.lookup` reads it back."""
    result = dict(entry)
    if "commands" in entry:
        result["commands"] = {
            name: packed(below) if isinstance(below, dict) else below for name, below in entry["commands"].items()
        }
    harmless = {name: words for name, (role, words) in entry.get("options", {}).items() if _fits(name, role, words)}
    if harmless:
        result["local"] = " ".join(name + _WRITTEN[words] for name, words in harmless.items())
        result["options"] = {name: meaning for name, meaning in entry["options"].items() if name not in harmless}
        if not result["options"]:
            del result["options"]
    return result


def _fits(name: str, role: str, words: int) -> bool:
    return role == "local" and words in _WRITTEN and "=" not in name and " " not in name
