"""Commands that install what committed files name, or ask about it: which files say so, and what indexes are asked for.

Only forms that stand here are known. With any other option or operand such a command is asked about.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from lockgate.containment.registry_proxy import javascript_locks, lock_files
from lockgate.containment.registry_proxy.committed_files import ReadFile, UncoveredError, check_committed, path_in
from lockgate.containment.registry_proxy.indexes import PackageIndex
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
_POETRY_FLAGS = _EVERYWHERE | {
    *("-n", "--no-interaction", "--ansi", "--no-ansi", "-vv", "-vvv", "--no-root", "--all-extras", "--all-groups"),
    *("--sync", "--compile", "--only-root", "--no-plugins", "--no-cache"),
}
_POETRY_VALUES = frozenset(("--only", "--with", "--without", "-E", "--extras"))
_NPM_FLAGS = _EVERYWHERE | {
    *("--no-audit", "--no-fund", "--ignore-scripts", "--silent", "-s", "--prefer-offline", "--production", "--force"),
    *("-f", "--legacy-peer-deps", "--no-optional", "--foreground-scripts"),
    *("--audit=false", "--fund=false", "--progress=false"),
}
_NPM_VALUES = frozenset(("--include", "--omit", "--loglevel"))
_PNPM_FLAGS = _EVERYWHERE | {
    *("--frozen-lockfile", "--no-frozen-lockfile", "--prefer-frozen-lockfile", "--no-prefer-frozen-lockfile"),
    *("--prod", "--production", "-P", "--dev", "-D", "--no-optional", "--ignore-scripts", "--prefer-offline"),
    *("--silent", "-s", "--force", "--shamefully-hoist", "--strict-peer-dependencies", "--side-effects-cache"),
    *("--no-strict-peer-dependencies", "--ignore-pnpmfile", "--color", "--lockfile-only", "--fix-lockfile"),
}
_PNPM_VALUES = frozenset(("--reporter", "--loglevel", "--network-concurrency", "--child-concurrency"))
_YARN_FLAGS = _EVERYWHERE | {
    *("--frozen-lockfile", "--pure-lockfile", "--immutable", "--immutable-cache", "--check-cache", "--check-files"),
    *("--non-interactive", "--production", "--prod", "--ignore-scripts", "--ignore-engines", "--ignore-optional"),
    *("--ignore-platform", "--silent", "-s", "--prefer-offline", "--force", "--inline-builds", "--json"),
    *("--production=true", "--production=false", "--no-immutable", "--skip-builds"),
}
_YARN_VALUES = frozenset(("--mode", "--network-timeout", "--network-concurrency"))
_JAVASCRIPT = {
    "npm": (_NPM_FLAGS, _NPM_VALUES),
    "pnpm": (_PNPM_FLAGS, _PNPM_VALUES),
    "yarn": (_YARN_FLAGS, _YARN_VALUES),
}
"""Options and options with a value of each manager of JavaScript's packages."""
_NPM_INSTALLS = frozenset(("ci", "clean-install", "install", "i"))
_PNPM_INSTALLS = frozenset(("install", "i"))
_YARN_INSTALLS = frozenset(("install",))
_NPM_VIEWS = frozenset(("view", "info", "show", "v"))
_NPM_QUERY_FLAGS = _EVERYWHERE | {"--json", "--silent", "-s", "--long", "-l", "--parseable", "-p", "--all", "-a"}
_PIP_QUERY_FLAGS = _EVERYWHERE | {"--json", "--pre", "--no-cache-dir", "--no-input", "--disable-pip-version-check"}

RULES = frozenset(
    {
        *(f"program:{it}/{command}" for it in ("pip", "pip3") for command in ("install", "index")),
        *("program:uv/pip/install", "program:uv/sync", "program:poetry/install", "program:poetry/sync"),
        *(f"program:npm/{it}" for it in (*_NPM_INSTALLS, *_NPM_VIEWS, "outdated")),
        *(f"program:pnpm/{it}" for it in _PNPM_INSTALLS),
        *(f"program:{it}" for it in ("yarn", "yarnpkg", "yarn/install", "yarnpkg/install")),
    }
)
"""How the analysis calls the effects of these commands."""


class Install(Record):
    """A command that installs, or asks an index about packages."""

    manager: str
    """``pip``, ``uv pip``, ``uv sync``, ``poetry``, ``npm``, ``pnpm``, ``yarn``, or ``npm view`` and the like."""
    program: str
    """The word by which it is started."""
    words: tuple[str, ...]
    """What stands behind the command's name."""

    @property
    def writes_packages(self) -> bool:
        """Whether it installs packages of Python, somewhere."""
        return self.manager in ("pip", "uv pip", "uv sync", "poetry")

    @property
    def asks_only(self) -> bool:
        """Whether it only asks an index, and installs nothing."""
        return self.manager in ("pip index", "npm view", "npm outdated")

    @property
    def is_exact(self) -> bool:
        """Whether it removes all packages that the lock file does not name."""
        return self.manager in _JAVASCRIPT or (self.manager == "uv sync" and "--inexact" not in self.words)


def install_of(words: Sequence[str]) -> Install | None:
    """The install that a simple command is; ``None`` where it is none."""
    name = posixpath.basename(words[0]) if words else ""
    if _PYTHON.fullmatch(name) and tuple(words[1:3]) == ("-m", "pip"):
        return _read_pip(words[0], words[3:])
    if _PIP.fullmatch(name):
        return _read_pip(words[0], words[1:])
    if name == "uv" and tuple(words[1:3]) == ("pip", "install"):
        return Install("uv pip", words[0], tuple(words[3:]))
    if name == "uv" and tuple(words[1:2]) == ("sync",):
        return Install("uv sync", words[0], tuple(words[2:]))
    if name == "poetry":
        return _read_poetry(words)
    return _read_javascript(name.replace("yarnpkg", "yarn"), words) if len(words) > 0 else None


