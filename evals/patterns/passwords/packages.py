"""Lines of published packages that speak of passwords and hold none: ``packages.py FOLDER`` fetches them.

All packages have permissive licences (Apache-2.0, BSD, ISC, MIT); none of their text is kept in this repository.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

PYPI = {
    "tuned": [
        "django==5.2.19",
        "flask==3.1.3",
        "requests==2.34.2",
        "pygments==2.21.0",
        "authlib==1.9.9",
        "sqlalchemy==2.1.9",
        "transformers==5.23.0",
    ],
    "heldout": [
        "fastapi==0.165.0",
        "httpx==0.28.1",
        "botocore==1.44.5",
        "celery==5.7.0",
        "redis==8.1.0",
        "pymysql==1.2.4",
        "oauthlib==4.0.1",
        "pydantic==2.14.3",
        "jinja2==3.1.6",
    ],
}
NPM = {
    "tuned": ["axios@1.21.1", "webpack@5.112.2", "lodash@4.18.1", "passport@0.7.0"],
    "heldout": ["jose@6.2.17", "express@5.3.0", "next-auth@4.24.15", "ajv@8.20.0", "typescript@7.0.2"],
}
_NAMES = re.compile(r"passw|passphrase|pwd|secret|token|api.?key|credential|auth", re.IGNORECASE)
_SUFFIXES = (
    ".py",
    ".js",
    ".mjs",
    ".ts",
    ".json",
    ".md",
    ".rst",
    ".txt",
    ".html",
    ".po",
    ".yaml",
    ".yml",
    ".toml",
    ".cfg",
)
_MOST_OF_A_FILE = 40


def fetch(folder: Path) -> None:
    """Download and unpack what is not there yet."""
    for part in PYPI:
        target = folder / part
        target.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(target)]
        subprocess.run([*pip, *PYPI[part]], check=True)
        subprocess.run(["npm", "pack", "--silent", *NPM[part]], check=True, cwd=target, stdout=subprocess.DEVNULL)
        for wheel in target.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(target / wheel.stem)
        for package in target.glob("*.tgz"):
            with tarfile.open(package) as archive:
                archive.extractall(target / package.stem, filter="data")


def lines(folder: Path, part: str, count: int = 3_000) -> list[str]:
    """Lines with the words of secrets, the same ones each time; of no file very many."""
    found = sorted(set(_lines(folder / part)))
    return Random(part).sample(found, min(count, len(found)))


def _lines(folder: Path) -> Iterator[str]:
    for file in sorted(folder.rglob("*")):
        if file.suffix in _SUFFIXES and file.is_file():
            text = file.read_text(encoding="utf-8", errors="replace")
            those = [line.strip() for line in text.splitlines() if len(line) < 400 and _NAMES.search(line)]
            yield from Random(file.name).sample(those, min(_MOST_OF_A_FILE, len(those)))


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
