"""Folders are made with rights of ours, whatever the umask is: also those above them that are missing."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.containment.leftovers import prepare_own_folder

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "lockgate"
ELSEWHERE = {
    "containment/linux/namespaces.py",  # in a new file system that only the contained command sees
    "system/documents/compile_tables.py",  # when the package is built, in its own folders
}


def open_to_the_umask(tree: ast.AST) -> Iterator[str]:
    """Calls that make folders with what the umask leaves."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        modes = [*node.args[1:2], *(named.value for named in node.keywords if named.arg == "mode")]
        if node.func.attr == "makedirs" or (node.func.attr == "mkdir" and not modes):
            yield ast.unparse(node)


def test_no_folder_is_made_with_what_the_umask_leaves() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): calls
        for path in PACKAGE.rglob("*.py")
        if (calls := list(open_to_the_umask(ast.parse(path.read_text("utf-8")))))
    }
    assert found.keys() == ELSEWHERE, found


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("os.makedirs(path, mode=0o700)", True),
        ("path.mkdir(parents=True)", True),
        ("os.mkdir(path)", True),
        ("os.mkdir(path, 0o700)", False),
        ("make_folders(path)", False),
    ],
)
def test_what_is_looked_for(code: str, is_found: bool) -> None:
    assert bool(list(open_to_the_umask(ast.parse(code)))) is is_found


def test_a_project_that_is_run_contained_opens_no_folder_above_its_own(tmp_path: Path) -> None:
    state = tmp_path / "missing" / "state"
    before = os.umask(0)
    try:
        folder = Path(prepare_own_folder(str(state), "/home/u/work"))
    finally:
        os.umask(before)
    between = [folder, *folder.parents][: len(folder.relative_to(tmp_path).parts)]
    assert {stat.S_IMODE(each.stat().st_mode) for each in between} == {0o700}
