"""Keeps the beginning of a result, so that a person can see what they endorse."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.model import ARRAY, OBJECT
from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.redaction.credentials import redact
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LINES = 20
"""How many lines of a result a person is shown."""
_MOST = 6000
"""Characters of these lines that are kept. Where they are longer, nobody is shown all of them, and nothing is kept."""
_KINDS = "image|picture|screenshot|audio|sound|video|media|pdf|parts|file|document|binary|base64|blob|data"
_UNREADABLE = lazy_re(
    # A long word in base64, or lines of it; then what stands for a picture where the client hands on no bytes.
    r"[A-Za-z0-9+/_-]{200}|(?m:(?:^[A-Za-z0-9+/]{60,}={0,2}\r?\n){3}"
    rf"|^\[(?i:{_KINDS}|image_data|source|not told|a record without a text)\b[^\]\n]*\]\r?$)"
    rf'|"type"\s*:\s*"(?:input_)?(?:{_KINDS})(?:_url)?"'
)
_KIND = lazy_re(rf"(?i:(?:input_|output_)?(?:{_KINDS})(?:_url)?)")
_BYTES = frozenset(
    {"attachments", "base64", "blob", "fileData", "file_data", "image_data", "image_url", "inlineData", "inline_data"}
)
"""Fields that hold a picture, a sound or a file, or say where it lies."""
_TEXT = frozenset(
    {
        "_meta",
        "annotations",
        "content",
        "isError",
        "meta",
        "mimeType",
        "output",
        "resource",
        "result",
        "text",
        "type",
        "uri",
    }
)
"""Fields of a result of which nothing but the text is shown to the model."""
_TEXT_TYPES = ("text/", "application/json", "application/xml")


def is_all_text(tool: str, result: Any) -> bool:
    """Whether the text of a result is all that the model sees of it: no picture, sound, file, and nothing unknown.

    Args:
        tool: The tool, in the words of the analysis.
        result: The client's record: a text, content blocks, or any JSON value.
    """
    if isinstance(result, str):
        return True
    from lockgate.analysis.tools import list_known_tools

    # The records of a client's own tools have fields that are for its screen. Of others nothing is known.
    own = tool == "Bash" or tool in list_known_tools()
    todo = [result]
    while todo:
        item = todo.pop()
        if isinstance(item, OBJECT):
            if _holds_bytes(item) or not (own or _TEXT.issuperset(item)):
                return False
            todo.extend(item.values())
        elif isinstance(item, ARRAY):
            todo.extend(item)
        elif not (own or item is None or isinstance(item, str | bool)):
            return False  # numbers can spell a text
    return True


def _holds_bytes(item: Mapping[str, Any]) -> bool:
    kind, media = item.get("type"), item.get("mimeType", item.get("media_type"))
    return (
        any(item[name] for name in _BYTES.intersection(item))
        or item.get("isImage") is True
        or (isinstance(kind, str) and _KIND.fullmatch(kind) is not None)
        or (isinstance(media, str) and not media.startswith(_TEXT_TYPES))
    )


def make_excerpt(text: str) -> dict[str, Any]:
    """What is kept of a result so that a person can be shown what they endorse.

    Nothing is kept where its lines are too long, or where it holds what nobody can read, as a picture in base64.

    Args:
        text: The whole result as it enters the context, without secrets.
    """
    lines = text.split("\n")
    shown = "\n".join(lines[:LINES])
    if not shown.strip() or len(shown) > _MOST or _UNREADABLE.search(text):
        return {}
    return {
        "text": redact(shown),
        "lines": len(lines),
        "digest": sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    }
