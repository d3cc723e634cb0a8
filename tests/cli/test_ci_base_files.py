"""What tells agents and the gate what to do comes from the base commit, whatever a change has put there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from lockgate.cli.ci import build
from lockgate.cli.ci.base_commit import restore, tells_agents
from lockgate.resources.data import build as resource_tables
from support.ci_jobs import commit, git

ROWS: list[dict[str, Any]] = build.load(Path(build.__file__).with_name("base_files.yaml"))
PLACES: list[dict[str, Any]] = resource_tables.load(Path(resource_tables.__file__).with_name("places.yaml"))
OTHER = ("/", "~", "lockbox-state-", "lockbox-delegate-", ".worktreeinclude")
"""How patterns begin that are outside of a project, of the gate's own state, or about work trees."""
ABOUT_AGENTS = {
    *("tamper/claude-settings", "tamper/claude-code", "tamper/other-agents", "tamper/gate"),
    *("persist/agent-instructions", "persist/agent-parts"),
}


@pytest.mark.parametrize(
    ("path", "tells"),
    [
        pytest.param(path, tells, id=f"{path} {'tells' if tells else 'does not'}")
        for row in ROWS
        for tells, paths in ((True, row["yes"]), (False, row["no"]))
        for path in paths
    ],
)
def test_examples(path: str, tells: bool) -> None:
    assert tells_agents(path) is tells


