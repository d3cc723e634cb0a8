"""Reads which indexes a person installs from: their own settings of pip, uv and npm, never those of a project.

Settings of a project could name an index of an attacker's. Formats: pip.pypa.io (configuration), docs.astral.sh
(environment variables), docs.npmjs.com (npmrc).
"""

from __future__ import annotations

import base64
import configparser
import os
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from lockgate.containment.registry_proxy.indexes import NPM, NPMJS, PYPI, SIMPLE, PackageIndex
from lockgate.containment.registry_proxy.requests import authority_of
from lockgate.core.errors import ContainmentError
from lockgate.system.files import read_regular

_PIP_FILES = (".config/pip/pip.conf", ".pip/pip.conf", "/etc/xdg/pip/pip.conf", "/etc/pip.conf")
"""The first that names an index counts; those that are not absolute lie in the home folder."""
_PYTHON_VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
_NPM_VARIABLES = ("npm_config_registry", "NPM_CONFIG_REGISTRY")
_MOST = 256 * 1024


def indexes_of(home: str, environ: Mapping[str, str]) -> tuple[PackageIndex, PackageIndex]:
    """The index of Python's packages and that of npm's.

    Args:
        home: The person's home folder.
        environ: The environment of the person's client.

    Raises:
        ContainmentError: A setting names none that can be asked by HTTPS.
    """
    return _python(home, environ), _npm(home, environ)


def _python(home: str, environ: Mapping[str, str]) -> PackageIndex:
    said = next((environ[name] for name in _PYTHON_VARIABLES if environ.get(name)), "")
    said = said or next(filter(None, (_pip_index(os.path.join(home, path)) for path in _PIP_FILES)), "")
    return _index(SIMPLE, said, PYPI.file_authorities) if said else PYPI


def _npm(home: str, environ: Mapping[str, str]) -> PackageIndex:
    settings = dict(_npm_settings(os.path.join(home, ".npmrc")))
    said = next((environ[name] for name in _NPM_VARIABLES if environ.get(name)), "") or settings.get("registry", "")
    index = _index(NPM, said, ()) if said else NPMJS
    if index.base == NPMJS.base:
        index = index._replace(aliases=NPMJS.aliases)
    place = index.base.removeprefix("https:")
    token, basic = (settings.get(f"{place}/:{name}") for name in ("_authToken", "_auth"))
    lets_in = f"Bearer {_expand(token, environ)}" if token else f"Basic {basic}" if basic else index.authorization
    return index._replace(authorization=lets_in)


def _index(protocol: str, address: str, files: tuple[str, ...]) -> PackageIndex:
    try:
        parts, authority = urlsplit(address), authority_of(address)
    except ValueError:
        parts, authority = urlsplit(""), ""
    if parts.scheme != "https" or not authority or parts.query:
        raise ContainmentError("your own settings name a package index that is no https:// address")
    name, _, word = parts.netloc.rpartition("@")[0].partition(":")
    let_in = base64.b64encode(f"{unquote(name)}:{unquote(word)}".encode()).decode("ascii")
    base = f"https://{authority}{parts.path.rstrip('/')}"
    return PackageIndex(protocol, base, files, f"Basic {let_in}" if name else "")


def _pip_index(path: str) -> str:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(read_regular(path, _MOST).decode())
        return parser.get("global", "index-url", fallback="").strip()
    except (OSError, ValueError, configparser.Error):
        return ""


def _npm_settings(path: str) -> Iterator[tuple[str, str]]:
    try:
        text = read_regular(path, _MOST).decode()
    except (OSError, ValueError):
        return
    for line in map(str.strip, text.splitlines()):
        name, mark, value = line.partition("=")
        if mark and not line.startswith((";", "#")):
            yield name.strip(), value.strip().strip("\"'")


def _expand(text: str, environ: Mapping[str, str]) -> str:
    """A token that a person keeps in a variable, as npm's documentation recommends: ``${NPM_TOKEN}``."""
    inner = text.removeprefix("${").removesuffix("}")
    return environ.get(inner, "") if text == f"${{{inner}}}" else text
