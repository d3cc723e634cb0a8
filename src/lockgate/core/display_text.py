"""Makes untrusted text safe to show: in a terminal, in a message to an agent, in a log line."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re

# All that moves a cursor, hides text, changes its direction, or looks like nothing and is a character: C0 and C1
# controls, DEL, line and paragraph separators; zero-width, format and bidirectional marks, tag characters, variation
# selectors; the soft hyphen, surrogates, and blanks that are no space.
_UNSAFE = lazy_re(
    "[\x00-\x1f\x7f-\xa0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5"
    "\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]",
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}
BAR = "  | "
"""Before each line of a text of others that is quoted among ours."""
_BLANKS = lazy_re("[ \u3000]{60,}")
"""What pushes the rest of a text out of sight."""
_WORDS = lazy_re(r"[^ ]* |[^ ]+")
_EMPTY_LINES = lazy_re(r"\n(?:[ \t\r\f\v]*\n){8,}")

# Letters that are taken for plain Latin ones: IPA, Greek, Cyrillic, Armenian, Cherokee, Coptic, Lisu, Roman numerals,
# full width and mathematical letters. Alone they are somebody's language; in one word with Latin letters they make it
# another word than the one that is read.
_OTHERS = (
    "\u0250-\u02af\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03b9\u03bd\u03bf\u03c1"
    "\u03c5\u03f2\u03f3\u0400-\u052f\u0531-\u0587\u13a0-\u13ff\u1c80-\u1c8f\u1d00-\u1d7f\u2160-\u217f\u2c80-\u2cff"
    "\ua4d0-\ua4ff\ua640-\ua69f\uab70-\uabbf\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff"
)
_LOOKALIKE = lazy_re(
    # A run of them is looked at once, from its beginning: a text of another alphabet may be one long run.
    rf"(?<=[A-Za-z])(?<!\\[enrt])(?<!\\x[0-9a-f]{{2}})[{_OTHERS}]+|(?<![{_OTHERS}])[{_OTHERS}]++(?=[A-Za-z])"
    # Dots, slashes, colons and semicolons that are none.
    r"|(?<=[A-Za-z0-9])[\u037e\u0589\u05c3\u2024\u2044\u2215\u2236\u29f8\ua789\uff0e\uff0f\uff1a\uff1b](?=[A-Za-z0-9])"
    # So many marks on one letter that they cover the lines beside it.
    "|[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{4,}"
)
_HOST = lazy_re(r"(?<=://)[^\s/?#\\]+")


def _escape(match: re.Match[str]) -> str:
    return "".join(map(_escape_character, match.group()))


def _escape_character(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def _plain_host(match: re.Match[str]) -> str:
    """The host of an address in ASCII: whole names of other alphabets look like Latin ones as well."""
    return "".join(each if each.isascii() else _escape_character(each) for each in match.group())


def visible(text: str, limit: int = 400) -> str:
    """Show text on one line: what hides, moves or reorders text, or passes for other text, is written as an escape.

    Args:
        text: Any text; it may come from an attacker.
        limit: The most characters returned; longer text is cut in the middle and says by how much.
    """
    shown = text if text.isascii() else _HOST.sub(_plain_host, _LOOKALIKE.sub(_escape, text))
    shown = _BLANKS.sub(_count, _UNSAFE.sub(_escape, shown))
    if len(shown) <= limit:
        return shown
    head = limit * 2 // 3
    tail = max(limit - head - 24, 0)
    cut = len(shown) - head - tail
    return f"{shown[:head]} [... {cut} more ...] {shown[len(shown) - tail :] if tail else ''}".rstrip()


def columns(text: str) -> int:
    """How many columns a terminal needs for a text that is safe to show."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def wrap(line: str, width: int) -> list[str]:
    """Cut a line into pieces of a width at most: at blanks, and a word that is longer than that anywhere.

    A terminal that wraps at words, or at any character, takes no more lines for it than these.

    Args:
        line: One line that is safe to show.
        width: Columns of a piece, at least 2.
    """
    pieces, used = [""], 0
    for word in _WORDS.findall(line):
        wide = columns(word)
        if used and used + wide > width:
            pieces.append("")
            used = 0
        if wide <= width:
            pieces[-1] += word
            used += wide
            continue
        for character in word:
            one = columns(character)
            if used + one > width:
                pieces.append("")
                used = 0
            pieces[-1] += character
            used += one
    return pieces


def condense(text: str) -> str:
    """A text in which many spaces and empty lines are counted: they push what follows out of sight."""
    text = _BLANKS.sub(_count, text)
    return _EMPTY_LINES.sub(lambda match: f"\n[... {match.group().count(chr(10)) - 1} empty lines ...]\n", text)


def _count(spaces: re.Match[str]) -> str:
    return f"[... {len(spaces.group())} spaces ...]"


def indent(line: str, width: int, first: str, then: str) -> list[str]:
    """The lines of the screen that a line takes, cut here so that each piece begins as it should.

    Args:
        line: One line that is safe to show.
        width: Columns of the screen.
        first: What stands before it.
        then: What stands before each piece that the first line has no room for.
    """
    pieces = wrap(line, width - max(len(first), len(then)))
    return [f"{then if number else first}{piece}".rstrip() for number, piece in enumerate(pieces)]


def add_bars(text: str, width: int) -> list[str]:
    """The lines of the screen that a text of others takes, with a bar before each: none passes for one of ours.

    Args:
        text: A text that is safe to show (:func:`visible_block`).
        width: Columns of the screen.
    """
    return [piece for line in text.split("\n") for piece in indent(line, width, BAR, "  |> ")]


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
