"""Where the real clients are."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
_PINS = Path(__file__).resolve().parents[1] / "clients" / "package.json"


def versions() -> list[str]:
    """The versions of Claude Code that the tests run with, oldest first."""
    names: dict[str, str] = json.loads(_PINS.read_text(encoding="utf-8"))["dependencies"]
    found = [name.removeprefix("claude-code-") for name in names if name.startswith("claude-code-")]
    return sorted(found, key=lambda version: tuple(map(int, version.split("."))))


def claude_code(version: str) -> Path:
    """The client's program. A missing one fails the test: a check that did not run is no check."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine())
    package = f"@anthropic-ai/claude-code-{sys.platform}-{machine}"
    program = ROOT / ".clients" / "node_modules" / f"claude-code-{version}" / "node_modules" / package / "claude"
    if not program.exists():
        pytest.fail(f"Claude Code {version} is not installed; run scripts/install_clients.sh", pytrace=False)
    return program
