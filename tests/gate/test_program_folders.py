"""The folders of the project in which the shell looks for programs, as this machine's ``PATH`` names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockgate.gate.host.host_view import host_view_in
from lockgate.system.folders import Folders


@pytest.mark.parametrize(
    ("search_path", "found"),
    [
        ("/usr/bin:{work}/.venv/bin", ["{work}/.venv/bin"]),
        ("{link}/.venv/bin:/usr/bin", ["{work}/.venv/bin"]),
        ("{other}:/usr/bin", ["{work}/tools"]),
        ("node_modules/.bin::/usr/bin", ["node_modules/.bin", "."]),
        ("{work}2/bin:/usr/bin", []),
    ],
)
def test_folders_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, search_path: str, found: list[str]
) -> None:
    work = tmp_path / "work"
    for name in (".venv/bin", "tools"):
        (work / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(work)
    (tmp_path / "other").symlink_to(work / "tools")
    places = {name: str(tmp_path / name) for name in ("work", "link", "other")}
    monkeypatch.setenv("PATH", search_path.format(**places))
    where = Folders(str(tmp_path / "home"), str(tmp_path / "state"), str(tmp_path / "config"))
    assert list(host_view_in(where, str(work)).program_folders) == [each.format(**places) for each in found]
