"""Validators of contact data: e-mail addresses, telephone numbers, network addresses."""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.core.lazy import lazy_re
from lockgate.patterns.model import Candidate
from lockgate.patterns.validators.numbers import digits_of

_NO_DOMAINS = ("example.com", "example.org", "example.net", "example.edu", "users.noreply.github.com", "localhost.com")
"""Domains for documentation (RFC 2606), and those whose addresses nobody reads."""
_NO_TOP_LEVELS = frozenset("example test invalid localhost local internal lan localdomain home arpa onion".split())  # noqa: SIM905
_FILE_ENDINGS = frozenset(
    """png jpg jpeg gif svg webp ico css scss js mjs cjs ts tsx jsx json yaml yml toml lock xml html htm md txt map
    java class kt swift vue svelte rb php c h cc cpp hpp cs pdf tgz gz whl jar exe dll dylib service timer target
    socket mount slice gmo mo lproj""".split()  # noqa: SIM905
)
"""What ends file names, unit names and imports, and no domain names: ``icon@2x.png``, ``getty@tty1.service``."""
_NOBODY = frozenset(
    """noreply no-reply donotreply do-not-reply git hg svn nobody example user username you your-email youremail email
    your.email your_email name foo bar test someone mailer-daemon postmaster""".split()  # noqa: SIM905
)
"""Names before the ``@`` behind which there is no person, or any."""
_USER_AT_HOST = lazy_re(r"(?:://[^\s@]*|\b(?:ssh|scp|sftp|rsync|mosh|ssh-copy-id)\b[^\n;|&]*)\Z")
"""What comes before a user's name on a machine."""
_VERSION = lazy_re(
    r"""(?i)(?:\bv|\bver|version|release|build|\brev|==|[<>~^]=?|chrome|firefox|safari|\bedge?|§)["':/ =v]*\Z"""
)


def email(candidate: Candidate) -> bool | None:
    """Rejects what has an ``@`` and is no address of a person.

    Reserved domains, ``git@host:path``, users in URLs and ssh commands, versions of packages, file names.
    """
    name, _, domain = candidate.value.lower().rpartition("@")
    labels = domain.split(".")
    if not name or len(name) > 64 or len(labels) < 2 or not all(labels) or ".." in name:
        return False
    if labels[-1] in _NO_TOP_LEVELS or labels[-1] in _FILE_ENDINGS or not labels[-1].isalpha():
        return False
    if domain.endswith(_NO_DOMAINS) or labels[-2] == "example" or name in _NOBODY or name[0] == name[-1] == "%":
        return False
    if candidate.after.startswith((":/", ":~", "@", "/", "(")) or candidate.before.endswith(("/", "@")):
        return False
    return False if _USER_AT_HOST.search(candidate.before) else None


_NATIONAL: Mapping[str, tuple[int, int, str]] = {
    code: (int(least), int(most), first)
    for code, least, most, first in (
        row.split(",")
        for row in """44,9,10,1235789 49,7,11,123456789 33,9,9,123456789 34,9,9,6789 39,8,11,03 91,10,10,23456789
        55,10,11,123456789 61,9,9,23478 81,9,10,123456789 31,9,9,123456789 32,8,9,123456789 41,9,9,23456789
        43,7,12,1234567 45,8,8,23456789 46,7,10,123456789 47,8,8,2345679 48,9,9,123456789 351,9,9,239 353,7,9,123456789
        358,6,11,123456789 420,9,9,234567 30,10,10,26 36,8,9,123456789 40,9,9,237 7,10,10,3456789 86,10,11,123456789
        82,8,10,1234567 52,10,10,23456789 54,10,11,1239 56,9,9,23456789 57,10,10,36 27,9,9,12345678 90,10,10,2345
        972,8,9,234578 971,8,9,23456789 966,9,9,15 65,8,8,3689 60,8,10,13456789 62,9,12,2345678 63,10,10,29
        66,8,9,2345689 84,9,10,235789 92,10,10,23 20,9,10,123 234,8,10,123456789 254,9,9,124567 64,8,10,234679
        852,8,8,235679 886,8,9,23456789 380,9,9,345679""".split()  # noqa: SIM905
    )
}
"""Digits of a number behind the country's code, least and most, and what they may begin with (ITU-T E.164 and the
countries' numbering plans)."""
_FICTION = ("442079460", "447700900", "441632960", "441214960", "441134960", "61491570", "612555", "33199")
"""Ranges for films and examples: Ofcom's, ACMA's and Arcep's. Those of North America are 555-0100 to 555-0199."""


_POSITION = lazy_re(r"\+(?:\d{4}-[01]\d{4}|\d{6}-[01]\d{6})")
"""Latitude and longitude in degrees, minutes and seconds (ISO 6709)."""


def phone(value: str) -> bool | None:
    """Rejects what no numbering plan has: with ``+`` by the country's code, else North American or with a leading 0."""
    digits = digits_of(value)
    if _POSITION.fullmatch(value):
        return False
    if value.lstrip("(").startswith("+") or digits.startswith("00"):
        return _international(digits.removeprefix("00"))
    if (len(digits) == 10 and digits[0] != "0") or (len(digits) == 11 and digits[0] == "1"):
        return _north_american(digits[-10:])
    return None if digits[:1] == "0" and 9 <= len(digits) <= 12 and len(set(digits)) > 3 else False


def phone_us(value: str) -> bool | None:
    """Rejects what the North American plan (US, Canada, Caribbean) has not, and 555-01xx, which is for films."""
    digits = digits_of(value)
    return _north_american(digits[-10:]) if len(digits) == 10 or (len(digits) == 11 and digits[0] == "1") else False


def _international(digits: str) -> bool | None:
    if digits.startswith("1"):
        return _north_american(digits[1:]) if len(digits) == 11 else False
    if digits.startswith(_FICTION) or len(set(digits)) < 4:
        return False
    plan = next((plan for size in (3, 2, 1) if (plan := _NATIONAL.get(digits[:size]))), None)
    if plan is None:
        return False
    least, most, first = plan
    national = digits[next(size for size in (3, 2, 1) if digits[:size] in _NATIONAL) :]
    if not digits.startswith("39"):  # Italy alone keeps the zero
        national = national.removeprefix("0")
    return None if least <= len(national) <= most and national[0] in first else False


def _north_american(digits: str) -> bool | None:
    area, exchange = digits[:3], digits[3:6]
    if area[0] in "01" or area[1] == "9" or area.endswith("11") or area == "555":
        return False
    if exchange[0] in "01" or exchange.endswith("11") or digits[3:8] == "55501" or len(set(digits)) < 4:
        return False
    return None


def ip_public(candidate: Candidate) -> bool | None:
    """Whether it is an address of the public internet: neither private nor reserved nor for documentation.

    Rejects versions too: behind the words for one, with a further part, or of small numbers only.
    """
    from ipaddress import ip_address

    try:
        address = ip_address(candidate.value)
    except ValueError:
        return False
    if not address.is_global or address.is_multicast:
        return False
    if address.version == 6:
        return None
    # With more behind it, it is a version, the name of a machine, or a network.
    if _VERSION.search(candidate.before) or (candidate.after[:1] in ("-", ".", "/") and candidate.after[1:2].isalnum()):
        return False
    parts = candidate.value.split(".")
    # 8.8.8.8 and 1.1.1.1 are in every tutorial, and everybody knows whose they are.
    is_public = len(set(parts)) == 1 or all(int(part) < 32 for part in parts)
    return False if is_public else None
