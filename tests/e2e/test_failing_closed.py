"""A gate that is broken, gone or slow blocks. Version 2.1.197 knows no ``onFailure``, so the command itself must."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.conftest import Serve
from e2e.harness.script import Script, Turn, bash, write
from e2e.harness.world import PUSH, World
from support.gates import end_gates


def _remove(package: Path) -> None:
    (package / "hook.py").unlink()


def _remove_all(package: Path) -> None:
    shutil.rmtree(package)


def _syntax(package: Path) -> None:
    (package / "hook.py").write_text("def (\n")


def _exits(package: Path) -> None:
    (package / "hook.py").write_text("raise SystemExit(1)\n")


def _killed(package: Path) -> None:
    (package / "hook.py").write_text("import os\nos.kill(os.getpid(), 9)\n")


def _missing_module(package: Path) -> None:
    (package / "gate" / "__init__.py").unlink()


def _raises(package: Path) -> None:
    _append(package / "gate" / "__init__.py", "raise MemoryError")


def _sleeps(package: Path) -> None:
    _append(package / "gate" / "__init__.py", "import time\ntime.sleep(3600)")


def _hangs_in_the_system(package: Path) -> None:
    """A call into the system that no exception can end."""
    _append(package / "gate" / "__init__.py", f"open({str(_fifo(package))!r})")


def _fifo(package: Path) -> Path:
    fifo = package / "fifo"
    os.mkfifo(fifo)
    return fifo


def _append(module: Path, code: str) -> None:
    module.write_text(f"{module.read_text()}\n{code}\n")


@pytest.mark.parametrize(
    "break_it",
    [_remove, _remove_all, _syntax, _exits, _killed, _missing_module, _raises, _sleeps, _hangs_in_the_system],
    ids=lambda function: function.__name__.strip("_").replace("_", "-"),
)
def test_a_broken_gate_blocks(bare_world: World, serve: Serve, break_it: Callable[[Path], None]) -> None:
    world = bare_world
    library = world.copy_of_lockgate()
    world.lockgate("install", "claude-code", package=library)
    made = world.project / "made.txt"

    def broken() -> None:
        break_it(library / "lockgate")
        end_gates(world.root)

    # The first call breaks nothing: the hook is there and lets it run. Then the gate breaks, and has to be started
    # again: one that is running has its code in memory.
    model = serve(
        Script.of(
            write(world.project / "before.txt", "x"),
            Turn([bash(PUSH), write(made, "x")], before=broken),
        )
    )
    world.run(model)
    assert (world.project / "before.txt").exists()
    assert world.pushes == []
    assert not made.exists()
    assert all(model.result(1, call).is_error for call in (0, 1))
