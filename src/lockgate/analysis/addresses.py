"""Addresses: one spelling for each, whose they are, and finding them in text.

A fetch may follow an address that was seen before, so two things must hold: the same address always gets the same
spelling, and an address that two readers understand differently gets none. The readers that matter disagree: browsers
and most runtimes follow the WHATWG URL standard (https://url.spec.whatwg.org/), ``curl`` and ``git`` follow RFC 3986.
What only one of them accepts, or reads as another host, is unknown here (``None``), never guessed.
"""

from __future__ import annotations

import re
from functools import cache

from lockgate.analysis.surroundings import Surroundings, TrustedDomain

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
_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_DIGITS = frozenset("0123456789")
_HEXADECIMAL = frozenset("0123456789abcdef")
_METADATA = frozenset(
    {"169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "fd00:ec2::254", "::ffff:a9fe:a9fe"}
    | {"metadata.google.internal", "metadata", "metadata.goog", "instance-data"},
)
_DEVIATIONS = frozenset("\u00df\u03c2\u200c\u200d\u3002\uff0e\uff61")
"""Characters that IDNA 2003 and IDNA 2008 read differently, and dots that are none."""
_CLOSING = {")": "(", "]": "["}
_ENTITIES = (("&amp;", "&"), ("&#38;", "&"), ("&#x26;", "&"))
_JSON = (("\\/", "/"), ("\\u0026", "&"), ("\\u003d", "="), ("\\u003D", "="))


def normalise(url: str) -> str | None:
    """The one spelling of an absolute address, or ``None`` where it is none or reads differently in different clients.

    Two addresses share a spelling only where a client sends the same bytes for them: scheme and host are in lower
    case, the host in ASCII (IDNA), default port and fragment are dropped, an empty path is ``/``, ``.`` and ``..``
    are resolved, and what is beyond ASCII is escaped. Escapes stay as they are written (``%7e`` and ``~`` are two
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


def is_loopback(host: str) -> bool:
    """Whether a host is always this machine: ``localhost``, names below it, ``127.0.0.0/8`` in every spelling, ``::1``.

    ``0.0.0.0`` is not: it is this machine on some systems only.
    """
    name = canonical_host(host.strip("[]") if host[:1] == "[" else host)
    if name is None:
        return False
    if name == "localhost" or name.endswith(".localhost"):
        return True
    # In their one spelling an IPv4 address ends in a digit, and an IPv6 one that stands for it in its 32 bits.
    return name == "::1" or name.startswith("::ffff:7f") or (name.startswith("127.") and name[-1].isdigit())


def is_metadata(host: str) -> bool:
    """Whether a host is the metadata service of a cloud, which hands out credentials to whoever asks from inside."""
    return canonical_host(host.strip("[]") if host[:1] == "[" else host) in _METADATA


def trusted(host: str, around: Surroundings) -> TrustedDomain | None:
    """The trusted domain that a host is: the same name, or below ``*.name``.

    Of several, one whose content is trusted comes first.
    """
    name = canonical_host(host)
    if name is None:
        return None
    hits = [domain for domain in around.rules.trusted_domains if _is_below(name, domain.host)]
    return max(hits, key=lambda domain: domain.content, default=None)


def extract(text: str, limit: int = 1000) -> list[str]:
    """All whole addresses in a text, normalised, each once, in order; at most ``limit``.

    Works on prose, Markdown, HTML and JSON. Where the end is not clear (a bracket, a full stop) the shorter reading
    is taken.
    """
    found: dict[str, None] = {}
    if "\\" in text:
        for written, meant in _JSON:
            text = text.replace(written, meant)
    for match in _in_text().finditer(text):
        address = normalise(_trimmed(match.group()))
        if address is not None:
            found[address] = None
            if len(found) >= limit:
                break
    return list(found)


@cache
def _in_text() -> re.Pattern[str]:
    """One linear pass: a scheme, and behind it what a URL may hold when it stands in text."""
    return re.compile(
        r"(?<![A-Za-z0-9+.-])(?:https?|ftp|git|ssh|git\+ssh|git\+https?)://[^\s<>\"`{}|\\^\x00-\x20\x7f\u2028\u2029]+",
        re.IGNORECASE,
    )


def canonical_host(host: str) -> str | None:
    """The one spelling of a host name or address, without brackets; ``None`` where it is not valid."""
    if ":" in host:
        return _ipv6(host)
    name = host.lower() if host.isascii() else _idna(host)
    if name is None or not name:
        return None
    name = name[:-1] if name.endswith(".") else name
    labels = name.split(".")
    if len(name) > 253 or not all(map(_is_label, labels)):
        return None
    # The WHATWG rule: a host whose last label is a number is an IPv4 address, or an error.
    return _ipv4(labels) if _is_number(labels[-1]) else name


def _is_label(label: str) -> bool:
    return 0 < len(label) <= 63 and _LABEL.issuperset(label) and label[0] != "-" and label[-1] != "-"


def _is_number(label: str) -> bool:
    return _HEXADECIMAL.issuperset(label[2:]) if label.startswith("0x") else _DIGITS.issuperset(label)


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
        return _ipv6(inside), _port(port[1:])
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


def _ipv6(text: str) -> str | None:
    if "%" in text:
        return None
    from ipaddress import IPv6Address

    try:
        address = IPv6Address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped
    # Python versions spell these in two ways.
    return str(address) if mapped is None else f"::ffff:{int(mapped) >> 16:x}:{int(mapped) & 0xFFFF:x}"


def _ipv4(labels: list[str]) -> str | None:
    """Read an IPv4 address as C and WHATWG do.

    Up to four numbers, hexadecimal or octal too, the last one fills the rest.
    """
    if len(labels) > 4 or not all(map(_is_number, labels)):
        return None
    try:
        numbers = [_number(label) for label in labels]
    except ValueError:
        return None
    if any(number > 255 for number in numbers[:-1]) or numbers[-1] >= 256 ** (5 - len(numbers)):
        return None
    value = numbers[-1] + sum(number << (8 * (3 - index)) for index, number in enumerate(numbers[:-1]))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def _number(label: str) -> int:
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8) if label.startswith("0") and len(label) > 1 else int(label)


def _idna(host: str) -> str | None:
    """The ASCII form of a name, where both versions of IDNA agree on it and no character stands for another one."""
    import unicodedata

    name = host.lower()
    if unicodedata.normalize("NFKC", name) != name or any(character in _DEVIATIONS for character in name):
        return None
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError:
        return None


def _rest(rest: str) -> str | None:
    path, question, query = _escaped(rest).partition("?")
    resolved = _path(path)
    return None if resolved is None else f"{resolved}{question}{query}"


def _escaped(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c if c.isascii() else "".join(f"%{byte:02X}" for byte in c.encode("utf-8", "replace")) for c in text)


def _path(path: str) -> str | None:
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


def _is_below(name: str, pattern: str) -> bool:
    wanted = pattern.lower().rstrip(".")
    if wanted.startswith("*."):
        suffix = canonical_host(wanted[2:])
        return suffix is not None and name.endswith("." + suffix)
    return name == canonical_host(wanted)


def _trimmed(found: str) -> str:
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
