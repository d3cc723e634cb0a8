"""detect-secrets on the corpus, for the same table: the one known tool that comes from PyPI."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from caching import cache

VERSION = "detect-secrets==1.5.0"


def install() -> Path:
    """Make the virtual environment if it is not there; gives its interpreter."""
    folder = cache("detect-secrets")
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", VERSION], check=True
        )
        (folder / "done").write_text(VERSION, encoding="utf-8")
    return python


def found(texts: Sequence[str], *, by_lines: bool = False) -> list[bool]:
    """Whether it finds anything, for each text."""
    command = [str(install()), str(Path(__file__).with_name("rival.py")), *(["lines"] if by_lines else [])]
    given = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    answers = [bool(json.loads(line)) for line in done.stdout.splitlines()]
    if len(answers) != len(texts):
        raise ValueError("detect-secrets did not answer every text")
    return answers