@pytest.mark.parametrize(
    "pattern",
    [
        pattern
        for row in PLACES
        if row["name"] in ABOUT_AGENTS
        for pattern in row["match"]
        if not pattern.startswith(OTHER)
    ],
)
def test_what_the_gate_guards_of_agents_is_among_them(pattern: str) -> None:
    """Each place of a project that an agent may not change, since it tells agents what to do."""
    assert tells_agents(pattern.replace("**", "x").replace("*", "x"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return tmp_path / "checkout"


def there(checkout: Path) -> dict[str, str]:
    """All files of a checkout but those of git."""
    return {
        str(path.relative_to(checkout)): f"-> {os.readlink(path)}" if path.is_symlink() else path.read_text()
        for path in checkout.rglob("*")
        if (path.is_symlink() or path.is_file()) and ".git" not in path.relative_to(checkout).parts
    }


@pytest.mark.parametrize(
    ("base", "change", "then"),
    [
        pytest.param({"CLAUDE.md": "base"}, {"CLAUDE.md": "evil"}, {"CLAUDE.md": "base"}, id="changed"),
        pytest.param({}, {"AGENTS.md": "evil", "a.py": "x"}, {"a.py": "x"}, id="added"),
        pytest.param({"CLAUDE.md": "base"}, {"CLAUDE.md": None}, {"CLAUDE.md": "base"}, id="removed"),
        pytest.param({}, {"src/deep/.claude/settings.json": "{}"}, {}, id="in a folder of the project"),
        pytest.param({"a.py": "1"}, {"a.py": "2", "README.md": "x"}, {"a.py": "2", "README.md": "x"}, id="the rest"),
        pytest.param({"CLAUDE.md": "base"}, {"CLAUDE.md": "-> /etc/passwd"}, {"CLAUDE.md": "base"}, id="a link there"),
        pytest.param({".claude/settings.json": "base"},
                     {".claude/settings.json": None, ".claude": "-> docs", "docs/settings.json": "evil"},
                     {".claude/settings.json": "base", "docs/settings.json": "evil"}, id="a link for its folder"),
        pytest.param({".claude/settings.json": "base"}, {".claude/settings.json": None, ".claude": "evil"},
                     {".claude/settings.json": "base"}, id="a file for its folder"),
        pytest.param({"CLAUDE.md": "base"}, {"CLAUDE.md": None, "CLAUDE.md/x": "evil"},
                     {"CLAUDE.md": "base"}, id="a folder for the file"),
        pytest.param({"docs/AGENTS.md": "base"}, {"docs/AGENTS.md": None, "docs": "-> .."},
                     {"docs/AGENTS.md": "base"}, id="a link that leads out"),
        pytest.param({"CLAUDE.md": "-> AGENTS.md", "AGENTS.md": "base"}, {"AGENTS.md": "evil"},
                     {"CLAUDE.md": "base", "AGENTS.md": "base"}, id="a link of the base commit"),
        pytest.param({"CLAUDE.md": "-> notes.md", "notes.md": "base"}, {"notes.md": "evil"},
                     {"CLAUDE.md": "base", "notes.md": "evil"}, id="a link of the base commit to another file"),
        pytest.param({"CLAUDE.md": "-> /etc/passwd"}, {}, {}, id="a link of the base commit to no file of it"),
        pytest.param({"CLAUDE.md": "-> GEMINI.md", "GEMINI.md": "-> CLAUDE.md"}, {}, {}, id="links in a circle"),
        pytest.param({".claude": "-> tools", "tools/settings.json": "base"}, {"tools/settings.json": "evil"},
                     {"tools/settings.json": "evil"}, id="a link of the base commit to a folder"),
        pytest.param({}, {"Claude.MD": "evil", ".Cursor/rules/x.mdc": "evil"}, {}, id="in other cases"),
    ],
)  # fmt: skip
def test_a_change_says_nothing_to_the_agent(
    checkout: Path, base: dict[str, str | None], change: dict[str, str | None], then: dict[str, str]
) -> None:
    sha = commit(checkout, base)
    commit(checkout, change)
    restore(str(checkout), sha)
    assert there(checkout) == then


def test_what_was_done_is_told(checkout: Path) -> None:
    sha = commit(checkout, {"CLAUDE.md": "1", "AGENTS.md": "1", "GEMINI.md": "-> /x"})
    commit(checkout, {"CLAUDE.md": "2", ".mcp.json": "{}"})
    done = restore(str(checkout), sha)
    assert done == (("CLAUDE.md",), (".mcp.json", "GEMINI.md"), ("GEMINI.md",))
    assert restore(str(checkout), sha) == ((), (), ("GEMINI.md",))


def test_a_file_that_git_does_not_know_goes_too(checkout: Path) -> None:
    sha = commit(checkout, {"a": "1"})
    (checkout / "CLAUDE.md").write_text("left there by a step")
    assert restore(str(checkout), sha).removed == ("CLAUDE.md",)


def test_a_program_stays_one(checkout: Path) -> None:
    commit(checkout, {".claude/hooks/check.sh": "#!/bin/sh\n"})
    (checkout / ".claude/hooks/check.sh").chmod(0o755)
    sha = commit(checkout, {})
    commit(checkout, {".claude/hooks/check.sh": "evil"})
    restore(str(checkout), sha)
    assert os.access(checkout / ".claude/hooks/check.sh", os.X_OK)


def test_a_commit_that_is_not_there_is_said_with_what_to_do(checkout: Path, tmp_path: Path) -> None:
    sha = commit(checkout, {"CLAUDE.md": "base"})
    commit(checkout, {"CLAUDE.md": "evil"})
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{checkout}", str(shallow))
    with pytest.raises(click.ClickException, match=f"base commit {sha} is not in this checkout.*fetch-depth: 0"):
        restore(str(shallow), sha)
    assert there(shallow) == {"CLAUDE.md": "evil"}


def test_nothing_is_fetched_for_a_file_that_is_missing(checkout: Path, tmp_path: Path) -> None:
    """A clone without contents has the commit, and asks its origin for a file only when it is looked at."""
    git_config = checkout / ".git" / "config"
    sha = commit(checkout, {"CLAUDE.md": "base"})
    git_config.write_text(git_config.read_text() + "[uploadpack]\n\tallowFilter = true\n")
    partial = tmp_path / "partial"
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{checkout}", str(partial))
    with pytest.raises(click.ClickException, match=r"CLAUDE\.md of the base commit is not in this checkout"):
        restore(str(partial), sha)


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_OBJECT_DIRECTORY"])
def test_variables_of_git_lead_nowhere_else(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    sha = commit(checkout, {"CLAUDE.md": "base"})
    commit(checkout, {"CLAUDE.md": "evil"})
    monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    restore(str(checkout), sha)
    assert there(checkout) == {"CLAUDE.md": "base"}


def test_one_object_does_not_stand_for_another(checkout: Path) -> None:
    sha = commit(checkout, {"CLAUDE.md": "base"})
    evil = commit(checkout, {"CLAUDE.md": "evil"})
    git(checkout, "replace", sha, evil)
    restore(str(checkout), sha)
    assert there(checkout) == {"CLAUDE.md": "base"}


def test_a_filter_of_the_change_does_not_run(checkout: Path, tmp_path: Path) -> None:
    """Attributes of the change name a filter, and an earlier step has configured one of that name."""
    sha = commit(checkout, {"CLAUDE.md": "base"})
    git(checkout, "config", "filter.x.smudge", f"touch {tmp_path}/ran; cat")
    (checkout / ".git" / "hooks" / "post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (checkout / ".git" / "hooks" / "post-checkout").chmod(0o755)
    (checkout / ".gitattributes").write_text("*.md filter=x\n")
    (checkout / "CLAUDE.md").write_text("evil")
    restore(str(checkout), sha)
    assert there(checkout)["CLAUDE.md"] == "base"
    assert not (tmp_path / "ran").exists()


def test_without_git_there_is_one_sentence(checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sha = commit(checkout, {"CLAUDE.md": "base"})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("git") is None
    with pytest.raises(click.ClickException, match="git does not run"):
        restore(str(checkout), sha)
