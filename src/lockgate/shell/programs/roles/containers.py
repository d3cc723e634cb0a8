"""Runs a command in a container that is there already: ``docker exec WEB ls``.

The files that it names are the container's, of which nothing is known here, and it cannot be run contained itself: the
service that would run it is out of reach. So it counts as code of the project, unless it only looks: its programs are
such that show files, texts and the machine (table ``looks``), and none of them does anything. Then nothing is left
behind that the container could run or send. Who has decided what ``ls`` is in there has a container that runs, with a
network, and needs no agent for that.
"""

from __future__ import annotations

from lockgate.core.model import EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.interpreter.builtins import builtin
from lockgate.shell.knowledge import lookup

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall, Role
    from lockgate.shell.state.run import Running
    from lockgate.shell.state.scope import Arg

_READING = frozenset({EffectKind.READ_SECRET, EffectKind.INGEST})
_SHELLS = frozenset({"shell", "sh"})


def run_argv_inside(call: ProgramCall, words: list[Arg], option: str) -> Running[None]:
    """A command up to the end, run in a container."""
    from lockgate.shell.programs.roles.running import run_argv

    machine, findings = call.machine, call.machine.findings
    effects, written = findings.effects, machine.disk.swap_written(set())
    programs, traps = len(findings.programs), len(machine.flow.traps)
    findings.effects = {}
    try:
        yield from run_argv(call, words, option)
    finally:
        inner, changed = findings.effects, machine.disk.swap_written(written)
        findings.effects = {**effects, **inner}
    does = changed or len(machine.flow.traps) > traps or any(effect.kind not in _READING for effect in inner)
    # What a client there removes is lost, wherever it ran. Of files nothing is known: they are the container's.
    lost = [effect for effect in inner if effect.kind is EffectKind.DESTROY and effect.rule.startswith("program:")]
    call.own += lost
    if does or not all(map(_looks, findings.programs[programs:])):
        call.add("execute")


def _looks(program: str | None) -> bool:
    """Whether a program is one of those that show something; a shell is what it runs."""
    if program is None or builtin(program) is not None:
        return program is not None
    entry = lookup.lookup(program)
    return entry is not None and (entry.stdin in _SHELLS or lookup.family(entry) in lookup.table("looks"))


FUNCTIONS: dict[str, Role] = {
    "argv-inside": run_argv_inside,
}
"""The function that applies each role."""
