"""A program that is run for what it says: it gets what it is given, and no more time than it is allowed."""

from __future__ import annotations

import sys
from pathlib import Path

from lockgate.system.programs import Ran, run

_PYTHON = (sys.executable, "-I", "-S", "-c")


def test_what_it_says_and_how_it_ends() -> None:
    ran = run([*_PYTHON, "import sys; print('a'); print('b', file=sys.stderr); sys.exit(3)"], 20)
    assert ran == Ran("", 3, "a\n", "b\n")


def test_it_reads_what_it_is_given_and_nothing_else() -> None:
    reads = [*_PYTHON, "import sys; print(repr(sys.stdin.read()))"]
    assert run(reads, 20, given="a\n").out == "'a\\n'\n"
    assert run(reads, 20).out == "''\n"


def test_where_it_runs_and_with_which_variables(tmp_path: Path) -> None:
    tells = [*_PYTHON, "import os; print(os.getcwd(), os.environ.get('HOME'), os.environ.get('A'))"]
    assert run(tells, 20, cwd=str(tmp_path), environ={"A": "1"}).out == f"{tmp_path.resolve()} None 1\n"


def test_one_that_is_not_there_or_does_not_end_says_nothing(tmp_path: Path) -> None:
    assert run([str(tmp_path / "none")], 20) == Ran("No such file or directory")
    assert run([*_PYTHON, "import time; print('a', flush=True); time.sleep(60)"], 0.2) == Ran("TimeoutExpired")


def test_what_is_not_utf_8_is_shown_as_that() -> None:
    assert run([*_PYTHON, "import os; os.write(1, b'\\xff')"], 20).out == "\ufffd"
