"""Where texts to be scanned come from."""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.cli.scan.sources import ScanError, ScannedText, Skipped, files_below, read_added_lines, read_file


def _make(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _below(folder: Path, *, honour_ignore: bool = True) -> list[str]:
    found = files_below([str(folder)], honour_ignore=honour_ignore)
    return [os.path.relpath(path, folder) for path in found if isinstance(path, str)]


TREE = {
    ".gitignore": "*.log\n/build/\n!keep.log\nnode_modules\n",
    "a.py": "",
    "x.log": "",
    "keep.log": "",
    "build/out.txt": "",
    "src/build/in.txt": "",
    "src/node_modules/m.js": "",
    "src/.gitignore": "*.txt\n!in.txt\n",
    "src/t.txt": "",
    ".git/config": "",
}


def test_files_that_gitignore_names_are_passed_over(tmp_path: Path) -> None:
    _make(tmp_path, TREE)
    assert _below(tmp_path) == [".gitignore", "a.py", "keep.log", "src/.gitignore", "src/build/in.txt"]


def test_without_gitignore_all_but_the_repository_itself(tmp_path: Path) -> None:
    _make(tmp_path, TREE)
    assert set(_below(tmp_path, honour_ignore=False)) == {name for name in TREE if not name.startswith(".git/")}


def test_rules_above_a_folder_hold_in_a_repository_only(tmp_path: Path) -> None:
    _make(tmp_path, {".gitignore": "*.log\n", "src/x.log": "", "src/a": ""})
    assert _below(tmp_path / "src") == ["a", "x.log"]
    (tmp_path / ".git").mkdir()
    assert _below(tmp_path / "src") == ["a"]


def test_a_file_that_is_named_is_meant(tmp_path: Path) -> None:
    _make(tmp_path, {".gitignore": "*.log\n", "x.log": ""})
    assert list(files_below([str(tmp_path / "x.log")])) == [str(tmp_path / "x.log")]


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _make(tmp_path, {"a": "", "b/c": "", "d": ""})
    real = os.scandir

    def refuse(folder: str) -> Iterator[os.DirEntry[str]]:
        if folder.endswith("b"):
            raise PermissionError(13, "Permission denied")
        return real(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    found = list(files_below([str(tmp_path)]))
    assert found == [
        str(tmp_path / "a"),
        Skipped(str(tmp_path / "b"), "permission denied", failed=True),
        str(tmp_path / "d"),
    ]


def test_links_within_folders_are_not_followed(tmp_path: Path) -> None:
    _make(tmp_path, {"in/a": "", "out/b": ""})
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "file").symlink_to(tmp_path / "out" / "b")
    assert _below(tmp_path / "in") == ["a"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"plain\n", "plain\n"),
        ("é€".encode(), "é€"),
        (b"a\xffb", "a\udcffb"),
        (b"", ""),
        (b"a\0b", Skipped("f", "binary", failed=False)),
        (b"x" * 101, Skipped("f", "larger than 100 bytes", failed=True)),
        (b"\0" + b"x" * 101, Skipped("f", "binary", failed=False)),
        ("é\r\n".encode("utf-16-le").join([b"\xff\xfe", b""]), "é\r\n"),
        ("é".encode("utf-16-be").join([b"\xfe\xff", b""]), "é"),
    ],
)
def test_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, expected: str | Skipped) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f").write_bytes(data)
    got = read_file("f", 100)
    assert got == (ScannedText("f", expected) if isinstance(expected, str) else expected)


def test_what_is_no_file_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got = read_file(str(tmp_path / "pipe"))
    assert got == Skipped(str(tmp_path / "pipe"), "no regular file", failed=True)
    gone = read_file(str(tmp_path / "gone"))
    assert isinstance(gone, Skipped)
    assert gone.failed


# ---------------------------------------------------------------- git
def _git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, "-C", str(folder), *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    _make(tmp_path, {"a.txt": "one\ntwo\nthree\nfour\n", "gone.txt": "bye\n"})
    _git(tmp_path, "init", "-q", "-b", "main")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def _added(repository: Path, *words: str) -> list[ScannedText]:
    found = read_added_lines(str(repository), words or ["--cached"])
    return [source for source in found if isinstance(source, ScannedText)]


