"""Where what is downloaded lies: ``.evals`` in the checkout, which git ignores."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2] / ".evals"


def cache(name: str) -> Path:
    """A folder for one purpose, made if it is not there."""
    folder = _ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    (_ROOT / ".gitignore").write_text("*\n", encoding="utf-8")
    return folder
