"""Source code of published packages, as text that holds no secret: ``packages.lock`` names them with their hashes.

None of their text is kept in this repository; ``fetch`` downloads it into a cache.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from caching import cache

LOCK = Path(__file__).with_name("packages.lock")
_SUFFIXES = frozenset(
    [
        ".py",
        ".pyi",
        ".js",
        ".mjs",
        ".cjs",
        ".ts",
        ".json",
        ".md",
        ".rst",
        ".txt",
        ".html",
        ".css",
        ".scss",
        ".yaml",
        ".yml",
        ".toml",
        ".cfg",
        ".map",
        ".svg",
        ".po",
    ]
)
_LINES = 20
"""Of a text."""
_OF_A_FILE = 2
_MOST = 6_000
"""Characters of a text: of a long line only its beginning."""
_SUSPICIOUS = re.compile(
    r"(?i)(?:passw|passphrase|secret|token|api.?key|credential|auth)\w*[\"']?\]?\s*(?:[:=]|=>)\s*\S|[A-Za-z0-9+/_-]{24}|[0-9]{9}|://[^/\s]*@"
)
_PERSONAL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+|-----BEGIN [A-Z ]*PRIVATE KEY")
"""Texts with an address or a key are left out, since these are there."""


def fetch() -> Path:
    """Download and unpack what is not there yet.

    Raises:
        ValueError: A package is not the one that was pinned.
        subprocess.CalledProcessError: It cannot be downloaded.
    """
    folder = cache("packages")
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        index, name, version, expected = line.split()
        target = folder / f"{name.replace('/', '-').strip('@')}-{version}"
        if not target.exists():
            archive = _downloaded(folder / "archives", index, name, version)
            _check(archive, expected)
            _unpack(archive, target)
    return folder


def _downloaded(folder: Path, index: str, name: str, version: str) -> Path:
    folder.mkdir(exist_ok=True)
    before = set(folder.iterdir())
    if index == "pypi":
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*pip, "--dest", str(folder), f"{name}=={version}"], check=True)
    else:
        subprocess.run(
            ["npm", "pack", "--silent", f"{name}@{version}"], check=True, cwd=folder, stdout=subprocess.DEVNULL
        )
    new = set(folder.iterdir()) - before
    if len(new) != 1:
        raise ValueError(f"{name} {version} did not come as one file")
    return new.pop()


def _check(archive: Path, expected: str) -> None:
    data = archive.read_bytes()
    sha512 = base64.b64encode(hashlib.sha512(data).digest()).decode()
    if expected not in (f"sha256:{hashlib.sha256(data).hexdigest()}", f"sha512-{sha512}"):
        archive.unlink()
        raise ValueError(f"{archive.name} is not what packages.lock says")


def _unpack(archive: Path, target: Path) -> None:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(target)
    else:
        with tarfile.open(archive) as package:
            package.extractall(target, filter="data")
    archive.unlink()


def is_minified(name: str) -> bool:
    """Whether a file is what a bundler made."""
    file = name.rpartition(":")[0]
    return ".min." in file or file.endswith(".map") or ("/dist/" in file and file.endswith((".prod.js", ".umd.js")))


def texts(folder: Path, chance: Random, count: int = 4_000) -> list[tuple[str, str]]:
    """Pieces of files with their names: at most some of a file, the same ones each time."""
    found = list(_pieces(folder, chance))
    return sorted(chance.sample(found, min(count, len(found))))


def _pieces(folder: Path, chance: Random) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.rglob("*")):
        if file.suffix not in _SUFFIXES or not file.is_file() or file.is_symlink():
            continue
        name = file.relative_to(folder).as_posix()
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        for begin in _begins(lines, chance):
            text = "".join(lines[begin : begin + _LINES])[:_MOST]
            if text.strip() and not _PERSONAL.search(text):
                yield f"{name}:{begin + 1}", text


def _begins(lines: Sequence[str], chance: Random) -> list[int]:
    """Lines at which pieces begin: one anywhere, and some just before what a scanner may take for a secret."""
    suspicious = [max(0, number - 5) for number, line in enumerate(lines) if _SUSPICIOUS.search(line)]
    anywhere = [chance.randrange(len(lines))] if lines else []
    return sorted({*anywhere, *chance.sample(suspicious, min(_OF_A_FILE, len(suspicious)))})
