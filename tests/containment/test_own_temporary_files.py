"""The ``/tmp`` of contained commands: what they leave there is looked for there."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from lockgate.containment.leftovers import (
    drop_unused,
    is_seen_by_contained_only,
    prepare_own_folder,
    prepare_temporary_folder,
)


@pytest.mark.parametrize("room", ["", "ab" * 16])
def test_what_a_contained_command_left_is_told_from_what_is_there_for_all(tmp_path: Path, room: str) -> None:
    state, name = str(tmp_path), f"lockgate-{uuid.uuid4().hex}"
    left = Path(prepare_temporary_folder(prepare_own_folder(state, "/home/u/project"), room), name)
    path = Path("/tmp", name)
    assert not is_seen_by_contained_only(state, "/home/u/project", str(path))
    left.write_text("x")
    assert is_seen_by_contained_only(state, "/home/u/project", str(path))
    assert not is_seen_by_contained_only(state, "/home/u/other", str(path)), "another project has its own"
    assert not is_seen_by_contained_only(state, "/home/u/project", f"/var{path}")
    path.write_text("y")
    try:
        assert not is_seen_by_contained_only(state, "/home/u/project", str(path)), "outside it is found, too"
    finally:
        path.unlink()


def test_the_files_of_old_rooms_are_dropped(tmp_path: Path) -> None:
    folder = prepare_own_folder(str(tmp_path), "/home/u/project")
    alone, old, new = (prepare_temporary_folder(folder, room) for room in ("", "ab" * 16, "cd" * 16))
    for path in (alone, old):
        Path(path, "file").write_text("x")
        os.utime(path, (0, 0))
    drop_unused(folder, Path(new).stat().st_mtime)
    assert not Path(old).exists()
    assert Path(new).exists()
    assert Path(alone, "file").exists(), "it belongs to the project"
