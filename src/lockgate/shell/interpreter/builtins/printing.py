"""Finds the shape of what ``echo`` and ``printf`` print.

Shells read some escapes differently. Where they do, the text is unknown: a quote that only one shell prints could hide
a command from the analysis.
"""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.shell.state.abstract_text import OPAQUE, PLAIN, join_texts, make_unknown_text
from lockgate.shell.state.scope import Arg

_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r"}
_HEX = r"x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}"
_IN_FORMAT = lazy_re(rf"\\({_HEX}|[0-7]{{1,3}}|.)", re.DOTALL)
"""An escape in the first word of ``printf``: a byte has up to three digits."""
_IN_VALUE = lazy_re(rf"\\({_HEX}|0[0-7]{{0,3}}|[1-7][0-7]{{0,2}}|.)", re.DOTALL)
"""An escape in a word of ``echo`` or one for ``%b``: a byte has up to three digits behind a 0."""


def echo(args: list[Arg], *, may_be_dash: bool = False) -> str:
    """What ``echo`` prints. Dash knows only one ``-n``, and prints all other options."""
    position = 0
    options = ""
    while position < len(args) and re.fullmatch(r"-[neE]+", args[position].text):
        options += args[position].text[1:]
        position += 1
    text = " ".join(OPAQUE if arg.glob else arg.text for arg in args[position:])
    if may_be_dash and options not in ("", "n"):
        return make_unknown_text(text)
    resolved = _unescape(text, _IN_VALUE, may_be_dash=may_be_dash, octal=False)
    # Other shells than bash resolve escapes without being asked, and zsh does so after `-e -E`.
    asked = "e" in options and "E" not in options
    newline = "" if "n" in options or _ends_early(text) else "\n"
    return (resolved if asked else join_texts(text, resolved)) + newline


def printf(args: list[Arg], *, may_be_dash: bool = False, may_be_zsh: bool = False) -> str:
    """What ``printf`` prints, for formats of ``%s``, ``%b`` and ``%d``."""
    if not args:
        return ""
    form, values = args[0].text, [arg.text for arg in args[1:]]
    plain = re.sub(r"%[sbd]|%%", "", form)
    numbers = "%d" not in form or all(value.replace(PLAIN, "0").isdigit() for value in values)
    if "%" in plain or form.startswith("-") or not numbers or any(arg.glob or arg.loose for arg in args):
        return OPAQUE
    parts = re.split(r"(%[sbd]|%%)", form)
    slots = sum(part in ("%s", "%b", "%d") for part in parts)
    result = ""
    while True:
        for part in parts:
            slot = part in ("%s", "%b", "%d")
            word = (values.pop(0) if values else "") if slot else part
            if part == "%%":
                result += "%"
            elif slot and part != "%b":
                result += word
            else:
                # In a value zsh takes no byte that begins without a 0.
                octal = not (slot and may_be_zsh)
                result += _unescape(word, _IN_VALUE if slot else _IN_FORMAT, may_be_dash=may_be_dash, octal=octal)
                if _ends_early(word):
                    return result + make_unknown_text(form, *values)
        if not values or not slots:
            return result


def _ends_early(text: str) -> bool:
    r"""Whether a text has `\c`, after which some shells print nothing more."""
    return r"\c" in text and any(match.group(1) == "c" for match in _IN_VALUE.finditer(text))


def _unescape(text: str, escapes: re.Pattern[str], *, may_be_dash: bool, octal: bool) -> str:
    """Resolve escapes; what shells read differently becomes opaque. With ``octal`` a byte may begin with any digit."""
    if "\\" not in text:
        return text

    def resolve(match: re.Match[str]) -> str:
        body = match.group(1)
        if body in _ESCAPES:
            return _ESCAPES[body]
        if body[0] == "x" and body != "x" and not may_be_dash:
            code = int(body[1:], 16)
        elif body[0] == "0" or (octal and body[0] in "1234567"):
            code = int(body, 8)
        else:
            return OPAQUE
        return chr(code) if 31 < code < 127 or code == 10 else OPAQUE

    end = next((match.start() for match in escapes.finditer(text) if match.group(1) == "c"), None)
    return (
        escapes.sub(resolve, text) if end is None else escapes.sub(resolve, text[:end]) + make_unknown_text(text[end:])
    )
