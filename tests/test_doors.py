"""The check of the rooms' doors sees what it is there to see; and tests know the insides of their own room alone."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHECK = ROOT / "scripts" / "house" / "check_doors.py"
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


def room_of(file: Path) -> str:
    """The room that a file of tests belongs to, by the table of quick tests; empty for those of no single room."""
    for line in (ROOT / "scripts" / "house" / "tests.tsv").read_text("utf-8").splitlines():
        room, paths = line.split("\t")
        if any(file == ROOT / path or ROOT / path in file.parents for path in paths.split()):
            return room
    return "service" if ROOT / "tests" / "dashboard" in file.parents else ""


def private_names(text: str) -> Iterator[tuple[int, str]]:
    """Names with an underscore that a text takes from our modules: imported, as attributes, and for ``setattr``."""
    tree, modules = ast.parse(text), dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lockgate"):
            modules |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)
        elif isinstance(node, ast.Import):
            modules |= {name.asname or name.name: name.name for name in node.names if name.name.startswith("lockgate")}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in modules:
                yield node.lineno, f"{modules[module]}.{name}"
            case ast.Call(
                func=ast.Attribute(attr="setattr"), args=[ast.Name(id=module), ast.Constant(value=str(name)), *_]
            ) if module in modules:
                yield node.lineno, f"{modules[module]}.{name}"
            case ast.Constant(value=str(name)) if name.startswith("lockgate.") and " " not in name:
                yield node.lineno, name


def of_others(file: Path, text: str) -> list[str]:
    """The private names of other rooms in a file."""
    found = {(line, name) for line, name in private_names(text) if name.rpartition(".")[2][:1] == "_"}
    room = room_of(file)
    return [
        f"{file.relative_to(ROOT)}:{line}: {name} is private"
        for line, name in sorted(found)
        if name.split(".")[1] != room and not name.endswith("__") and not name.endswith("._fields")
    ]


def test_no_test_knows_a_private_name_of_another_room() -> None:
    files = [file for folder in ("tests", "evals") for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 400
    assert [wrong for file in files for wrong in of_others(file, file.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    "text",
    [
        "from lockgate.store.files import _own",
        "from lockgate.store import files as f\nf._own",
        "import lockgate.store.files as f\nmonkeypatch.setattr(f, '_own', 1)",
        "monkeypatch.setattr('lockgate.store.files._own', 1)",
    ],
)
def test_a_private_name_is_seen_however_it_is_taken(text: str) -> None:
    assert of_others(ROOT / "tests" / "cli" / "test_x.py", text) != []
    assert of_others(ROOT / "tests" / "store" / "test_x.py", text) == []
