"""Making untrusted text safe to show: in a terminal, in a message to an agent, in a log line."""

from __future__ import annotations

from lockgate.lazy import lazy_re
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re

# C0 and C1 controls, DEL, line and paragraph separators, zero-width and bidirectional marks, tag characters,
# variation selectors, the soft hyphen, surrogates: all that moves a cursor, hides text or changes its direction.
_UNSAFE = lazy_re(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]",
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def visible(text: str, limit: int = 400) -> str:
    """Show text on one line: what could move a cursor, hide or reorder text is written as an escape.

    Args:
        text: Any text; it may come from an attacker.
        limit: The most characters returned; longer text is cut in the middle and says by how much.
    """
    shown = _UNSAFE.sub(_escape, text)
    if len(shown) <= limit:
        return shown
    head = limit * 2 // 3
    tail = max(limit - head - 24, 0)
    cut = len(shown) - head - tail
    return f"{shown[:head]} [... {cut} more ...] {shown[len(shown) - tail :] if tail else ''}".rstrip()


def visible_block(text: str, limit: int = 4000) -> str:
    """Like :func:`visible`, but line breaks stay line breaks.

    Args:
        text: Any text; it may come from an attacker.
        limit: The most characters of it that are shown: of a longer one its beginning and its end, and how many are
            missing between them. Escapes come on top.
    """
    if len(text) <= limit:
        return "\n".join(visible(line, limit) for line in text.split("\n"))
    head = limit * 2 // 3
    first, last = visible_block(text[:head], limit), visible_block(text[head - limit :], limit)
    return f"{first}\n[... {len(text) - limit} more characters ...]\n{last}"