def test_lines_that_are_added(repository: Path) -> None:
    _make(repository, {"a.txt": "zero\none\nTWO\nthree\nfour\nfive", "new ü\t.txt": "++ x\n+++ b/y\n@@ -1 +9 @@\n"})
    (repository / "gone.txt").unlink()
    _git(repository, "add", "-A")
    found = {source.name: (source.text, source.lines) for source in _added(repository)}
    assert found == {
        "a.txt": ("zero\nTWO\nfive", (1, 3, 6)),
        "new ü\t.txt": ("++ x\n+++ b/y\n@@ -1 +9 @@", (1, 2, 3)),
    }


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.relative", "true"),
        ("diff.interHunkContext", "9"),
        ("diff.context", "9"),
        ("diff.submodule", "log"),
        ("color.diff", "always"),
        ("core.quotePath", "true"),
        ("diff.dstPrefix", "x/"),
        ("diff.wsErrorHighlight", "all"),
        ("diff.orderFile", "nowhere"),
    ],
)
def test_settings_change_nothing(repository: Path, key: str, value: str) -> None:
    _make(repository, {"a.txt": "zero\none\ntwo\nthree\nfour\nfive\n", "sub/ü.txt": "new\n"})
    _git(repository, "add", "-A")
    _git(repository, "config", key, value)
    if key == "diff.orderFile":
        (repository / "nowhere").write_text("", encoding="utf-8")
    found = read_added_lines(str(repository / "sub"), ["--cached"])
    assert found == [ScannedText("a.txt", "zero\nfive", (1, 6)), ScannedText("sub/ü.txt", "new", (1,))]


def test_attributes_hide_no_text(repository: Path) -> None:
    _make(
        repository,
        {".gitattributes": "*.txt -diff\n*.bin binary\n", "a.txt": "one\nkey\n", "b.bin": "text\n", "c": "a\0b"},
    )
    _git(repository, "add", "-A")
    found = read_added_lines(str(repository), ["--cached"])
    assert ScannedText("a.txt", "key", (2,)) in found
    assert ScannedText("b.bin", "text", (1,)) in found
    assert Skipped("c", "binary", failed=False) in found


def test_a_range_of_revisions(repository: Path) -> None:
    _make(repository, {"b.txt": "more\n"})
    _git(repository, "add", ".")
    _git(repository, "commit", "-q", "-m", "second")
    assert [source.name for source in _added(repository, "HEAD~1..HEAD")] == ["b.txt"]


def test_nothing_that_the_repository_names_is_run(repository: Path) -> None:
    _make(repository, {"b.md": "one\n"})
    _git(repository, "add", "b.md")
    trap = repository / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {repository}/trapped\n", encoding="utf-8")
    trap.chmod(0o755)
    for key in (
        "diff.external",
        "core.fsmonitor",
        "core.pager",
        "diff.x.textconv",
        "diff.x.command",
        "interactive.diffFilter",
        "filter.x.clean",
        "filter.x.process",
        "filter.a=b.c.clean",
    ):
        _git(repository, "config", key, str(trap))
    _git(repository, "config", "filter.x.required", "true")
    _make(
        repository,
        {".gitattributes": "*.txt diff=x filter=x\n*.md filter=a=b.c\n", "a.txt": "changed\n", "b.md": "two\n"},
    )
    assert [source.name for source in _added(repository, "HEAD")] == ["a.txt", "b.md"]
    assert not (repository / "trapped").exists()


@pytest.mark.parametrize("way", ["url", "uploadpack"])
def test_nothing_is_fetched_that_the_repository_lacks(repository: Path, way: str) -> None:
    trap = repository / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {repository}/trapped\n", encoding="utf-8")
    trap.chmod(0o755)
    for loose in (repository / ".git" / "objects").glob("??/*"):
        if b"blob 19\0" in zlib.decompress(loose.read_bytes()):
            loose.unlink()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.promisor": "true",
        "remote.evil.url": f"ext::{trap}" if way == "url" else str(repository),
        "remote.evil.uploadpack": str(trap),
        "protocol.allow": "always",
    }.items():
        _git(repository, "config", key, value)
    _make(repository, {"a.txt": "changed\n"})
    with pytest.raises(ScanError):
        read_added_lines(str(repository), ["HEAD"])
    assert not (repository / "trapped").exists()


def test_settings_in_variables_of_the_person_hold(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _git(repository, "config", "filter.x.clean", "false")
    _make(repository, {".gitattributes": "*.txt filter=x\n", "a.txt": "changed\n"})
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "diff.context")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "no number")
    with pytest.raises(ScanError, match="git diff failed"):
        read_added_lines(str(repository), ["HEAD"])
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "3")
    assert [source.name for source in _added(repository, "HEAD")] == ["a.txt"]


def test_an_error_of_git_is_told(tmp_path: Path, repository: Path) -> None:
    with pytest.raises(ScanError, match="git diff failed"):
        read_added_lines(str(repository), ["no-such-revision"])
