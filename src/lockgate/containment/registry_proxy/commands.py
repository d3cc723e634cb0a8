"""Commands that install what committed files name: which files they read, and what they ask package indexes for.

Only forms that stand here are known. With any other option or operand an install is asked about.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from lockgate.containment.registry_proxy import lock_files
from lockgate.containment.registry_proxy.indexes import PackageIndex
from lockgate.containment.registry_proxy.lock_files import ReadFile, UncoveredError
from lockgate.containment.registry_proxy.wanted import Wanted
from lockgate.core.record import Record

_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
_PIP = re.compile(r"pip(?:3(?:\.\d+)?)?")
_EVERYWHERE = frozenset(("-q", "--quiet", "-v", "--verbose", "--no-progress", "--no-color"))
_PIP_FLAGS = _EVERYWHERE | {
    *("--no-deps", "--no-build-isolation", "--no-cache-dir", "--no-cache", "--no-input", "--pre", "-U", "--upgrade"),
    *("--disable-pip-version-check", "--require-hashes", "--prefer-binary", "--no-warn-script-location", "--compile"),
    *("--no-compile", "--force-reinstall", "--strict"),
}
_LISTS = frozenset(("-r", "--requirement", "--requirements"))
_CONSTRAINTS = frozenset(("-c", "--constraint", "--constraints"))
_PLACES = frozenset(("-e", "--editable"))
_PIP_VALUES = frozenset(
    ("--progress-bar", "--upgrade-strategy", "--only-binary", "--no-binary", "--timeout", "--retries")
)
_UV_FLAGS = _EVERYWHERE | {
    *("--frozen", "--locked", "--all-extras", "--dev", "--no-dev", "--only-dev", "--all-groups", "--all-packages"),
    *("--no-default-groups", "--inexact", "--exact", "--reinstall", "--no-install-project", "--no-editable"),
    *("--compile-bytecode", "--no-cache"),
}
_UV_VALUES = frozenset(("--extra", "--no-extra", "--group", "--no-group", "--only-group", "--package"))
_NPM_FLAGS = _EVERYWHERE | {
    *("--no-audit", "--no-fund", "--ignore-scripts", "--silent", "-s", "--prefer-offline", "--production", "--force"),
    *("-f", "--legacy-peer-deps", "--no-optional", "--foreground-scripts"),
    *("--audit=false", "--fund=false", "--progress=false"),
}
_NPM_VALUES = frozenset(("--include", "--omit", "--loglevel"))
_NPM_INSTALLS = frozenset(("ci", "clean-install", "install", "i"))

RULES = frozenset(
    {"program:pip/install", "program:uv/pip/install", "program:uv/sync", *(f"program:npm/{it}" for it in _NPM_INSTALLS)}
)
"""How the analysis calls the effects of these commands."""


class Install(Record):
    """A command that installs."""

    manager: str
    """``pip``, ``uv pip``, ``uv sync`` or ``npm``."""
    program: str
    """The word by which it is started."""
    words: tuple[str, ...]
    """What stands behind the command's name."""


def install_of(words: Sequence[str]) -> Install | None:
    """The install that a simple command is; ``None`` where it is none."""
    name = posixpath.basename(words[0]) if words else ""
    if _PYTHON.fullmatch(name) and tuple(words[1:4]) == ("-m", "pip", "install"):
        return Install("pip", words[0], tuple(words[4:]))
    if _PIP.fullmatch(name) and tuple(words[1:2]) == ("install",):
        return Install("pip", words[0], tuple(words[2:]))
    if name == "uv" and tuple(words[1:3]) == ("pip", "install"):
        return Install("uv pip", words[0], tuple(words[3:]))
    if name == "uv" and tuple(words[1:2]) == ("sync",):
        return Install("uv sync", words[0], tuple(words[2:]))
    if name == "npm" and len(words) > 1 and words[1] in _NPM_INSTALLS:
        return Install("npm", words[0], tuple(words[2:]))
    return None


def wanted_by(install: Install, folder: str, read: ReadFile, indexes: tuple[PackageIndex, PackageIndex]) -> Wanted:
    """What an install asks for, as committed files say it.

    Args:
        install: The command.
        folder: Where it runs, from the root of the repository; empty for the root itself.
        read: Reads a committed file. It is asked for each file that says what is installed.
        indexes: The indexes of Python's packages and of npm's.

    Raises:
        UncoveredError: They do not say it.
    """
    python, npm = indexes
    if install.manager in ("pip", "uv pip"):
        return _by_pip(install.words, folder, read)
    if install.manager == "uv sync":
        for _ in _operands(install.words, _UV_FLAGS, _UV_VALUES):
            raise UncoveredError("`uv sync` is given something that is not known")
        lock_files.must_have(posixpath.normpath(posixpath.join(folder, "pyproject.toml")), read)
        return lock_files.uv_lock(folder, read, python.base)
    for _, word in _operands(install.words, _NPM_FLAGS, _NPM_VALUES):
        raise UncoveredError(f"{word!r} is a new dependency")
    for place in (folder, *lock_files.npm_workspaces(folder, read)):
        lock_files.must_have(posixpath.normpath(posixpath.join(place, "package.json")), read)
    return lock_files.package_lock(folder, read, npm.base)


def _by_pip(words: Sequence[str], folder: str, read: ReadFile) -> Wanted:
    build, needs = "--no-build-isolation" not in words, "--no-deps" not in words
    found, is_said = Wanted(), False
    for option, word in _operands(words, _PIP_FLAGS, _PIP_VALUES, _LISTS | _CONSTRAINTS | _PLACES):
        is_said = is_said or option not in _CONSTRAINTS
        if option in _LISTS or option in _CONSTRAINTS:
            found = found.joined(lock_files.requirements(_below(folder, word), read))
            continue
        named = lock_files.extras_of(word)
        if named is None or not named[0].startswith("."):
            raise UncoveredError(f"{word!r} is a new dependency")
        place, extras = _below(folder, named[0]), named[1]
        if needs:
            found = found.joined(lock_files.project(place, read, extras, build=build))
        elif build:
            found = found.joined(lock_files.builders(place, read))
    if not is_said:
        raise UncoveredError("it does not say what is installed")
    return found


def _operands(
    words: Sequence[str], flags: frozenset[str], values: frozenset[str], told: frozenset[str] = frozenset()
) -> Iterator[tuple[str, str]]:
    """Options of ``told`` with their values, and operands with an empty option. Those of ``values`` say nothing.

    Raises:
        UncoveredError: An option is not known.
    """
    left = iter(words)
    for word in left:
        name, mark, value = word.partition("=")
        if "-r" in told and word.startswith("-r") and len(word) > 2:
            name, mark, value = "-r", "=", word[2:]
        if word in flags:
            continue
        if name in values or name in told:
            value = value if mark else next(left, "")
            if name in told:
                yield name, value
        elif word.startswith("-"):
            raise UncoveredError(f"its option {name!r} is not known")
        else:
            yield "", word


def _below(folder: str, word: str) -> str:
    path = posixpath.normpath(posixpath.join(folder, word))
    if path.startswith(("/", "../")) or path == "..":
        raise UncoveredError(f"{word!r} lies outside of the repository")
    return "" if path == "." else path
