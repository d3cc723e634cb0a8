"""What other people's projects need, from PyPI, npm and Debian: each by name, version and hash, below ``.evals``.

A folder belongs to the lock file that it was made from. Where that changes, another folder is made.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".evals" / "containment"
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_SECONDS = 900
"""For one run of a registry's client."""


class MissingError(Exception):
    """This machine has no access to what a project needs."""


def sdists() -> Path:
    """The folder with the source distributions of ``sdists.lock``."""
    return _made("sdists.lock", _download_sdists)


def tools() -> Path:
    """The folder of programs of an environment with what the projects' tests and builds need."""
    return _made("tools.lock", _install_tools) / "bin"


def packages() -> Path:
    """The ``node_modules`` with the packages of ``npm/package-lock.json``."""
    return _made("npm/package-lock.json", _install_packages) / "node_modules"


def debian() -> Path:
    """The folder into which the packages of ``debs.lock`` are unpacked: crates, Go's tools, libraries for Go.

    Raises:
        MissingError: There is no apt here that knows Debian.
    """
    return _made("debs.lock", _unpack_debs)


def upstream() -> Path:
    """The folder with the source archives of ``upstream.lock``, as their authors published them.

    Raises:
        MissingError: There is no apt here that knows Debian.
    """
    return _made("upstream.lock", _download_upstream)


def locked(lock: str) -> Iterator[tuple[str, str, str]]:
    """Name, version and SHA-256 of each line of a lock file."""
    for line in (HERE / lock).read_text("utf-8").splitlines():
        if not line.startswith("#"):
            name, _, rest = line.partition("==")
            version, _, digest = rest.partition(" --hash=sha256:")
            yield name, version, digest


@functools.cache
def _made(lock: str, make: Callable[[Path], None]) -> Path:
    digest = hashlib.sha256((HERE / lock).read_bytes()).hexdigest()[:12]
    folder = CACHE / f"{make.__name__.rpartition('_')[2]}-{digest}"
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE.parent / ".gitignore").write_text("*\n")
    with open(f"{folder}.lock", "w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            (folder / "ready").touch()
    return folder


# ---------------------------------------------------------------- PyPI and npm
def _download_sdists(folder: Path) -> None:
    """Each archive has its own time, and stays where a later one fails: pip builds something for each of them."""
    wanted = list(locked("sdists.lock"))
    for number, (name, version, digest) in enumerate(wanted, 1):
        kept = CACHE / "archives" / digest
        if not kept.exists():
            _tell(f"{number} of {len(wanted)} archives from PyPI: {name} {version}")
            _download_sdist(name, version, digest, kept)
        shutil.copytree(kept, folder, dirs_exist_ok=True)


def _download_sdist(name: str, version: str, digest: str, kept: Path) -> None:
    unfinished = kept.with_name(f"{digest}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    wanted = unfinished / "wanted.lock"
    wanted.write_text(f"{name}=={version} --hash=sha256:{digest}\n")
    options = ["--require-hashes", "--no-deps", "--no-binary", name, "--dest", str(unfinished)]
    _pip(sys.executable, "download", *options, "-r", str(wanted))
    wanted.unlink()
    (archive,) = unfinished.iterdir()
    _check(archive, digest)
    unfinished.rename(kept)


def _install_tools(folder: Path) -> None:
    _tell("tools from PyPI")
    _run(sys.executable, "-m", "venv", "--clear", str(folder))
    _pip(str(folder / "bin" / "python"), "install", "--require-hashes", "-r", str(HERE / "tools.lock"))


def _pip(python: str, *arguments: str) -> None:
    _run(python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments)


def _install_packages(folder: Path) -> None:
    """Nothing of a package runs here: its scripts are left out."""
    _tell("packages from npm")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / "npm" / name, folder)
    _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", cwd=folder)


# ---------------------------------------------------------------- Debian
def _unpack_debs(folder: Path) -> None:
    _tell("packages from Debian")
    archives = folder / "archives"
    archives.mkdir()
    wanted = list(locked("debs.lock"))
    _run("apt-get", *_apt(), "download", "-qq", *(f"{name}={version}" for name, version, _ in wanted), cwd=archives)
    for name, version, digest in wanted:
        escaped = version.replace(":", "%3a")
        (archive,) = archives.glob(f"{name}_{escaped}_*.deb")
        _check(archive, digest)
        _run("dpkg-deb", "--extract", str(archive), str(folder))
    shutil.rmtree(archives)


def _download_upstream(folder: Path) -> None:
    for name, version, digest in locked("upstream.lock"):
        _run("apt-get", *_apt(), "source", "-qq", "--download-only", "--tar-only", f"{name}={version}", cwd=folder)
        found = [path for path in folder.glob(f"{name}_*.orig.tar.*") if path.suffix != ".asc"]
        _check(found[0], digest)


def _check(archive: Path, digest: str) -> None:
    if hashlib.sha256(archive.read_bytes()).hexdigest() != digest:
        raise SystemExit(f"{archive.name} is not the file that was pinned")


@functools.cache
def _apt() -> tuple[str, ...]:
    """Options for an apt that knows this machine's Debian, sources too, and needs nobody's privileges."""
    if not shutil.which("apt-get") or not Path(_KEYS).exists():
        raise MissingError("there is no apt of Debian here")
    fields = ("--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages", "Origin: Debian")
    found = subprocess.run(["apt-get", "indextargets", *fields], check=True, capture_output=True, text=True)
    lines = dict.fromkeys(found.stdout.splitlines())
    folder = CACHE / "apt"
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    listed = [f"{kind} [signed-by={_KEYS}] {line}\n" for line in lines for kind in ("deb", "deb-src")]
    (folder / "sources.list").write_text("".join(listed))
    options = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "",
    }
    words = tuple(word for name, value in options.items() for word in ("-o", f"{name}={value}"))
    _run("apt-get", *words, "update", "-qq")
    return words


def _tell(what: str) -> None:
    print(f"fetching {what}", file=sys.stderr, flush=True)


def _run(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, stdin=subprocess.DEVNULL, timeout=_SECONDS)
