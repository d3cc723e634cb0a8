"""The check of the rooms' doors sees what it is there to see."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).resolve().parents[1] / "scripts" / "house" / "check_doors.py"
FILES = {
    "__init__.py": "",
    "core/__init__.py": '__all__ = ["words"]\n',
    "core/words.py": "def plain(): ...\ndef _own(): ...\n",
    "core/inner.py": "def hidden(): ...\n",
    "system/__init__.py": "",
    "system/files.py": "from thing.core.words import plain\n",
}
"""A package of two rooms that passes."""
CEILING = {"core": [1, 1]}


def checked(folder: Path, changed: dict[str, str], *options: str) -> tuple[int, str]:
    """Exit status of the check, and what it prints, for a package with some other files."""
    for name, text in {**FILES, **changed}.items():
        file = folder / "thing" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    command = [sys.executable, str(CHECK), str(folder / "thing"), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        pytest.param({}, None, id="what the door names may be imported"),
        pytest.param(
            {"system/files.py": "import thing.core.inner\nfrom thing.core.words import plain\n"},
            "`inner` is behind no door",
            id="a whole module that no door names",
        ),
        pytest.param(
            {"system/files.py": "def f():\n    from thing.core.inner import hidden\n\nimport thing.core.words\n"},
            "`inner` is behind no door",
            id="in a function",
        ),
        pytest.param(
            {"system/files.py": "if TYPE_CHECKING:\n    from thing.core import inner, words\n"},
            "`inner` is behind no door",
            id="for type checkers",
        ),
        pytest.param(
            {
                "core/deep/__init__.py": "",
                "core/deep/table.py": "",
                "core/__init__.py": '__all__ = ["deep", "words"]\n',
                "system/files.py": "import thing.core.deep.table\nimport thing.core.words\n",
            },
            "core/deep/__init__.py: `table` is behind no door",
            id="a folder has a door of its own",
        ),
        pytest.param(
            {"system/files.py": "from thing.core.words import plain, _own\n"},
            "imports the private name _own",
            id="a private name",
        ),
        pytest.param(
            {"core/__init__.py": '__all__ = ["inner", "words"]\n'},
            "names `inner`, which no other room imports",
            id="a name that is left over",
        ),
        pytest.param(
            {"core/inner.py": "from thing.core.words import _own\n"}, None, id="inside a room everything is open"
        ),
    ],
)
def test_what_a_door_lets_through(tmp_path: Path, changed: dict[str, str], says: str | None) -> None:
    status, told = checked(tmp_path, changed)
    assert (status, says is None or says in told) == (int(says is not None), True), told


def test_a_door_may_not_widen(tmp_path: Path) -> None:
    rooms = json.loads((CHECK.parent / "ceiling.json").read_text("utf-8"))["doors"]
    ceiling = tmp_path / "ceiling.json"
    ceiling.write_text(json.dumps({"doors": {room: CEILING.get(room, [0, 0]) for room in rooms}}), "utf-8")
    wider = {"core/words.py": "def plain(): ...\ndef more(): ...\n"}
    assert checked(tmp_path, wider, "--ceiling", str(ceiling))[0] == 0
    wider["system/files.py"] = "from thing.core.words import more, plain\n"
    status, told = checked(tmp_path, wider, "--ceiling", str(ceiling))
    assert status == 1
    assert "the door of core has [1, 2] modules and names" in told


def test_written_doors_pass(tmp_path: Path) -> None:
    taken = {"system/files.py": "from thing.core.inner import hidden\n"}
    assert checked(tmp_path, taken)[0] == 1
    checked(tmp_path, taken, "--write")
    door = (tmp_path / "thing" / "core" / "__init__.py").read_text("utf-8")
    assert door.strip() == '__all__ = [\n    "inner",\n]'
