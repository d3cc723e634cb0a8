"""Normalises hosts, and tells whose they are.

What only one of the readers that matter accepts, or reads as another host, is unknown here (``None``), never guessed:
see `lockgate.resources.addresses`.
"""

from __future__ import annotations

from lockgate.resources.host_view import HostView, TrustedDomain

_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_DIGITS = frozenset("0123456789")
_HEXADECIMAL = frozenset("0123456789abcdef")
_METADATA = frozenset(
    # Most clouds; Amazon's containers and pods; Tencent, Scaleway, Azure, Alibaba, Oracle; the same in IPv6.
    {"169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.0.23", "169.254.42.42", "168.63.129.16"}
    | {"100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42"}
    | {"fe80::a9fe:a9fe", "64:ff9b::a9fe:a9fe", "::a9fe:a9fe", "metadata.google.internal", "metadata", "metadata.goog"}
    | {"instance-data", "instance-data.ec2.internal", "metadata.tencentyun.com", "metadata.platformequinix.com"}
    | {"api.metadata.cloud.ibm.com"}
)
_UNSPECIFIED = frozenset({"0.0.0.0", "::"})  # noqa: S104 - where a program connects to, not where it listens
_DEVIATIONS = frozenset("\u00df\u03c2\u200c\u200d\u3002\uff0e\uff61")
"""Characters that IDNA 2003 and IDNA 2008 read differently, and dots that are none."""


def is_loopback(host: str) -> bool:
    """Whether a host is always this machine: ``localhost``, names below it, ``127.0.0.0/8`` in every spelling, ``::1``.

    ``0.0.0.0`` is not: see `is_here`. Names that a public server answers with a loopback address (``localtest.me``,
    ``127.0.0.1.nip.io``) are not either: whoever runs that server can give another answer the next time.
    """
    name = canonical_host(host.strip("[]") if host[:1] == "[" else host)
    if name is None:
        return False
    if name == "localhost" or name.endswith(".localhost"):
        return True
    # In their one spelling an IPv4 address ends in a digit, and an IPv6 one that stands for it in its 32 bits.
    return name == "::1" or name.startswith("::ffff:7f") or (name.startswith("127.") and name[-1].isdigit())


def is_here(host: str) -> bool:
    """Whether a connection to a host ends on this machine: loopback, or ``0.0.0.0`` and ``::``.

    Not for an address at which a program listens: there these two stand for every network that the machine is in.
    """
    return is_loopback(host) or canonical_host(host.strip("[]") if host[:1] == "[" else host) in _UNSPECIFIED


def is_metadata(host: str) -> bool:
    """Whether a host is the metadata service of a cloud, which hands out credentials to whoever asks from inside."""
    name = canonical_host(host.strip("[]") if host[:1] == "[" else host)
    if name is not None and name.startswith("::ffff:") and name.count(":") == 4:
        high, low = (int(part, 16) for part in name[7:].split(":"))
        name = f"{high >> 8}.{high & 255}.{low >> 8}.{low & 255}"
    return name in _METADATA


def find_trusted(host: str, around: HostView) -> TrustedDomain | None:
    """The trusted domain that a host is: the same name, below ``*.name``, or an address in the network ``10.0.0.0/8``.

    Of several, one whose content is trusted comes first.
    """
    name = canonical_host(host)
    if name is None:
        return None
    hits = [domain for domain in around.rules.trusted_domains if _is_below(name, domain.host)]
    return max(hits, key=lambda domain: domain.content, default=None)


def answers_for_itself(name: str, around: HostView) -> bool | None:
    """Whether what a host answers to an act is its own words; ``None`` where nobody says so who may.

    Args:
        name: A host in its one spelling.
        around: What is declared. What a project says can only take this away.
    """
    service = around.rules.service(name)
    if service is not None and (service.public_source or service.forbidden):
        return False
    declared = service is not None and service.vouched and service.public_source is False
    trusted = any(domain.vouched and _is_below(name, domain.host) for domain in around.rules.trusted_domains)
    return True if declared or trusted else None


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
    return _read_ipv4(labels) if _is_number(labels[-1]) else name


def _is_label(label: str) -> bool:
    return 0 < len(label) <= 63 and _LABEL.issuperset(label) and label[0] != "-" and label[-1] != "-"


def _is_number(label: str) -> bool:
    return _HEXADECIMAL.issuperset(label[2:]) if label.startswith("0x") else _DIGITS.issuperset(label)


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


def _read_ipv4(labels: list[str]) -> str | None:
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


def _is_below(name: str, pattern: str) -> bool:
    if "/" in pattern:
        return _is_in_network(name, pattern.strip("[]"))
    wanted = pattern.lower().rstrip(".")
    if wanted.startswith("*."):
        suffix = canonical_host(wanted[2:])
        return suffix is not None and name.endswith("." + suffix)
    return name == canonical_host(wanted)


def _is_in_network(name: str, network: str) -> bool:
    """Whether a host that is written as an address lies in a network. What a name stands for is not looked up."""
    from ipaddress import ip_address, ip_network

    try:
        address = ip_address(name)
        return (getattr(address, "ipv4_mapped", None) or address) in ip_network(network, strict=False)
    except ValueError:
        return False