def _read_pip(program: str, words: Sequence[str]) -> Install | None:
    if tuple(words[:1]) == ("install",):
        return Install("pip", program, tuple(words[1:]))
    return Install("pip index", program, tuple(words[2:])) if tuple(words[:2]) == ("index", "versions") else None


def _read_poetry(words: Sequence[str]) -> Install | None:
    place = next((place for place, word in enumerate(words) if place and word not in _POETRY_FLAGS), len(words))
    if tuple(words[place : place + 1]) not in (("install",), ("sync",)):
        return None
    return Install("poetry", words[0], (*words[1:place], *words[place + 1 :]))


def _read_javascript(manager: str, words: Sequence[str]) -> Install | None:
    """The install, or the question, of a manager of JavaScript's packages. Its options may stand before its command."""
    if manager not in _JAVASCRIPT:
        return None
    flags, values = _JAVASCRIPT[manager]
    place = 1
    while place < len(words) and (words[place] in flags or words[place].partition("=")[0] in values):
        place += 1 if words[place] in flags or "=" in words[place] else 2
    command = words[place] if place < len(words) else "install" if manager == "yarn" else ""
    rest = (*words[1:place], *words[place + 1 :])
    if manager == "npm" and command in _NPM_VIEWS:
        return Install("npm view", words[0], rest)
    if manager == "npm" and command == "outdated":
        return Install("npm outdated", words[0], rest)
    installs = {"npm": _NPM_INSTALLS, "pnpm": _PNPM_INSTALLS, "yarn": _YARN_INSTALLS}[manager]
    return Install(manager, words[0], rest) if command in installs else None


def find_wanted(install: Install, folder: str, read: ReadFile, indexes: tuple[PackageIndex, PackageIndex]) -> Wanted:
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
    if install.asks_only:
        return _find_asked_about(install, folder, read, indexes)
    if install.manager in ("pip", "uv pip"):
        return _find_wanted_by_pip(install.words, folder, read)
    if install.manager == "uv sync":
        for _ in _operands(install.words, _UV_FLAGS, _UV_VALUES):
            raise UncoveredError("`uv sync` is given something that is not known")
        check_committed(path_in(folder, "pyproject.toml"), read)
        return lock_files.uv_lock(folder, read, python.base)
    if install.manager == "poetry":
        for _ in _operands(install.words, _POETRY_FLAGS, _POETRY_VALUES):
            raise UncoveredError("`poetry` is given something that is not known")
        check_committed(path_in(folder, "pyproject.toml"), read)
        return lock_files.poetry_lock(folder, read, python, build="--no-root" not in install.words)
    for _, word in _operands(install.words, *_JAVASCRIPT[install.manager]):
        raise UncoveredError(f"{word!r} is a new dependency")
    if install.manager == "pnpm":
        return javascript_locks.pnpm_lock(folder, read, npm)
    if install.manager == "yarn":
        return javascript_locks.yarn_lock(folder, read, npm)
    for place in (folder, *javascript_locks.npm_workspaces(folder, read)):
        check_committed(path_in(place, "package.json"), read)
    return javascript_locks.package_lock(folder, read, npm)


def _find_asked_about(
    install: Install, folder: str, read: ReadFile, indexes: tuple[PackageIndex, PackageIndex]
) -> Wanted:
    """What a command that installs nothing asks for: pages of packages that are committed."""
    flags = _PIP_QUERY_FLAGS if install.manager == "pip index" else _NPM_QUERY_FLAGS
    operands = [word for _, word in _operands(install.words, flags, frozenset(("--loglevel",)))]
    if install.manager == "npm outdated":
        # It asks for all of them, and tells of those that are named.
        check_committed(path_in(folder, "package.json"), read)
        return Wanted(packages=javascript_locks.package_lock(folder, read, indexes[1]).packages)
    if not operands or (install.manager == "pip index" and len(operands) > 1):
        raise UncoveredError("it does not say which package is meant")
    if install.manager == "pip index":
        return lock_files.python_package(operands[0], folder, read, indexes[0].base)
    # What follows says which part of the answer is shown.
    return javascript_locks.npm_package(operands[0], folder, read, indexes[1])


def _find_wanted_by_pip(words: Sequence[str], folder: str, read: ReadFile) -> Wanted:
    build, needs = "--no-build-isolation" not in words, "--no-deps" not in words
    found, is_said = Wanted(), False
    for option, word in _operands(words, _PIP_FLAGS, _PIP_VALUES, _LISTS | _CONSTRAINTS | _PLACES):
        is_said = is_said or option not in _CONSTRAINTS
        if option in _LISTS or option in _CONSTRAINTS:
            found = found.join(lock_files.requirements(_path_below(folder, word), read))
            continue
        named = lock_files.extras_of(word)
        if named is None or not named[0].startswith("."):
            raise UncoveredError(f"{word!r} is a new dependency")
        place, extras = _path_below(folder, named[0]), named[1]
        if needs:
            found = found.join(lock_files.project(place, read, extras, build=build))
        elif build:
            found = found.join(lock_files.builders(place, read))
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


def _path_below(folder: str, word: str) -> str:
    path = path_in(folder, word)
    if path.startswith(("/", "../")) or path == "..":
        raise UncoveredError(f"{word!r} lies outside of the repository")
    return "" if path == "." else path
