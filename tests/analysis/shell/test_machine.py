"""The parts of an analysis: what each of them knows, and that nothing of one command is left behind in the next."""

from __future__ import annotations

import pytest

from lockgate.resources.host_view import HostView, ScriptFile
from lockgate.shell import analyse_shell
from lockgate.shell.analyse import initial_scope
from lockgate.shell.grammar.reader import read
from lockgate.shell.grammar.tree import Script
from lockgate.shell.interpreter.interpreter import AbstractInterpreter
from lockgate.shell.programs.invoke import PROGRAMS
from lockgate.shell.state.followed_files import FollowedFiles
from lockgate.shell.state.machine import AnalysisBudget, ControlFlow, DiskChanges, Inputs, Machine
from lockgate.shell.state.scope import Scope

_PROJECT = "/work/project"


class _Fails(AbstractInterpreter):
    """An interpreter in which each program is a fault."""

    def perform(self, call: object) -> str:
        raise LookupError


def test_a_budget_ends() -> None:
    budget = AnalysisBudget()
    assert budget.swap(2) > 2
    assert [budget.spend() for _ in range(4)] == [True, True, False, False]
    assert budget.swap(7) == -2
    assert budget.left == 7


@pytest.mark.parametrize("name", [name for name in DiskChanges.__slots__ if name != "stores_secret"])
def test_each_change_of_the_disk_counts(name: str) -> None:
    disk = DiskChanges()
    assert not disk.may_differ()
    setattr(disk, name, {"a"} if name == "written" else [("a", "b")] if name == "moved" else True)
    assert disk.may_differ()


def test_paths_that_were_written_elsewhere_are_put_aside() -> None:
    disk = DiskChanges()
    disk.note_written("a")
    before = disk.swap_written(set())
    disk.note_written("b")
    assert disk.swap_written(before) == {"b"}
    assert disk.written == {"a"}


def test_a_process_leaves_no_loop_of_the_shell_that_starts_it() -> None:
    flow = ControlFlow()
    flow.levels.append([])
    flow.interrupts.append("ls")
    flow.last_in_shell = True
    flow.cut()
    inner = flow.of_process()
    inner.leave(Scope("/work", {}))
    inner.cut()
    assert flow.levels == [[]]
    assert (inner.interrupts, inner.last_in_shell, inner.frames) == ([], False, [])
    assert flow.cuts == 1


def test_traps_of_a_process_are_kept() -> None:
    flow = ControlFlow()
    flow.of_process().trap("ls", Scope("/work", {}), at_any_time=True)
    assert [text for text, _ in flow.traps] == ["ls"]
    assert flow.interrupts == []


def test_what_is_left_of_an_input_is_not_known() -> None:
    inputs = Inputs()
    given = "".join(["a\n", "b\n"])
    assert inputs.rest(given) is given
    inputs.take(given, lines=True)
    assert inputs.rest(given) != given
    inputs.next_round(given, given)
    assert inputs.rest(given) is given
    inputs.take(given)
    inputs.next_round(given, given)
    assert inputs.rest(given) != given


@pytest.mark.parametrize("text", ["ls | cat", "f() { ls; }; f", "for a in b; do ls; done", "(ls)"])
def test_a_fault_leaves_nothing_behind(text: str) -> None:
    machine = _Fails(HostView(), PROGRAMS)
    machine.scripts = FollowedFiles()
    script = read(text, "bash")
    assert isinstance(script, Script)
    with pytest.raises(LookupError):
        machine.run(script, initial_scope(_PROJECT, machine.around))
    assert (machine.flow.beside, machine.flow.levels, machine.flow.frames) == ([], [], [])
    assert machine.budget.depth == 0
    assert (machine.scripts.place, machine.scripts.silent) == (0, False)


def test_a_file_is_followed_apart() -> None:
    """A trap and a loop that a script leaves mean nothing to the shell that has started it."""
    files = {f"{_PROJECT}/a.sh": ScriptFile("trap 'echo a' INT\nbreak\nexit 1\n", 0.0)}
    around = HostView(home="/home/user", workspace=_PROJECT, read_script=files.get, is_there=files.__contains__)
    commands = analyse_shell("for a in b c; do bash a.sh; ls $a; done", _PROJECT, around).commands
    assert [command.words for command in commands if command.words[0] == "ls"] == [("ls", "b"), ("ls", "c")]


def test_a_machine_has_few_fields() -> None:
    """A new fact belongs to a part that has the methods which change it."""
    assert len(vars(Machine(HostView()))) <= 12
