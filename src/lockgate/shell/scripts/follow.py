"""Follows files of the project that a command runs, by the same rules as the command itself.

What is found in a file is evidence with the file's name and line, and it gives its labels. It does not make the call
stricter than running a file is anyway: a sandbox holds what a script of the project does to the outside. The file may
be another one by the time it runs (``docs/adr/0014-scripts-are-read.md``).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.host_view import HostView
from lockgate.resources.path_spelling import is_inside
from lockgate.resources.paths import absolute, is_outside_workspace, read_effects
from lockgate.shell.expansion.arithmetic import check_integers
from lockgate.shell.grammar.tree import Script, Unparsed
from lockgate.shell.interpreter.traps import run_later
from lockgate.shell.scripts.printing import drop_unprinted, find_swallowed, installs
from lockgate.shell.state.abstract_text import ENVIRONMENT, OPAQUE, PLAIN
from lockgate.shell.state.findings import Findings, ReceiptCommand
from lockgate.shell.state.followed_files import NO_LINE, SPAN, FollowedFile, FollowedFiles
from lockgate.shell.state.run import RunScript
from lockgate.shell.state.scope import Arg, Scope, ScopeHistory

if TYPE_CHECKING:
    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.run import Running

_MOST_FILES, _MOST_TEXT = 24, 200_000
_MOST_TIMES = 4
"""How often one file is followed."""
_MOST_EFFECTS = 40
_HELD = frozenset({EffectKind.FETCH, EffectKind.EGRESS, EffectKind.PERSIST})
"""What a sandbox keeps a script from doing: it has no network, and what runs or is trusted later cannot be written."""
_PLACED = frozenset({EffectKind.DESTROY, EffectKind.TAMPER})
"""What counts in full where it is certain: a sandbox does not give back what was removed."""
_TOP = lazy_re(r"^(?=[^ \t\n#)}])", re.MULTILINE)
"""The begin of a line that may begin a command of its own."""
_MOST_TRIES, _MOST_TRIED = 3, 20_000
FOLLOWED, PARTLY = "script:followed", "script:partly"


class _Inside(Findings):
    """What is found in one file."""

    __slots__ = ("around", "scripts", "unfollowed")

    def __init__(self, scripts: FollowedFiles, around: HostView) -> None:
        super().__init__()
        self.scripts, self.around = scripts, around
        self.unfollowed = ""
        """The first reason why not all of it could be followed."""

    def merge(
        self, own: list[Effect], quiet: tuple[str, ...], act: ReceiptCommand | None = None, *, apart: bool = False
    ) -> None:
        """Record the effects of one command. What it says in lines of its own cannot be told from the script's."""
        super().merge(drop_unprinted(own) if quiet or self.scripts.silent or installs(own) else own, ())

    def add(self, effect: Effect, *, quiet: bool = False) -> None:
        """Record an effect with the place where it was found."""
        if effect.kind is EffectKind.EXECUTE:
            if effect.rule not in (FOLLOWED, PARTLY):
                self.unfollowed = self.unfollowed or self._because(effect)
            return
        if effect.changed is None:
            variant = Variant.SCRIPT if _is_held(effect, self.around) else effect.variant
            # The project's packages are read by its scripts all day.
            gives = None if effect.rule.startswith("place:vendored") else effect.gives
            effect = effect._replace(
                because=self._because(effect), variant=variant, gives=gives, changed=0.0, uncontainable=""
            )
        if len(self.effects) < _MOST_EFFECTS:
            super().add(effect, quiet=quiet)

    def _because(self, effect: Effect) -> str:
        where = self.scripts.where()
        return effect.because if effect.changed is not None or not where else f"in `{where}`: {effect.because}"


def _is_held(effect: Effect, around: HostView) -> bool:
    if effect.kind in _PLACED:
        # In a script most names are made of variables that nobody knows here; and a project may be the gate's own.
        root = around.workspace
        here = any(is_inside(path, root) for path in around.own_paths) and not is_outside_workspace(
            effect.what, root, around
        )
        own = effect.rule == "place:own/write" and here
        return own or any(mark in effect.what for mark in ("$\N{HORIZONTAL ELLIPSIS}", OPAQUE, ENVIRONMENT, PLAIN, "*"))
    return effect.kind in _HELD and effect.variant is not Variant.KNOWN


def open_script(machine: Machine, scope: Scope, path: str) -> FollowedFile | None:
    """Open a file to follow it; ``None`` where it cannot be known what it will hold, or nobody may look into it."""
    scripts = machine.scripts = machine.scripts or FollowedFiles()
    if "" in scope.cwds or len(scripts.files) >= _MOST_FILES or sum(len(f.text) for f in scripts.files) > _MOST_TEXT:
        return None
    # Where a ``cd`` may have failed, it is taken to have worked.
    for cwd in scope.cwds:
        full = absolute(path, cwd, machine.around)
        if full is None or is_written(machine, cwd, full) or _is_secret(full, machine.around):
            return None
        if sum(file.path == full for file in scripts.files) >= _MOST_TIMES:
            return None
        if (file := machine.around.read_script(full)) is not None:
            name = full.removeprefix(f"{machine.around.workspace}/")
            scripts.files.append(FollowedFile(name, file.text, file.changed, (len(scripts.files) + 1) * SPAN, full))
            return scripts.files[-1]
    return None


