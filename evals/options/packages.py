"""Programs that are not installed: packages of Debian, PyPI and npm, unpacked into a cache without being installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from boxed import CACHE, run

HERE = Path(__file__).resolve().parent
_SECONDS = 300
_LOCK = threading.Lock()


class Place(NamedTuple):
    """Where a program and its documents lie."""

    root: Path
    """What ``usr/share`` lies below."""
    path: tuple[Path, ...] = ()
    libraries: tuple[Path, ...] = ()
    version: str = ""
    """Package and version."""
    name: str = ""
    """What the program is called there, where it has another name."""


def named() -> dict[str, tuple[str, list[str]]]:
    """The kind (``deb``, ``pypi``, ``npm``) and the packages of each program that ``packages.tsv`` names."""
    rows = [
        line.split("\t") for line in (HERE / "packages.tsv").read_text("utf-8").splitlines() if line and line[0] != "#"
    ]
    return {
        word.partition("=")[0]: (kind, packages.split()) for words, kind, packages in rows for word in words.split()
    }


def _renamed(program: str) -> str:
    """The other name that the table gives a program: ``fd=fdfind``."""
    for line in (HERE / "packages.tsv").read_text("utf-8").splitlines():
        for word in line.partition("\t")[0].split():
            if word.startswith(f"{program}="):
                return word.partition("=")[2]
    return ""


def place(program: str) -> Place | None:
    """Where a program lies: in the packages that the table names, or on this machine."""
    if (row := named().get(program)) is not None:
        found_there = fetched(*row)
        return found_there and found_there._replace(name=_renamed(program))
    if (found := shutil.which(program)) is None and not list(Path("/usr/share/man").glob(f"man[168]/{program}.[168]*")):
        return None
    return Place(Path("/"), version=_installed(found))


def fetched(kind: str, packages: list[str]) -> Place | None:
    """The place of packages, which are downloaded where they are not yet in the cache; ``None`` where that fails."""
    with _LOCK:
        return _fetched(kind, packages)


def _fetched(kind: str, packages: list[str]) -> Place | None:
    folder = CACHE / kind / packages[0].replace("/", "+").replace("[", "+").rstrip("]")
    done = folder / ".version"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            version = {"deb": _debian, "pypi": _pypi, "npm": _npm}[kind](folder, packages)
        except (subprocess.SubprocessError, OSError) as error:
            sys.stderr.write(f"{kind} {packages[0]}: {error}\n")
            return None
        done.write_text(version)
    version = done.read_text()
    if kind == "deb":
        bins = tuple(folder / name for name in ("usr/bin", "usr/sbin", "usr/games", "bin", "sbin"))
        libraries = tuple(folder / name for name in ("usr/lib/x86_64-linux-gnu", "usr/lib", "lib/x86_64-linux-gnu"))
        return Place(folder, bins, libraries, version)
    if kind == "pypi":
        return Place(folder, (folder / "bin",), (), version)
    return Place(folder, (folder / "node_modules/.bin",), (), version)


def _debian(folder: Path, packages: list[str]) -> str:
    download = folder / ".download"
    download.mkdir()
    _run("apt-get", "-q", "download", *packages, cwd=download)
    for file in sorted(download.glob("*.deb")):
        _run("dpkg-deb", "-x", str(file), str(folder))
    first = next(file for file in download.glob(f"{packages[0]}_*"))
    version = first.name.split("_")[1].replace("%3a", ":")
    shutil.rmtree(download)
    return f"Debian {packages[0]} {version}"


def _pypi(folder: Path, packages: list[str]) -> str:
    _run(sys.executable, "-m", "venv", str(folder))
    python = str(folder / "bin" / "python")
    _run(python, "-m", "pip", "install", "-q", "--only-binary", ":all:", *packages, cwd=folder)
    name = packages[0].partition("[")[0]
    shown = _run(python, "-m", "pip", "show", name, cwd=folder)
    version = next(line.split(": ", 1)[1] for line in shown.splitlines() if line.startswith("Version"))
    return f"PyPI {name} {version}"


def _npm(folder: Path, packages: list[str]) -> str:
    (folder / "package.json").write_text('{"private":true}')
    _run("npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", *packages, cwd=folder)
    version = _run("node", "-p", f"require('./node_modules/{packages[0]}/package.json').version", cwd=folder).strip()
    return f"npm {packages[0]} {version}"


def _installed(found: str | None) -> str:
    """The Debian package of a file of this machine and its version, or the version that it prints; else empty."""
    if found is None:
        return ""
    for path in dict.fromkeys((found, os.path.realpath(found), found.removeprefix("/usr"))):
        told = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True, check=False).stdout
        owners = [line.partition(":")[0] for line in told.splitlines() if not line.startswith("diversion")]
        if owners:
            name = owners[0].split(",")[0].strip()
            return "Debian " + _run("dpkg-query", "-W", "-f", "${Package} ${Version}", name, cwd=HERE)
    version = re.search(r"\d+(?:\.\d+)+", run([found, "--version"]))
    return f"{Path(found).name} {version.group()}" if version else ""


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise subprocess.SubprocessError(f"{' '.join(command[:4])}: {done.stderr.strip()[-300:]}")
    return done.stdout
