"""Skills in folders below a project's root, which the client adds once its agent works with a file there."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockgate.analysis.tools import analyse_tool
from lockgate.core.model import EffectKind, Label, ToolCall
from lockgate.gate.host import claude_skills as skills
from lockgate.gate.host.claude_skills import read_nested_skills
from lockgate.gate.host.host_view import host_view_in
from lockgate.resources.host_view import HostView
from lockgate.system.folders import Folders

PUSHES = "!`git push`"


def _skill(root: Path, folder: str, text: str = PUSHES) -> None:
    path = root / folder / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("folder", "found"),
    [
        pytest.param("packages/x/.claude/skills/commit", True, id="below"),
        pytest.param(".hidden/a/b/c/d/.claude/skills/commit", True, id="far below"),
        pytest.param(".claude/worktrees/x/.claude/skills/commit", True, id="in a working tree"),
        pytest.param("packages/x/.claude/skills/other", False, id="another name"),
        pytest.param("packages/x/skills/commit", False, id="no skill"),
        pytest.param(".claude/skills/commit", False, id="at the root"),
        pytest.param("node_modules/x/.claude/skills/commit", False, id="of an installed package"),
    ],
)
def test_skills_below_the_root(tmp_path: Path, folder: str, found: bool) -> None:
    _skill(tmp_path, folder)
    for name in ("commit", "packages/x:commit"):
        assert read_nested_skills(name, str(tmp_path)) == ((PUSHES,) if found else ())


def test_a_command_and_a_name_of_its_own(tmp_path: Path) -> None:
    _skill(tmp_path, "x/.claude/skills/a", "---\nname: commit\n---\n")
    (tmp_path / "x/.claude/commands").mkdir()
    (tmp_path / "x/.claude/commands/commit.md").write_text("command")
    assert read_nested_skills("commit", str(tmp_path)) == ("---\nname: commit\n---\n", "command")


def test_a_name_that_cannot_be_told(tmp_path: Path) -> None:
    _skill(tmp_path, "x/.claude/skills/a", "---\nname: [\n---\n")
    assert read_nested_skills("commit", str(tmp_path)) == (None,)


def test_without_a_project_or_a_name_there_are_none(tmp_path: Path) -> None:
    assert read_nested_skills("commit", "") == read_nested_skills("x:", str(tmp_path)) == ()
    assert read_nested_skills("commit", str(tmp_path / "gone")) == ()


@pytest.mark.parametrize("most", ["_MOST_FOLDERS", "_MOST_FILES"])
def test_too_many_to_look_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: str) -> None:
    for name in "abc":
        _skill(tmp_path, f"x/.claude/skills/{name}")
    assert read_nested_skills("commit", str(tmp_path)) == ()
    monkeypatch.setattr(skills, most, 2)
    assert read_nested_skills("commit", str(tmp_path)) is None


@pytest.mark.parametrize("target", ["stuff", "../elsewhere/stuff", "gone", ".claude", ".."])
def test_a_folder_that_is_a_link(tmp_path: Path, target: str) -> None:
    for folder in ("work/x/stuff", "work/x/other/.claude", "elsewhere/stuff"):
        _skill(tmp_path, f"{folder}/skills/commit", folder)
    (tmp_path / "work/x/.claude").symlink_to(target.replace("..", "../..") if "/" in target else target)
    linked = {"stuff": ("work/x/stuff",), "../elsewhere/stuff": ("elsewhere/stuff",)}.get(target, ())
    assert read_nested_skills("commit", str(tmp_path / "work")) == (*linked, "work/x/other/.claude")


def test_folders_that_take_long_are_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _skill(tmp_path, "x/.claude/skills/commit")
    monkeypatch.setattr(skills, "LONGEST_SECONDS", -1)
    assert read_nested_skills("commit", str(tmp_path)) == (PUSHES,)
    monkeypatch.setattr(skills, "FOLDERS_AT_ONCE", 3)
    assert read_nested_skills("commit", str(tmp_path)) is None


def _kinds(name: str, around: HostView) -> set[EffectKind]:
    call = ToolCall("Skill", {"skill": name}, around.workspace)
    return {effect.kind for effect in analyse_tool(call, around._replace(skills_run=True)).effects}


def test_one_below_has_not_the_trust_of_one_that_comes_with_the_client(tmp_path: Path) -> None:
    around = host_view_in(Folders(str(tmp_path / "home"), "/state", "/config"), str(tmp_path / "work"))
    (tmp_path / "work").mkdir()
    assert not _kinds("commit", around)
    assert _kinds("unheard-of", around) == {EffectKind.EXECUTE}
    for name in ("commit", "unheard-of"):
        _skill(tmp_path / "work/packages/x/.claude/skills", name)
        assert EffectKind.EGRESS in _kinds(name, around)


@pytest.mark.parametrize(("there", "kinds"), [((), {EffectKind.EXECUTE}), (("text",), set())])
def test_where_not_every_folder_is_looked_at(there: tuple[str, ...], kinds: set[EffectKind]) -> None:
    around = HostView(workspace="/work", read_skills=lambda *_: there, nested_skills=lambda _: None)
    assert _kinds("commit", around) == kinds
    call = ToolCall("Skill", {"skill": "commit"}, "/work")
    effects = analyse_tool(call, around._replace(skills_run=True)).effects
    assert Label.UNTRUSTED not in {effect.gives for effect in effects}
