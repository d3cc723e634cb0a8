"""What the system tells of a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lockgate.system import caller

TOLD = os.path.exists("/proc/self/stat")


@pytest.mark.parametrize("name", ["plain", "with space", "a) S 1 1 (b", "(", "\u00e9) \u00e9"])
def test_a_process_may_have_any_name(tmp_path: Path, name: str) -> None:
    program = tmp_path / name
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    with subprocess.Popen([program, "20"]) as child:
        try:
            found = caller.process(child.pid)
        finally:
            child.kill()
    if not TOLD:
        assert found is None
        return
    assert found is not None
    assert (found.name, found.parent) == (name.encode()[:15], os.getpid())
    assert found.started.isdigit()


def test_what_was_used_of_a_processor_is_told_also_of_children() -> None:
    before = caller.process(os.getpid())
    busy = "import time\nwhile time.process_time() < 0.1: pass"
    subprocess.run([sys.executable, "-I", "-c", busy], check=True)
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    after = caller.process(os.getpid())
    if not TOLD:
        assert (before, after) == (None, None)
        return
    assert before is not None
    assert after is not None
    assert after.started == before.started
    assert after.ticks > before.ticks
    assert after.ticks_of_children > before.ticks_of_children


@pytest.mark.parametrize("number", [0, -1, 2**40])
def test_what_is_no_process_is_none(number: int) -> None:
    assert caller.process(number) is None


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell of a process's environment")
def test_the_variables_that_a_process_was_started_with_are_told() -> None:
    code = "import os; os.environ['A'] = 'changed'; os.environ['C'] = 'new'; print(flush=True); input()"
    given = {"A": "first=second", "AB": "other", "B": ""}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert caller.environ_of(child.pid, ("A", "B", "C")) == {"A": "first=second", "B": ""}
        child.kill()


def test_a_process_that_is_not_there_was_started_with_nothing() -> None:
    assert caller.environ_of(2**31 - 1, ("PATH",)) == {}
