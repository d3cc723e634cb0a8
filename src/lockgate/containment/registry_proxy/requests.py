"""Checks requests to an index: by method, host, path, headers and body. Refuses everything not allowed.

What passes is taken apart here, and the relay writes a request of its own with the parts. Nothing of a client's request
is passed on as it stands. Whoever sends it is taken for an attacker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

from lockgate.containment.registry_proxy.indexes import (
    ACCEPTED,
    METHODS,
    MOST_LEARNED,
    NPM,
    SIMPLE,
    SIMPLE_JSON,
    PackageIndex,
)
from lockgate.containment.registry_proxy.wanted import Wanted
from lockgate.core.errors import LockgateError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.libraries import library

if TYPE_CHECKING:
    from typing import IO, Any, Literal

    RequestKind = Literal["page", "file", "metadata", "wheel", "release"]
    """What is asked for: the page of a package, a file, its metadata, a wheel, or the page of one version.

    A wheel is a file whose metadata may name more projects.
    """

PAGE: RequestKind = "page"
FILE: RequestKind = "file"
METADATA: RequestKind = "metadata"
WHEEL: RequestKind = "wheel"
RELEASE: RequestKind = "release"
_RELEASE = re.compile(r"https://[^/]+/pypi/([a-z0-9-]+)/[A-Za-z0-9.+!-]+/json", re.ASCII)
_MOST_METADATA = 4 * 1024 * 1024
_TARGET = re.compile(r"/[A-Za-z0-9@._~+%!/-]{0,2000}", re.ASCII)
_PROJECT = re.compile(r"/([a-z0-9]+(?:-[a-z0-9]+)*)/?", re.ASCII)
_PACKAGE = re.compile(r"/((?:@[a-z0-9][a-z0-9._~-]*(?:/|%2[fF]))?[a-zA-Z0-9_][a-zA-Z0-9._~-]*)", re.ASCII)
_METADATA_NAME = re.compile(r"[^/]+\.dist-info/METADATA")
_DIGEST = re.compile(r"sha256=([0-9a-f]{64})")
_WITH_BODY = ("content-length", "transfer-encoding")


class RefusedError(LockgateError):
    """A request that may not pass; the text says why, and holds nothing of the request."""


class Passed(Record):
    """A request as the relay sends it."""

    asked: PackageIndex
    method: str
    address: str
    accept: str
    kind: RequestKind
    name: str = ""
    """For a page: the package that it is about."""


def authority_of(address: str) -> str:
    """The host of an address, with its port where that is not 443."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    return host if parts.port in (None, 443) else f"{host}:{parts.port}"


