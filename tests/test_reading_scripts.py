"""Which files may be looked into: small regular text of the project, and nothing that can make a hook wait."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from lockgate.gate.host.project_files import MOST_BYTES, git_hook_folders, is_there, read_git_settings, read_script


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def test_a_script_is_read_with_the_time_of_its_last_change(project: Path) -> None:
    file = project / "x.sh"
    file.write_text("echo ä\n", encoding="utf-8")
    os.utime(file, (0, 0))
    read = read_script(str(file), str(project))
    assert read is not None
    assert read.text == "echo ä\n"
    assert abs(read.changed - time.time()) < 3600  # not the time that was set


@pytest.mark.parametrize("data", [b"x" * (MOST_BYTES + 1), b"\xff\xfe", b"\x7fELF\x02\x80"])
def test_what_is_too_long_or_no_text_is_not_read(project: Path, data: bytes) -> None:
    (project / "x").write_bytes(data)
    assert read_script(str(project / "x"), str(project)) is None


def test_a_link_is_followed_inside_the_project_only(project: Path, tmp_path: Path) -> None:
    (tmp_path / "other.sh").write_text("a")
    (project / "in.sh").write_text("b")
    (project / "out").symlink_to(tmp_path / "other.sh")
    (project / "in").symlink_to("in.sh")
    (project / "up").symlink_to("..")
    assert read_script(str(project / "out"), str(project)) is None
    assert read_script(str(project / "up" / "other.sh"), str(project)) is None
    assert read_script(f"{project}/../other.sh", str(project)) is None
    inside = read_script(str(project / "in"), str(project))
    assert inside is not None
    assert inside.text == "b"


def test_a_project_behind_a_link_is_the_same_project(project: Path, tmp_path: Path) -> None:
    (project / "x").write_text("a")
    (tmp_path / "way").symlink_to(project)
    assert read_script(str(tmp_path / "way" / "x"), str(tmp_path / "way")) is not None
    assert read_script(str(project / "x"), str(tmp_path / "way")) is not None


def test_nothing_waits_for_a_pipe_a_socket_or_a_device(project: Path) -> None:
    os.mkfifo(project / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(project / "socket"))
        for path in (project / "pipe", project / "socket", project, Path("/dev/tty"), Path("/dev/zero")):
            assert read_script(str(path), str(project)) is None


def test_without_a_project_nothing_is_read(project: Path) -> None:
    (project / "x").write_text("a")
    assert read_script(str(project / "x"), "") is None
    assert read_script(str(project / "y"), str(project)) is None
    assert read_script(f"{project}/x\0", str(project)) is None


def test_what_is_there_is_told_inside_the_project_only(project: Path) -> None:
    (project / "a").write_text("a")
    assert is_there(str(project / "a"), str(project))
    assert not is_there(str(project / "b"), str(project))
    assert not is_there("/etc/passwd", str(project))
    assert not is_there("/etc/passwd", "")


def _repository(folder, config="[core]\n\tbare = false\n"):
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "config").write_text(config)
    return folder / ".git"


def test_settings_of_a_repository(tmp_path):
    git = _repository(tmp_path / "other")
    (git / "hooks" / "pre-commit.sample").write_text("")
    assert read_git_settings(str(tmp_path / "other"), str(tmp_path / "project")) == "[core]\n\tbare = false\n"
    assert read_git_settings(str(tmp_path), str(tmp_path / "project")) == ""
    assert read_git_settings(str(git / "config" / "x"), str(tmp_path / "project")) == ""


@pytest.mark.parametrize("name", ["hooks/post-checkout", "config.worktree", "commondir"])
def test_a_repository_with_more_than_settings(tmp_path, name):
    git = _repository(tmp_path)
    (git / name).write_text("")
    assert read_git_settings(str(tmp_path), "/nowhere") is None


def test_settings_that_are_no_small_text(tmp_path):
    git = _repository(tmp_path, "#" * (MOST_BYTES + 1))
    assert read_git_settings(str(tmp_path), "/nowhere") is None
    (git / "config").unlink()
    assert read_git_settings(str(tmp_path), "/nowhere") == ""
    (git / "config").symlink_to("HEAD")
    assert read_git_settings(str(tmp_path), "/nowhere") is None


def test_a_repository_that_is_kept_elsewhere(tmp_path):
    project, module = tmp_path / "project", tmp_path / "project" / "module"
    module.mkdir(parents=True)
    (module / ".git").write_text("gitdir: ../.git/modules/module\n")
    assert read_git_settings(str(module), str(project)) == ""
    (module / ".git").write_text("gitdir: ../.git/../made\n")
    assert read_git_settings(str(module), str(project)) is None
    (module / ".git").unlink()
    (module / ".git").symlink_to(tmp_path)
    assert read_git_settings(str(module), str(project)) is None


@pytest.mark.parametrize(
    ("settings", "folders"),
    [
        ("[core]\n\thooksPath = tools/hooks\n", ["{project}/tools/hooks"]),
        ("[CORE] HOOKSPATH=../shared/hooks # no\n", ["{home}/shared/hooks # no"]),
        ('[core]\n hooksPath = "~/my hooks"\n', ["{home}/my hooks"]),
        ("[core]\n hooksPath = /srv/hooks\n hooksPath = b\n", ["/srv/hooks", "{project}/b"]),
        ("[core]\n hooksPath =\n", []),
        ("[core]\n bare = false\n", []),
    ],
)
def test_where_git_looks_for_hooks(tmp_path: Path, settings: str, folders: list[str]) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "config").write_text(settings)
    wanted = [folder.format(project=project, home=tmp_path) for folder in folders]
    assert list(git_hook_folders(str(tmp_path), str(project))) == wanted


def test_the_persons_own_hooks_count_and_nothing_makes_a_hook_wait(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").write_text("[core]\nhooksPath = ~/hooks\n")
    (tmp_path / ".gitconfig").symlink_to(tmp_path / "dotfiles")
    (tmp_path / "p" / ".git").mkdir(parents=True)
    os.mkfifo(tmp_path / "p" / ".git" / "config")
    assert git_hook_folders(str(tmp_path), str(tmp_path / "p")) == (str(tmp_path / "hooks"),)
    assert git_hook_folders(str(tmp_path), "") == (str(tmp_path / "hooks"),)
