"""Describes package indexes and what may be asked of each: the grammar of requests, as data.

Protocols: packaging.python.org (simple repository API: PEP 503, 658, 691) and github.com/npm/registry (package
metadata, tarballs).
"""

from __future__ import annotations

import re

from lockgate.core.record import Record

SIMPLE, NPM = "simple", "npm"

SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"
_SCOPE = re.compile(r"/(@[a-z0-9][a-z0-9._~-]*)%2f", re.ASCII | re.IGNORECASE)
NPM_SHORT = "application/vnd.npm.install-v1+json"


class PackageIndex(Record):
    """One index that a person installs from."""

    protocol: str
    base: str
    """Its address, without credentials and without a slash at the end."""
    file_authorities: tuple[str, ...] = ()
    """Hosts, with a port where it is another than 443, that its files lie on, beside its own."""
    authorization: str = ""
    """What lets the person in, as the value of that header."""
    aliases: tuple[str, ...] = ()
    """Other addresses at which the same index is, which lock files name. It is asked at ``base`` all the same."""

    def spell(self, address: str) -> str:
        """An address in the spelling in which the index is asked: below its base, and with a plain scope of npm's."""
        for alias in self.aliases:
            if address.startswith(f"{alias}/"):
                address = f"{self.base}{address[len(alias) :]}"
        below = address[len(self.base) :] if address.startswith(f"{self.base}/") else ""
        found = _SCOPE.match(below) if self.protocol == NPM else None
        return f"{self.base}/{found[1]}/{below[found.end() :]}" if found is not None else address


PYPI = PackageIndex(SIMPLE, "https://pypi.org/simple", ("files.pythonhosted.org",))
NPMJS = PackageIndex(NPM, "https://registry.npmjs.org", aliases=("https://registry.yarnpkg.com",))

METHODS = ("GET", "HEAD")
ACCEPTED = {
    SIMPLE: (SIMPLE_JSON, f"{SIMPLE_JSON}, text/html;q=0.2", "text/html"),
    NPM: (NPM_SHORT, f"{NPM_SHORT}; q=1.0, application/json; q=0.8", "application/json"),
}
"""By protocol: the type that a client may ask for, what the index is then asked for, and what it is asked for else."""
TOLD_BACK = ("content-type", "cache-control", "etag", "last-modified", "date")
"""Headers of an answer that the client gets."""
MOST_PAGE = 64 * 1024 * 1024
"""Bytes of an answer about a package."""
MOST_FILE = 2 * 1024 * 1024 * 1024
"""Bytes of a file."""
MOST_LEARNED = 5_000
"""Names that answers may add, all together."""
