"""Where a path leads: as the standard library tells it, whatever lies on the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockgate.system.files import real_path

_NAMES = st.sampled_from(["a", "b", "c", "..", ".", "x (deleted)", "é\udcff", ""])
_LINKS = st.tuples(
    st.sampled_from(["a", "b", "c", "a/b", "b/c"]), st.lists(_NAMES, min_size=1, max_size=4), st.booleans()
)
"""A link's place, the names of where it leads, and whether it leads there from the root of the tree."""


def _make(root: Path, links: list[tuple[str, list[str], bool]], folders: list[str]) -> None:
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for place, names, rooted in links:
        link = root / place
        if link.parent.is_dir() and not os.path.lexists(link):
            link.symlink_to(f"{root}/{'/'.join(names)}" if rooted else "/".join(names) or ".")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(_LINKS, max_size=4),
    st.lists(st.sampled_from(["a", "b", "b/c", "x (deleted)"])),
    st.lists(_NAMES, max_size=5),
)
def test_it_is_what_the_standard_library_tells(
    tmp_path_factory: pytest.TempPathFactory,
    links: list[tuple[str, list[str], bool]],
    folders: list[str],
    names: list[str],
) -> None:
    root = tmp_path_factory.mktemp("tree")
    _make(root, links, folders)
    path = "/".join([str(root), *names])
    assert real_path(path) == os.path.realpath(path)


def test_a_link_to_what_is_not_there_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "secret" / "file")
    assert real_path(f"{tmp_path}/link") == f"{tmp_path}/secret/file"


def test_what_is_not_there_yet_is_found_below_what_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "nowhere").symlink_to("gone")
    with monkeypatch.context() as patched:
        patched.setattr(os.path, "realpath", lambda _: "was asked")
        assert real_path(f"{tmp_path}/link/a/b/c") == f"{tmp_path}/real/a/b/c"
    assert real_path(f"{tmp_path}/nowhere/a/b") == f"{tmp_path}/gone/a/b"
    monkeypatch.chdir(tmp_path / "real")
    assert real_path("a/b") == f"{tmp_path}/real/a/b"


def test_what_is_no_file_of_a_folder_keeps_its_name() -> None:
    reader, writer = os.pipe()
    try:
        assert real_path(f"/proc/{os.getpid()}/fd/{reader}") == os.path.realpath(f"/proc/{os.getpid()}/fd/{reader}")
    finally:
        os.close(reader)
        os.close(writer)


def test_nothing_is_waited_for_and_nothing_stays_open(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    before = len(os.listdir("/dev/fd"))
    assert real_path(str(pipe)) == str(pipe)
    assert real_path(str(tmp_path / "missing")) == str(tmp_path / "missing")
    assert len(os.listdir("/dev/fd")) == before


def test_a_file_that_cannot_be_read_is_found(tmp_path: Path) -> None:
    (tmp_path / "closed").write_text("")
    (tmp_path / "closed").chmod(0)
    (tmp_path / "link").symlink_to("closed")
    assert real_path(f"{tmp_path}/link") == f"{tmp_path}/closed"


def test_a_character_that_no_path_holds_is_an_error() -> None:
    with pytest.raises(ValueError, match="null"):
        real_path("/tmp/\0")