def _is_secret(full: str, around: HostView) -> bool:
    """Whether a file holds what must not be shown: what is found in a script is."""
    return any(effect.kind is not EffectKind.INGEST for effect in read_effects(full, "", around))


def is_written(machine: Machine, cwd: str, full: str) -> bool:
    """Whether the same command writes the file before it runs it."""
    if machine.is_in_file():
        return False
    places = (absolute(path, cwd, machine.around) for path in machine.disk.written)
    return any(place is not None and is_inside(full, place) for place in places)


def follow_script(
    machine: Machine, script: FollowedFile, what: str, body: Callable[[], Running[None]], *, apart: bool = True
) -> Running[list[Effect]]:
    """Follow a file that is open, and say what it does.

    Args:
        machine: The analysis.
        script: The file.
        what: Who runs it, for a person: a sentence that the evidence begins with.
        body: Follows it, and asks for what is to be run; whatever is found is kept here.
        apart: Whether a process of its own runs it, so that leaving a loop or setting a trap in it means nothing here.

    Returns:
        One ``execute`` effect for the file, and what was found in it and in the files that it runs.
    """
    scripts = machine.scripts = machine.scripts or FollowedFiles()
    found = _Inside(scripts, machine.around)
    first = len(scripts.files) - 1
    outer, flow, around = machine.findings, machine.flow, (scripts.place, scripts.silent)
    machine.flow = flow.of_process() if apart else flow
    machine.findings, scripts.place = found, script.base + NO_LINE
    left = machine.budget.swap(scripts.left)
    scripts.depth += 1
    try:
        yield from body()
    except Exception as error:  # noqa: BLE001 - a fault of ours must not hide what the rest of the command does
        found.unfollowed = found.unfollowed or f"not all of it was followed ({type(error).__name__})"
    finally:
        scripts.left = max(machine.budget.swap(left), 0)
        machine.findings, machine.flow, (scripts.place, scripts.silent) = outer, flow, around
        scripts.depth -= 1
    outer.programs += found.programs
    outer.commands += found.commands
    if isinstance(outer, _Inside):
        outer.unfollowed = outer.unfollowed or found.unfollowed
    # Of several files each can put words into what another runs.
    return _effects_of(found, what, script, max(file.changed for file in scripts.files[first:]))


def _effects_of(found: _Inside, what: str, script: FollowedFile, changed: float) -> list[Effect]:
    rule = PARTLY if found.unfollowed else FOLLOWED
    because = f"{what}, and {found.unfollowed}" if found.unfollowed else f"{what}, which can be changed until it runs"
    run = Effect(EffectKind.EXECUTE, script.name, rule, because, changed=changed)
    return [run, *(effect._replace(changed=changed) for effect in found.effects)]


def run_shell(
    machine: Machine, script: FollowedFile, scope: Scope, dialect: str, stdin: str | None = None
) -> Running[str]:
    """Follow the text of a file as a shell reads it. Returns the shape of what it prints."""
    from lockgate.shell.grammar.reader import read

    dialect = machine.enter(dialect)
    tree = read(script.text, dialect, script.base)
    if isinstance(tree, Unparsed):
        if machine.scripts is not None:
            machine.scripts.place = script.base + tree.position
        machine.findings.not_read(script.name, tree)
        tree = _read_before(script, tree.position, dialect)
    note_swallowed(machine, tree)
    return (yield RunScript(tree, scope, stdin))


def note_swallowed(machine: Machine, tree: Script) -> None:
    """Take note of which commands of a text that is going to be followed print nothing."""
    if machine.scripts is not None:
        machine.scripts.swallowed.update((id(node), node) for node in find_swallowed(tree))


def _read_before(script: FollowedFile, position: int, dialect: str) -> Script:
    """The commands before the one that is not read: a shell runs a file as it reads it, one after the other."""
    from lockgate.shell.grammar.reader import read

    starts = [match.start() for match in _TOP.finditer(script.text, 0, position + 1)]
    for start in reversed(starts[-_MOST_TRIES:]):
        if start > _MOST_TRIED:
            break
        tree = read(script.text[:start], dialect, script.base)
        if isinstance(tree, Script):
            return tree
    return Script()


def process(scope: Scope) -> Scope:
    """What a process that is started here knows; nothing that it does comes back."""
    inner = scope.new_shell()
    inner.ever = ScopeHistory()
    return inner


def run_process(machine: Machine, script: FollowedFile, args: list[Arg], scope: Scope, dialect: str) -> Running[None]:
    """Follow a file that a new shell runs with some arguments."""
    inner = process(scope)
    inner.positional = tuple(args)
    inner.variables["0"] = script.path
    inner.arrays["BASH_SOURCE"] = (Arg(script.path),)
    flow = machine.flow
    outer, flow.traps = flow.traps, []
    try:
        yield from run_shell(machine, script, inner, dialect)
        yield from run_later(machine)
    finally:
        flow.traps = outer
    check_integers(machine, inner.ever)
