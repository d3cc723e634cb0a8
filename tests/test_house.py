"""The measures of `make house` see what they are there to see: copied code, long functions, names that are gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[1] / "scripts" / "house"
COPY = """
def one(rows):
    for row in rows:
        name = row[1]
        if name:
            keep(name)
        send(row)
"""
RENAMED = COPY.replace("row", "line").replace("keep", "store").replace("one", "two").replace("1", "2")


def checked(check: str, folder: Path, files: dict[str, str], *options: str) -> tuple[int, str]:
    """Exit status of a check, and what it prints, for a package with these files."""
    (folder / "thing").mkdir()
    for name, text in files.items():
        (folder / "thing" / name).write_text(text, "utf-8")
    done = subprocess.run([sys.executable, HOUSE / check, folder / "thing", *options], capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("files", "pairs"),
    [
        pytest.param({"a.py": COPY, "b.py": COPY}, 1, id="the same"),
        pytest.param({"a.py": COPY, "b.py": RENAMED}, 1, id="with other names and values"),
        pytest.param({"a.py": COPY + RENAMED}, 1, id="in one file"),
        pytest.param(
            {"a.py": COPY, "b.py": RENAMED.replace("send(line)", "send(rows)")}, 0, id="names mixed otherwise"
        ),
        pytest.param({"a.py": COPY, "b.py": RENAMED.replace("if name:", "if not name:")}, 0, id="another statement"),
        pytest.param(
            {f"{name}.py": 'def f():\n    """\n    A\n    B\n    C\n    D\n    """\n' for name in "ab"},
            0,
            id="docstrings",
        ),
        pytest.param({f"{name}.py": "class A:\n" + "    x: int = 1\n" * 9 for name in "ab"}, 0, id="fields"),
        pytest.param(
            {f"{name}.py": "def f(a):\n" + "    if a:\n        return 1\n" * 9 for name in "ab"}, 0, id="cases"
        ),
    ],
)
def test_duplicates(tmp_path: Path, files: dict[str, str], pairs: int) -> None:
    assert checked("check_duplicates.py", tmp_path, files)[1].endswith(f"or more, at most {pairs}\n")


def test_more_duplicates_than_the_ceiling_fail(tmp_path: Path) -> None:
    ceiling = tmp_path / "ceiling.json"
    ceiling.write_text('{"duplicates": 0}', "utf-8")
    status, told = checked("check_duplicates.py", tmp_path, {"a.py": COPY, "b.py": RENAMED}, "--ceiling", str(ceiling))
    assert status == 1
    assert "a.py:3 ~ b.py:3" in told


def test_long_functions(tmp_path: Path) -> None:
    longest = 'def f():\n    """What it does.\n\n    More of it.\n    """\n' + "    g()\n" * 30
    told = checked("check_house.py", tmp_path, {"__init__.py": "", "a.py": longest, "b.py": f"{longest}    g()\n"})[1]
    assert [line for line in told.splitlines() if line.startswith("long")] == ["long  31 lines: b.py:1 f"]


def test_questions_that_a_name_does_not_ask(tmp_path: Path) -> None:
    names = ("inside", "is_inside", "matches", "fork_is_open", "_in_project")
    code = "".join(f'def {name}() -> bool:\n    """Whether it is so."""\n' for name in names)
    told = checked("check_house.py", tmp_path, {"__init__.py": "", "a.py": code})[1]
    found = [line.split()[-1] for line in told.splitlines() if line.startswith("question")]
    assert found == ["inside", "_in_project"]


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        pytest.param(
            "from lockgate.system.digests import gone\n", ["lockgate.system.digests has no gone"], id="imported"
        ),
        pytest.param(
            "from lockgate.system import digests\ndigests.gone()\n",
            ["lockgate.system.digests has no gone"],
            id="an attribute",
        ),
        pytest.param(
            "from lockgate.system import digests\nmonkeypatch.setattr(digests, 'gone', 1)\n",
            ["lockgate.system.digests has no gone"],
            id="replaced by a test",
        ),
        pytest.param("from lockgate.system import digests\ndigests.__name__\n", [], id="what is there"),
        pytest.param(
            "from lockgate.system import digests\ndigests = 'a'\ndigests.gone\n", [], id="another thing of that name"
        ),
        pytest.param("if TYPE_CHECKING:\n    from lockgate.system.digests import Gone\n", [], id="for types only"),
    ],
)
def test_names_that_are_gone(tmp_path: Path, code: str, missing: list[str]) -> None:
    status, told = checked("check_names.py", tmp_path, {"a.py": code})
    assert [line.partition(": ")[2] for line in told.splitlines() if " has no " in line] == missing
    assert status == bool(missing)
