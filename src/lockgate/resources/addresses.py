"""Normalises addresses, and finds them in text.

A fetch may follow an address that was seen before, so two things must hold: the same address always gets the same
spelling, and an address that two readers understand differently gets none. The readers that matter disagree: browsers
and most runtimes follow the WHATWG URL standard (https://url.spec.whatwg.org/), ``curl`` and ``git`` follow RFC 3986.
What only one of them accepts, or reads as another host, is unknown here (``None``), never guessed.
"""

from __future__ import annotations

import re
from functools import cache

from lockgate.resources.hosts import canonical_host

_PORTS = {
    "http": "80",
    "https": "443",
    "ftp": "21",
    "ftps": "990",
    "git": "9418",
    "ssh": "22",
    "ws": "80",
    "wss": "443",
}
_LONGEST = 8192

# What a URL may be made of. Everything else, controls, spaces, backslashes, quotes, is read differently by different
# readers. Beyond ASCII: no controls, no private or surrogate code points.
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#[]@!$&'()*+,;=%")
_BEYOND = ((0xA1, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFEF), (0x10000, 0xE0000))
_SCHEME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+.-")
_CLOSING = {")": "(", "]": "["}
_ENTITIES = (("&amp;", "&"), ("&#38;", "&"), ("&#x26;", "&"))
_JSON = (("\\/", "/"), ("\\u0026", "&"), ("\\u003d", "="), ("\\u003D", "="))


def normalise(url: str) -> str | None:
    """The one spelling of an absolute address, or ``None`` where it is none or reads differently in different clients.

    Two addresses share a spelling only where a client sends the same bytes for them: scheme and host are in lower case,
    the host in ASCII (IDNA). Default port and fragment are dropped. An empty path is ``/``, ``.`` and ``..`` are
    resolved, and what is beyond ASCII is escaped. Escapes stay as they are written (``%7e`` and ``~`` are two
    addresses): which of them are used can carry data. For the same reason an address with a user name or password has
    no spelling, except for ``ssh`` where it is the account.
    """
    parts = _split(url)
    if parts is None:
        return None
    scheme, place, rest, user = parts
    escaped = None if user and "ssh" not in scheme else _rest(rest)
    return None if escaped is None else f"{scheme}://{place}{escaped}"


def _split(url: str) -> tuple[str, str, str, bool] | None:
    """Scheme, host with port, the rest without fragment, and whether there is user information."""
    if len(url) > _LONGEST or not (_PLAIN.issuperset(url) or all(map(_is_plain, url))):
        return None
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if not separator or not _SCHEME.issuperset(scheme):
        return None
    end = min((at for mark in "/?#" if (at := rest.find(mark)) >= 0), default=len(rest))
    place = _authority(scheme, rest[:end])
    return None if place is None else (scheme, place, rest[end:].partition("#")[0], "@" in rest[:end])


def _is_plain(character: str) -> bool:
    return character in _PLAIN or any(low <= ord(character) <= high for low, high in _BEYOND)


def host_of(url: str) -> str | None:
    """The host of an address in its one spelling, without user, port and brackets; ``None`` where it is not known."""
    parts = _split(url)
    if parts is None:
        return None
    authority = parts[1]
    if authority.startswith("["):
        return authority[1 : authority.index("]")]
    return authority.partition(":")[0]


def extract(text: str, limit: int = 1000) -> list[str]:
    """All whole addresses in a text, normalised, each once, in order; at most ``limit``.

    Works on prose, Markdown, HTML and JSON. Where the end is not clear (a bracket, a full stop) the shorter reading
    is taken.
    """
    found: dict[str, None] = {}
    if "\\" in text:
        for written, meant in _JSON:
            text = text.replace(written, meant)
    for match in _text_pattern().finditer(text):
        address = normalise(_trim(match.group()))
        if address is not None:
            found[address] = None
            if len(found) >= limit:
                break
    return list(found)


@cache
def _text_pattern() -> re.Pattern[str]:
    """One linear pass: a scheme, and behind it what a URL may hold when it stands in text."""
    return re.compile(
        r"(?<![A-Za-z0-9+.-])(?:https?|ftp|git|ssh|git\+ssh|git\+https?)://[^\s<>\"`{}|\\^\x00-\x20\x7f\u2028\u2029]+",
        re.IGNORECASE,
    )


# -- parts -----------------------------------------------------------------------------------------------------------


def _authority(scheme: str, authority: str) -> str | None:
    plain = scheme.removeprefix("git+")
    if plain not in _PORTS:
        return None
    _, at, place = authority.rpartition("@")
    if at and authority.count("@") > 1:
        return None
    host, port = _host_and_port(place)
    if host is None or port is None:
        return None
    known = port in {"", _PORTS[plain]}
    shown = f"[{host}]" if ":" in host else host
    return shown if known else f"{shown}:{port}"


def _host_and_port(place: str) -> tuple[str | None, str | None]:
    if place.startswith("["):
        inside, bracket, port = place[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            return None, None
        return (canonical_host(inside) if ":" in inside else None), _port(port[1:])
    host, _, port = place.partition(":")
    # An escape in a host is decoded by some readers and refused by others.
    return (None if "%" in host else canonical_host(host)), _port(port)


def _port(text: str) -> str | None:
    if not text:
        return ""
    if not (text.isascii() and text.isdigit()) or len(text) > 5:
        return None
    number = int(text)
    return str(number) if 0 < number <= 65535 else None


def _rest(rest: str) -> str | None:
    path, question, query = _escape(rest).partition("?")
    resolved = _resolve_path(path)
    return None if resolved is None else f"{resolved}{question}{query}"


def _escape(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c if c.isascii() else "".join(f"%{byte:02X}" for byte in c.encode("utf-8", "replace")) for c in text)


def _resolve_path(path: str) -> str | None:
    """Resolve dot segments. An escaped dot segment is one to browsers and none to RFC 3986."""
    out: list[str] = []
    names = path.split("/")[1:] or [""]
    for index, name in enumerate(names):
        if "%2" in name and name.lower().replace("%2e", ".") in {".", ".."}:
            return None
        if name == "..":
            del out[-1:]
        elif name != ".":
            out.append(name)
            continue
        if index == len(names) - 1:
            out.append("")
    return "/" + "/".join(out)


def _trim(found: str) -> str:
    """An address found in text without the punctuation of the text around it."""
    for written, meant in _ENTITIES:
        found = found.replace(written, meant)
    for mark in ("'", "&quot;", "&lt;", "&gt;", "&#39;"):
        found = found.partition(mark)[0]
    end = len(found)
    counts = {closing: found.count(closing) - found.count(opening) for closing, opening in _CLOSING.items()}
    while end and (found[end - 1] in ".,;:!?*_~" or counts.get(found[end - 1], 0) > 0):
        if found[end - 1] in counts:
            counts[found[end - 1]] -= 1
        end -= 1
    return found[:end]