class Filter:
    """Checks the requests of one install. Answers of an index can add to what it may ask for."""

    def __init__(self, wanted: Wanted, indexes: Sequence[PackageIndex]) -> None:
        """Begin with what committed files name."""
        self._indexes = indexes
        self._projects = dict(wanted.projects)
        self._packages = set(wanted.packages)
        self._files = {address: index for address in wanted.files if (index := self._index_of(address))}
        self._unlocked: set[str] = set()
        """Of these, wheels of projects of which any file may be taken."""
        self._releases = {address: index for address in wanted.releases if (index := self._index_of(address))}
        self._left = MOST_LEARNED

    def authorities(self) -> frozenset[str]:
        """Hosts that may be asked at all."""
        return frozenset(
            name for index in self._indexes for name in (*_authorities(index), *map(authority_of, index.aliases))
        )

    def check(self, authority: str, method: str, target: str, headers: Sequence[tuple[str, str]]) -> Passed:
        """Check a request. Returns the request that the relay sends in its place.

        Args:
            authority: The host that the client has connected to, as :func:`authority_of` spells it.
            method: As it stands in the request.
            target: The same.
            headers: The same, with names in lower case.

        Raises:
            RefusedError: It may not pass.
        """
        if method not in METHODS:
            raise RefusedError("only GET and HEAD pass")
        if any(name in _WITH_BODY and value.strip() != "0" for name, value in headers):
            raise RefusedError("a request with a body does not pass")
        hosts = [value.removesuffix(":443") for name, value in headers if name == "host"]
        if authority not in self.authorities() or hosts != [authority]:
            raise RefusedError("this host is no package index of the person's")
        if not _TARGET.fullmatch(target) or {".", ".."} & set(target.split("/")):
            raise RefusedError("this is no path of a package or of one of its files")
        address = self._spell(f"https://{authority}{target}")
        if address in self._files:
            kind = WHEEL if address in self._unlocked else FILE
            return Passed(self._files[address], method, address, "*/*", kind)
        release = _RELEASE.fullmatch(address)
        if address in self._releases and release is not None:
            return Passed(self._releases[address], method, address, "application/json", RELEASE, release[1])
        file = address.removesuffix(".metadata")
        if file in self._files:
            return Passed(self._files[file], method, address, "*/*", METADATA)
        return self._check_page(address, method, _accept_header(headers))

    def _spell(self, address: str) -> str:
        for index in self._indexes:
            address = index.spell(address)
        return address

    def _check_page(self, address: str, method: str, accepts: str) -> Passed:
        for index in self._indexes:
            if not address.startswith(f"{index.base}/"):
                continue
            below = address[len(index.base) :]
            name = self._project(below) if index.protocol == SIMPLE else self._package(below)
            if name:
                wished, then, otherwise = ACCEPTED[index.protocol]
                accept = then if wished in accepts else otherwise
                return Passed(index, method, _page_address(index, name), accept, PAGE, name)
        raise RefusedError("no committed lock file or manifest of the project names this package or file")

    def _project(self, path: str) -> str:
        found = _PROJECT.fullmatch(path)
        return found[1] if found is not None and found[1] in self._projects else ""

    def _package(self, path: str) -> str:
        found = _PACKAGE.fullmatch(path)
        name = re.sub("%2f", "/", found[1], flags=re.IGNORECASE) if found is not None else ""
        return name if name in self._packages else ""

    def _index_of(self, address: str) -> PackageIndex | None:
        try:
            parts, authority = urlsplit(address), authority_of(address)
        except ValueError:
            return None
        plain = parts.scheme == "https" and "@" not in parts.netloc and not parts.query and not parts.fragment
        if not plain or not _TARGET.fullmatch(parts.path) or address != f"https://{authority}{parts.path}":
            return None
        return next((index for index in self._indexes if authority in _authorities(index)), None)

    # ------------------------------------------------------------ answers
    def learn(self, passed: Passed, kind: str, body: bytes) -> None:
        """Learn from what an index answers about a package that may be asked for.

        Args:
            passed: What it was asked.
            kind: The type of its answer.
            body: Its answer.
        """
        if passed.kind == METADATA:
            self._learn_projects(_requirements(body))
        elif passed.kind == PAGE and passed.asked.protocol == SIMPLE:
            is_json = kind.partition(";")[0].strip() == SIMPLE_JSON
            self._learn_links(passed, _json_links(body, "files", "hashes") if is_json else _html_links(body))
        elif passed.kind == RELEASE:
            self._learn_links(passed, _json_links(body, "urls", "digests"))  # docs.pypi.org, JSON API: one version
        elif passed.kind == PAGE and passed.asked.protocol == NPM:
            self._learn_files(_tarballs(body))

    def _learn_links(self, passed: Passed, links: Iterable[tuple[str, str]]) -> None:
        wanted = self._projects.get(passed.name, frozenset())
        named = [link for link, digest in _with_digests(links, passed.address) if not wanted or digest in wanted]
        self._learn_files(named)
        self._unlocked.update(link for link in named if not wanted and link.endswith(".whl"))

    def learn_from_wheel(self, wheel: IO[bytes]) -> None:
        """Learn from the metadata in a wheel, where an index does not give that by itself."""
        self._learn_projects(_requirements(_read_metadata(wheel)))

    def _learn_files(self, addresses: Iterable[str]) -> None:
        for address in map(self._spell, addresses):
            index = self._index_of(address)
            if index is not None:
                self._files.setdefault(address, index)

    def _learn_projects(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._projects and self._left > 0:
                self._left -= 1
                self._projects[name] = frozenset()


def _authorities(index: PackageIndex) -> tuple[str, ...]:
    return (authority_of(index.base), *index.file_authorities)


def _page_address(index: PackageIndex, name: str) -> str:
    return f"{index.base}/{name}/" if index.protocol == SIMPLE else f"{index.base}/{name.replace('/', '%2f')}"


def _accept_header(headers: Sequence[tuple[str, str]]) -> str:
    return ", ".join(value for name, value in headers if name == "accept")


# ---------------------------------------------------------------- what an index answers
def _with_digests(links: Iterable[tuple[str, str]], page: str) -> Iterator[tuple[str, str]]:
    """Whole addresses without fragments, each with the SHA-256 of what lies there, empty where it is not told."""
    for link, digest in links:
        try:
            address, _, fragment = urljoin(page, link).partition("#")
        except ValueError:
            continue
        found = _DIGEST.search(fragment)
        yield address, digest or (found[1] if found else "")


def _json_links(body: bytes, files_key: str, digests_key: str) -> Iterator[tuple[str, str]]:
    """The files that an object lists under one key, with the SHA-256 that each has under another."""
    files = _parse_object(body).get(files_key)
    for file in files if isinstance(files, list) else ():
        digests = file.get(digests_key) if isinstance(file, dict) else None
        if isinstance(digests, dict) and isinstance(file.get("url"), str):
            yield file["url"], str(digests.get("sha256", ""))


def _html_links(body: bytes) -> Iterator[tuple[str, str]]:
    found: list[tuple[str, str]] = []

    class Links(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag == "a":
                found.extend((value, "") for name, value in attrs if name == "href" and value)

    Links().feed(body.decode("utf-8", "replace"))
    return iter(found)


def _tarballs(body: bytes) -> Iterator[str]:
    versions = _parse_object(body).get("versions")
    for version in versions.values() if isinstance(versions, dict) else ():
        place = version.get("dist") if isinstance(version, dict) else None
        if isinstance(place, dict) and isinstance(place.get("tarball"), str):
            yield place["tarball"]


def _requirements(body: bytes) -> Iterator[str]:
    """The projects that a wheel's metadata names (packaging.python.org, core metadata)."""
    library("packaging")
    from packaging.metadata import parse_email
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    told, _ = parse_email(body)
    for text in told.get("requires_dist", []):
        try:
            parsed = Requirement(text)
        except InvalidRequirement:
            continue
        if parsed.url is None:
            yield canonicalize_name(parsed.name)


def _read_metadata(wheel: IO[bytes]) -> bytes:
    """The metadata in a wheel (packaging.python.org, binary distribution format); empty where it is none."""
    import zipfile

    try:
        with zipfile.ZipFile(wheel) as held:
            names = [name for name in held.namelist() if _METADATA_NAME.fullmatch(name)]
            with held.open(names[0]) as file:
                return file.read(_MOST_METADATA)
    except (OSError, ValueError, LookupError, NotImplementedError, RuntimeError, zipfile.BadZipFile):
        return b""


def _parse_object(body: bytes) -> dict[str, Any]:
    try:
        held = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}
