"""What Claude Code includes from ``AGENTS.md`` without an event."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockgate.clients.claude.agents_md import find_loaded
from lockgate.clients.claude.events import ADAPTER as CLAUDE_CODE
from lockgate.core.events import Context, PromptSubmitted, SessionStarted, ToolFinished
from lockgate.core.model import Subject, ToolCall

FILES = {
    "AGENTS.md": "See @docs/style.md, `@.env`. Ask @somebody.",
    "docs/style.md": "and @more.md",
    "docs/more.md": "and @style.md and @../.env.local",
    ".env": "A=b",
    ".env.local": "A=b",
    "pkg/AGENTS.md": "@../../outside.txt @/etc/passwd @~/.ssh/id_rsa @sub @missing.md @../.env",
    "pkg/sub/a.py": "",
    "other/CLAUDE.md": "@../.env",
    "other/a.py": "",
}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "outside.txt").write_text("x")
    for name, text in FILES.items():
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "work"


def _context(work: Path) -> Context:
    return Context("claude-code", Subject("s", ""), str(work), str(work))


def _read(work: Path, path: str, tool: str = "Read") -> ToolFinished:
    return ToolFinished(_context(work), ToolCall(tool, {"file_path": path}, str(work)), "")


def _names(work: Path, event: PromptSubmitted | ToolFinished) -> set[str]:
    return {str(Path(loaded.file).relative_to(work)) for loaded in find_loaded(event)}


def test_a_session_begins_with_what_its_folder_includes(work: Path) -> None:
    names = _names(work, PromptSubmitted(_context(work), "go", human=True))
    assert names == {"docs/style.md", "docs/more.md", ".env", ".env.local"}


def test_a_file_brings_what_the_folders_around_it_include(work: Path) -> None:
    assert ".env" in _names(work, _read(work, f"{work}/pkg/sub/a.py"))
    assert ".env" in _names(work, _read(work, f"{work}/pkg/sub/../sub/./a.py"))


@pytest.mark.parametrize("path", ["/etc/passwd", "a.py", "/", ""])
def test_a_file_elsewhere_brings_nothing(work: Path, path: str) -> None:
    assert _names(work, _read(work, path)) == set()


def test_what_includes_itself_ends(work: Path) -> None:
    (work / "AGENTS.md").write_text(" ".join(f"@{number}.md" for number in range(500)))
    for number in range(500):
        (work / f"{number}.md").write_text(f"@{(number + 1) % 500}.md @AGENTS.md")
    assert len(_names(work, PromptSubmitted(_context(work), "go", human=True))) == 200


def test_only_what_can_have_brought_it_is_looked_at(work: Path) -> None:
    assert not CLAUDE_CODE.find_missed(
        SessionStarted(_context(work), "startup")
    )  # it would make the session one that is known
    assert not CLAUDE_CODE.find_missed(_read(work, f"{work}/pkg/sub/a.py", "Edit"))
    told = CLAUDE_CODE.find_missed(_read(work, f"{work}/pkg/sub/a.py"))
    assert {type(event).__name__ for event in told} == {"InstructionsLoaded"}
