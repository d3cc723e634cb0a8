"""Which texts the name of a skill could mean."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lockgate.skills import MOST_BYTES, read_skills


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)


@pytest.fixture
def world(tmp_path: Path) -> Path:
    project = tmp_path / "work" / ".claude"
    _put(project / "skills" / "look" / "SKILL.md", "project")
    _put(project / "skills" / "look" / "references" / "deep.md", "no skill")
    _put(project / "skills" / "folder" / "SKILL.md", '---\nname: "given"\n---\n')
    _put(project / "commands" / "sub" / "deep.md", "command")
    _put(tmp_path / "work" / "web" / ".claude" / "skills" / "look" / "SKILL.md", "nested")
    _put(tmp_path / "home" / ".claude" / "commands" / "look.md", "user")
    _put(tmp_path / "home" / ".claude/plugins/cache/market/tools/1.0/skills/run/SKILL.md", "plugin")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "cwd", "texts"),
    [
        pytest.param("look", "work", {"project", "user"}, id="project and user"),
        pytest.param("look", "work/web/src", {"project", "user", "nested"}, id="a folder between"),
        pytest.param("folder", "work", {'---\nname: "given"\n---\n'}, id="by its folder"),
        pytest.param("given", "work", {'---\nname: "given"\n---\n'}, id="by its own name"),
        pytest.param("sub:deep", "work", {"command"}, id="command in a folder"),
        pytest.param("deep", "work", {"command"}, id="command without it"),
        pytest.param("tools:run", "work", {"plugin"}, id="plugin"),
        pytest.param("simplify", "work", set(), id="none"),
        pytest.param("tools:", "work", set(), id="no name"),
        pytest.param("../look", "work", set(), id="a path"),
    ],
)
def test_a_name(world: Path, name: str, cwd: str, texts: set[str]) -> None:
    found = read_skills(name, str(world / "home"), str(world / "work"), str(world / cwd))
    assert set(found) == texts


def test_what_is_no_small_regular_file_is_not_read(world: Path) -> None:
    where = world / "home" / ".claude" / "commands"
    (where / "big.md").write_text("x" * (MOST_BYTES + 1))
    os.mkfifo(where / "pipe.md")
    found = [read_skills(name, str(world / "home"), "", "/") for name in ("big", "pipe")]
    assert found == [(None,), (None,)]
