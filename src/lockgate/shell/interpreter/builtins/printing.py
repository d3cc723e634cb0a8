"""The shape of what ``echo`` and ``printf`` print."""

from __future__ import annotations

import re

from lockgate.shell.state.abstract_text import OPAQUE, PLAIN, blur
from lockgate.shell.state.scope import Arg

_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "a": "", "r": "\r"}


def echo(args: list[Arg]) -> str:
    """What ``echo`` prints."""
    position = 0
    escapes = False
    newline = "\n"
    while position < len(args) and re.fullmatch(r"-[neE]+", args[position].text):
        escapes = "e" in args[position].text or escapes
        newline = "" if "n" in args[position].text else newline
        position += 1
    text = " ".join(OPAQUE if arg.glob else arg.text for arg in args[position:])
    resolved = unescape(text) if "\\" in text else text
    # Other shells than bash resolve escapes without being asked.
    return (resolved if escapes else blur(text, resolved)) + newline


def printf(args: list[Arg]) -> str:
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
            if part in ("%s", "%b", "%d"):
                value = values.pop(0) if values else ""
                result += unescape(value) if part == "%b" else value
            else:
                result += "%" if part == "%%" else unescape(part)
        if not values or not slots:
            return result


def unescape(text: str) -> str:
    """Resolve the escapes of ``echo -e`` and ``printf``; what is not known becomes opaque."""

    def one(match: re.Match[str]) -> str:
        body = match.group(1)
        if body in _ESCAPES:
            return _ESCAPES[body]
        if body[0] == "x" and body != "x":
            code = int(body[1:], 16)
        elif body[0] in "01234567":
            code = int(body, 8)
        else:
            return OPAQUE
        return chr(code) if 31 < code < 127 or code == 10 else OPAQUE

    return re.sub(r"\\(x[0-9A-Fa-f]{1,2}|0?[0-7]{1,3}|.)", one, text, flags=re.DOTALL)
