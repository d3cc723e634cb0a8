"""Reads the formats that secrets are kept in, just enough to find names and values.

They read what other programs wrote, and are forgiving: what is not understood gives no value. None imports a library,
because they run in hooks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

Values = Iterator[tuple[str, str]]
"""Names and values; a name is the last key, behind a path to it where the format has one."""

_DEEPEST = 20
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_QUOTES = "\"'`"


def dotenv(text: str) -> Values:
    """``NAME=value`` of a shell or a dotenv file: quotes, escapes in double quotes, values of several lines."""
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        name, sign, rest = text[at:end].partition("=")
        if not sign:
            name, sign, rest = name.partition(": ")
        name = name.strip().removeprefix("export ").strip()
        value = rest.lstrip()
        if sign and name and name.replace("_", "").replace("-", "").replace(".", "").isalnum():
            if value[:1] and value[0] in _QUOTES:
                value, end = _read_quoted(text, end - len(value), end)
            else:
                value = _without_comment(value)
            yield name, value
        at = end + 1


def _read_quoted(text: str, at: int, line_end: int) -> tuple[str, int]:
    """The value that a quote at a place begins, and where its line ends. Without an end it is that of the line."""
    quote = text[at]
    parts = []
    place = at + 1
    while place < len(text) and text[place] != quote:
        if quote == '"' and text[place] == "\\" and place + 1 < len(text):
            place += 1
            parts.append(_ESCAPES.get(text[place], text[place]))
        else:
            parts.append(text[place])
        place += 1
    if place >= len(text):
        return _without_comment(text[at + 1 : line_end]), line_end
    end = text.find("\n", place)
    return "".join(parts), len(text) if end < 0 else end


def _without_comment(value: str) -> str:
    """A value without quotes: a ``#`` behind a space begins a comment."""
    for mark in (" #", "\t#"):
        value = value.partition(mark)[0]
    return "" if value.startswith("#") else value.strip()


def ini(text: str) -> Values:
    """``key = value`` below ``[section]``: INI, npm's settings, and the strings of TOML."""
    section = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("[") and "]" in line:
            section = line.strip("[] ")
            continue
        key, sign, value = line.partition("=")
        if line[:1] in ("#", ";") or not sign:
            continue
        key = key.strip().rpartition(":")[2].strip("\"' ")
        yield f"[{section}] {key}" if section else key, _scalar(value)


def _scalar(value: str) -> str:
    """A value of one line, with its quotes and the comment behind it gone."""
    value = value.strip()
    if value[:1] and value[0] in "\"'" and (end := value.find(value[0], 1)) > 0:
        return value[1:end]
    return _without_comment(value)


def yaml(text: str) -> Values:
    """The scalars of block mappings, one a line; flow mappings, anchors and text blocks are passed by."""
    for line in text.splitlines():
        line = line.strip()
        while line.startswith("- "):
            line = line[2:].lstrip()
        key, sign, value = line.removeprefix(":").partition(": ")
        if sign and not line.startswith("#"):
            yield key.strip("\"' "), _scalar(value)


def json_values(text: str) -> Values:
    """All texts in a JSON value, named by the path to them."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    yield from _walk("", value, 0)


def _walk(path: str, value: Any, depth: int) -> Values:
    if isinstance(value, str):
        yield path, value
    elif depth < _DEEPEST and isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _walk(f"{path}.{key}" if path else str(key), item, depth + 1)


def netrc(text: str) -> Values:
    """Passwords and accounts of ``machine``s; what a macro defines is passed by."""
    machine = ""
    words = iter(_netrc_words(text))
    for word in words:
        if word == "machine":
            machine = next(words, "")
        elif word == "default":
            machine = "any machine"
        elif word in ("password", "account"):
            yield f"{word} for {machine}", next(words, "")
        elif word == "login":
            next(words, "")


def _netrc_words(text: str) -> Iterator[str]:
    in_macro = False
    for line in text.splitlines():
        in_macro = in_macro and bool(line.strip())
        for word in () if in_macro or line.lstrip().startswith("#") else line.split():
            if word == "macdef":
                in_macro = True
                break
            yield word.strip('"')


def pgpass(text: str) -> Values:
    """The last of five fields between colons; a backslash takes the meaning from the next character."""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        fields = [""]
        characters = iter(line)
        for character in characters:
            if character == "\\":
                fields[-1] += next(characters, "")
            elif character == ":" and len(fields) < 5:
                fields.append("")
            else:
                fields[-1] += character
        if len(fields) == 5:
            yield f"password for {fields[0]}", fields[4]


def urls(text: str) -> Values:
    """The passwords in addresses, one a line."""
    for line in text.splitlines():
        host = line.rpartition("@")[2].partition("/")[0]
        yield f"password for {host}", line.strip()


def pem(text: str) -> Values:
    """The lines of the second half of a private key: the first half of most formats holds the public key."""
    _, sign, body = text.partition("-----BEGIN ")
    kind, end, body = body.partition("-----")
    if not sign or not end or "PRIVATE KEY" not in kind:
        return
    lines = [line.strip() for line in body.partition("-----END ")[0].replace("\\n", "\n").splitlines()]
    lines = [line for line in lines if line and ":" not in line]
    for number in range(len(lines) // 2, len(lines)):
        yield f"line {number + 1}", lines[number]


def raw(text: str) -> Values:
    """A file that is one value."""
    yield "", text.strip()


READERS: Mapping[str, Callable[[str], Values]] = {
    "dotenv": dotenv,
    "ini": ini,
    "json": json_values,
    "netrc": netrc,
    "pem": pem,
    "pgpass": pgpass,
    "raw": raw,
    "urls": urls,
    "yaml": yaml,
}
"""Readers by the name that the table has for the format."""
