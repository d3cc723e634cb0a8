"""The ``/tmp`` of contained commands: what they leave there is looked for there."""

from __future__ import annotations

import uuid
from pathlib import Path

from lockgate.containment.leftovers import only_contained_see, own_folder


def test_what_a_contained_command_left_is_told_from_what_is_there_for_all(tmp_path: Path) -> None:
    state, name = str(tmp_path), f"lockgate-{uuid.uuid4().hex}"
    left = Path(own_folder(state, "/home/u/project"), "tmp", name)
    path = Path("/tmp", name)
    assert not only_contained_see(state, "/home/u/project", str(path))
    left.write_text("x")
    assert only_contained_see(state, "/home/u/project", str(path))
    assert not only_contained_see(state, "/home/u/other", str(path)), "another project has its own"
    assert not only_contained_see(state, "/home/u/project", f"/var{path}")
    path.write_text("y")
    try:
        assert not only_contained_see(state, "/home/u/project", str(path)), "outside it is found, too"
    finally:
        path.unlink()
