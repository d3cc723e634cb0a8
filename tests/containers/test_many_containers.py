"""Many containers at once, in small: none lost, none mixed up, and one that floods keeps nobody waiting for ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / "evals" / "ipc" / "run.py"


@pytest.mark.stress
def test_none_lost_and_none_mixed_up(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, str(RUN), "--clients", "12", "--seconds", "4", "--json", str(report)]
    done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(report.read_text())
    phases = [each for each in said.values() if isinstance(each, dict)]
    assert [(each["lost"], each["wrong"]) for each in phases] == [(0, 0)] * 4
    assert said["the same, while one floods"]["flooded"] > 0
    assert said["mixed up in the audit"] == 0
