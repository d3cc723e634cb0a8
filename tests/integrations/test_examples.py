"""The examples run as they are, against a model on loopback, and show what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .fake import EXAMPLES

pytestmark = pytest.mark.slow

ROOT = EXAMPLES.parent
SHOWN = {
    "in_process.py": ["deny     Bash git push", "contain  Bash sh report.sh", "['all is well']", "untrusted"],
    "with_claude_agent_sdk.py": ["hook error: Lockgate blocked this call (Bash: git push", "end: I could not push."],
    "with_openai_agents.py": ["Lockgate blocked this call (Bash: git push", "all is well", "end: I could not push."],
}
DOCS = ("sdk.md", "claude-agent-sdk.md", "openai-agents.md")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.e2e] * ("claude" in name)) for name in SHOWN])
def test_an_example(name: str, tmp_path: Path) -> None:
    shown = _run(str(EXAMPLES / name), "--fake", home=tmp_path)
    for line in SHOWN[name]:
        assert line in shown, shown


def test_every_example_is_run() -> None:
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    assert programs == {*SHOWN, "fake_model.py"}


@pytest.mark.parametrize(
    ("name", "number", "snippet"),
    [
        pytest.param(name, number, snippet, id=f"{name}-{number}")
        for name in DOCS
        for number, snippet in enumerate(
            re.findall(r"```python\n(.*?)```", (ROOT / "docs" / name).read_text("utf-8"), re.DOTALL), 1
        )
    ],
)
def test_a_snippet_of_the_documents(name: str, number: int, snippet: str, tmp_path: Path) -> None:
    """Each is a whole program: it says what it shows in its assertions."""
    program = tmp_path / f"snippet_{number}.py"
    program.write_text(f"import sys\nsys.path.append({str(EXAMPLES)!r})\n{snippet}")
    work = tmp_path / "work"
    work.mkdir()
    _run(str(program), home=tmp_path, cwd=work)


def _run(*words: str, home: Path, cwd: Path | None = None) -> str:
    environment = {**os.environ, "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, *words], env=environment, cwd=cwd or home, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
