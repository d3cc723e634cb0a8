"""Which texts the name of a skill could mean."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lockgate.gate.host.claude_skills import MOST_BYTES, read_skills


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


@pytest.mark.parametrize(
    "head",
    [
        pytest.param('name: "rev\\x69ew"', id="an escape"),
        pytest.param('"n\\x61me": review', id="an escape in the key"),
        pytest.param("name: >-\n  review", id="folded"),
        pytest.param("name:\n  review", id="on the next line"),
        pytest.param("{description: x, name: review}", id="in braces"),
        pytest.param("? name\n: review", id="a key by its mark"),
        pytest.param("name : review", id="a blank before the colon"),
        pytest.param("name: &a review", id="with an anchor"),
        pytest.param("description: x\rname: review", id="behind a carriage return"),
        pytest.param("description: x\u2028name: review", id="behind a line separator"),
        pytest.param("name: other\nname: review", id="the second name"),
        pytest.param("'name': review", id="a key in quotes"),
    ],
)
def test_a_name_however_it_is_spelt(world: Path, head: str) -> None:
    text = f"---\n{head}\n---\nit\n"
    _put(world / "work/.claude/skills/odd/SKILL.md", text)
    assert read_skills("review", str(world / "home"), str(world / "work"), str(world / "work")) == (text,)


@pytest.mark.parametrize("head", ["name: !!str review", "name: [", "<<: {name: review}", "name: {a: b}", "name: x"])
def test_a_name_that_cannot_be_told_may_be_any(world: Path, head: str) -> None:
    _put(world / "work/.claude/skills/odd/SKILL.md", f"---\n{head}\n" + "---\n" * (head != "name: x"))
    assert read_skills("review", str(world / "home"), str(world / "work"), str(world / "work")) == (None,)


@pytest.mark.parametrize(
    "head",
    [
        "name: tidy-up",
        "name: 'tidy'\ndescription: |\n  Review: when asked to review\nallowed-tools:\n- Bash(git:*)\n  - Read",
        "# name: review\n\ndescription: Use this: to review\nargument-hint: [name: review]",
        "description: Ä review — of things\r\nmodel: opus\r",
        "name: Tidy up the repo\ndescription: >\n  x",
    ],
)
def test_an_ordinary_head_says_what_a_skill_is_called(world: Path, head: str) -> None:
    _put(world / "work/.claude/skills/odd/SKILL.md", f"---\n{head}\n---\nit\n")
    assert read_skills("review", str(world / "home"), str(world / "work"), str(world / "work")) == ()


def test_what_is_no_small_regular_file_is_not_read(world: Path) -> None:
    where = world / "home" / ".claude" / "commands"
    (where / "big.md").write_text("x" * (MOST_BYTES + 1))
    os.mkfifo(where / "pipe.md")
    found = [read_skills(name, str(world / "home"), "", "/") for name in ("big", "pipe")]
    assert found == [(None,), (None,)]


def test_an_installed_plugin_may_lie_anywhere(world: Path) -> None:
    _put(world / "elsewhere" / "commands" / "far.md", "far")
    home = world / "home"
    listed = {"version": 2, "plugins": {"far@folder": [{"scope": "user", "installPath": str(world / "elsewhere")}]}}
    (home / ".claude" / "plugins" / "installed_plugins.json").write_text(json.dumps(listed))
    assert read_skills("far", str(home), "", "/") == ("far",)


def test_a_list_of_the_first_version(world: Path) -> None:
    _put(world / "elsewhere" / "commands" / "far.md", "far")
    listed = {"version": 1, "plugins": {"far@folder": {"installPath": str(world / "elsewhere")}}}
    (world / "home/.claude/plugins/installed_plugins.json").write_text(json.dumps(listed))
    assert read_skills("far", str(world / "home"), "", "/") == ("far",)


@pytest.mark.parametrize("bad", [5, None, [], {}, {"installPath": 5}, {"installPath": ""}, {"installPath": "here"}])
def test_an_entry_that_says_nothing_hides_no_other(world: Path, bad: object) -> None:
    _put(world / "elsewhere" / "commands" / "far.md", "far")
    listed = {"plugins": {"a": [bad, {"installPath": str(world / "elsewhere")}]}}
    (world / "home/.claude/plugins/installed_plugins.json").write_text(json.dumps(listed))
    assert read_skills("far", str(world / "home"), "", "/") == ("far", None)
    assert read_skills("simplify", str(world / "home"), "", "/") == (None,)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"plugins": 5}', '{"plugins": {"a": [5]}}', "\xff"])
def test_a_list_of_plugins_that_is_none_may_name_any(world: Path, text: str) -> None:
    (world / "home/.claude/plugins/installed_plugins.json").write_text(text, "latin-1")
    assert read_skills("far", str(world / "home"), "", "/") == (None,)


def test_no_plugins(world: Path) -> None:
    (world / "home/.claude/plugins/installed_plugins.json").write_text('{"version": 2, "plugins": {}}')
    assert read_skills("far", str(world / "home"), "", "/") == ()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--plugin-dir", "plugin"], True),
        (["--plugin-dir=plugin"], True),
        (["--add-dir", "other", "beside", "--verbose"], True),
        (["--add-dir=beside"], True),
        (["--add-dir", "other"], False),
        (["--resume", "beside"], False),
    ],
)
def test_folders_that_the_client_was_told_of(world: Path, words: list[str], found: bool) -> None:
    _put(world / "plugin" / "skills" / "told" / "SKILL.md", "told")
    _put(world / "beside" / ".claude" / "skills" / "told" / "SKILL.md", "told")
    home = str(world / "home")
    reading = "from lockgate.gate.host.claude_skills import read_skills; "
    reading += f"print(read_skills('told', {home!r}, '', '/'))"
    # The process in between is the client, and what it starts is the hook.
    client = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)"
    argv = [sys.executable, "-c", client, reading, *words]
    done = subprocess.run(argv, cwd=world, capture_output=True, text=True, check=True)
    tells = os.path.exists("/proc/self/cmdline")  # of macOS nobody asks: there such a skill counts as not found
    assert done.stdout.strip() == ("('told',)" if found and tells else "()")
