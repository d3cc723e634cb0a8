"""Finds the effects of a shell command."""

from __future__ import annotations

from lockgate.core.model import REACHING, Analysis, Effect, EffectKind, Flow, Label, Left, Variant
from lockgate.resources.host_view import HostView
from lockgate.resources.path_spelling import somewhere
from lockgate.shell.grammar.reader import read
from lockgate.shell.grammar.tree import Pipeline, Script, Simple, Unparsed
from lockgate.shell.interpreter.interpreter import AbstractInterpreter
from lockgate.shell.programs.invoke import PROGRAMS
from lockgate.shell.state.abstract_text import is_known
from lockgate.shell.state.machine import Machine
from lockgate.shell.state.scope import Scope

_PUSHING = frozenset({"program:git/push", "program:gh/pr/create", "program:gh/repo/create", "program:glab/mr/create"})
"""Rules of what sends the commits of a repository."""


def analyse_shell(text: str, cwd: str, around: HostView, dialect: str = "bash") -> Analysis:
    """What a shell command can do.

    Args:
        text: The command as the shell gets it.
        cwd: Absolute working folder, empty where it is not known.
        around: What the analysis may know beside the command.
        dialect: ``bash``, ``sh``, ``dash`` or ``zsh``. Any other is not read.

    Returns:
        The effects with their evidence. What cannot be read or followed is an ``execute`` effect; nothing is raised.
    """
    try:
        return _analyse(text, cwd, around, dialect)
    except Exception as error:  # noqa: BLE001 - a fault in the analysis must never become an allow
        because = f"the analysis of this command failed ({type(error).__name__})"
        effect = Effect(EffectKind.EXECUTE, text, "shell:fault", because, gives=Label.UNTRUSTED)
        return Analysis((effect,), (None,))


def _analyse(text: str, cwd: str, around: HostView, dialect: str) -> Analysis:
    machine = AbstractInterpreter(around, PROGRAMS)
    machine.texts.append(text)
    scope = initial_scope(cwd, around)
    began = dict(scope.variables) if around.shell_stays else {}
    script = read(text, machine.enter(dialect))
    if isinstance(script, Unparsed):
        machine.findings.not_read(text, script)
    else:
        machine.run(script, scope)
    machine.run_traps()
    if around.program_folders and machine.findings.programs:
        _record_helpers(machine, cwd)
    if around.shell_stays:
        from lockgate.shell.effects.persistent_shell import record_left_state

        record_left_state(machine, scope, began)
    _record_variables(machine, scope)
    return _conclude(machine, script, text, cwd, dialect)


def _conclude(machine: AbstractInterpreter, script: Script | Unparsed, text: str, cwd: str, dialect: str) -> Analysis:
    """The analysis of a command that the interpreter has run: its findings, and where secrets go."""
    findings = machine.findings
    effects = tuple(findings.effects)
    flows: tuple[Flow, ...] = ()
    left: tuple[Left, ...] = ()
    sends, runs = _may_send_secrets(machine, text, effects), _may_run_downloads(machine, effects)
    if isinstance(script, Script) and (sends or runs or _may_keep(machine, text, effects)):
        effects, flows, left = _follow_secrets(script, cwd, machine.around, dialect, effects, sends=sends)
    effects = (*effects, *_network_effects(machine))
    receipt = _receipt(machine)
    # What answers with a receipt saves nothing of itself. Of one that goes to a file nobody sees whether it is one.
    keeps = frozenset[Label]() if receipt and not machine.output.to_file else _labels_kept(machine, effects, cwd)
    return Analysis(
        effects,
        tuple(findings.programs),
        tuple(findings.hints),
        () if findings.loud else tuple(findings.quiet) if any(e.gives for e in findings.effects) else (),
        echoes=not (machine.output.faithful and isinstance(script, Script) and _is_single(script)),
        flows=flows,
        left=left,
        listens=tuple(findings.listens),
        commands=tuple(findings.commands),
        keeps=keeps,
        receipt=receipt,
        written=tuple(sorted(path for path in machine.disk.written if is_known(path))),
        writes=_writes(machine),
    )


def _record_helpers(machine: AbstractInterpreter, cwd: str) -> None:
    """Record that the project has a program which others start by name: so each command may run it."""
    from lockgate.shell.programs.own_programs import find_in_project

    for name in machine.around.helpers:
        if path := find_in_project(machine.around, (cwd,), name):
            because = f"other programs start `{name}`, and the first one that they find is in the project"
            machine.findings.execute(path, "shell:project-helper", because)
            return


def _record_variables(machine: AbstractInterpreter, scope: Scope) -> None:
    """Note what the variables do that the command has set at any time."""
    ever = scope.ever
    if ever.given:
        from lockgate.shell.effects.variables import record_given

        machine.drive(record_given(machine, scope))
    if not ever.integers.isdisjoint(ever.given):
        from lockgate.shell.expansion.arithmetic import check_integers

        check_integers(machine, ever)
    if (ever.touched or ever.variables) and machine.around.may_be_zsh:
        from lockgate.shell.interpreter.zsh import record_own_tables

        record_own_tables(machine, ever)


def _network_effects(machine: Machine) -> list[Effect]:
    """The effects of shells that are given to the network, and of code that is run from there."""
    effects: list[Effect] = []
    if machine.network.shells:
        from lockgate.shell.inline.network_shells import shell_effects

        effects += shell_effects(machine.network.shells)
    if machine.network.downloads:
        from lockgate.shell.secret_flow.code_sources import DOWNLOAD, DownloadRun, run_effects

        runs = {
            DownloadRun(DOWNLOAD, address or "the network", address, what): None
            for address, what in machine.network.downloads
        }
        effects += run_effects(runs)
    return effects


def _writes(machine: Machine) -> bool:
    """Whether a file may be another one afterwards, as far as words name it."""
    return machine.disk.may_differ()


def _receipt(machine: Machine) -> tuple[str, ...]:
    """Patterns of the lines with which a receipt is none, where all that has an effect answers with one."""
    if machine.findings.mixed or not machine.findings.acts:
        return ()
    from lockgate.shell.programs.receipts import failures_of

    return failures_of(machine)


def _labels_kept(machine: Machine, effects: tuple[Effect, ...], cwd: str) -> frozenset[Label]:
    """The labels of what may end in a file that does not give them to who reads it.

    What is quiet about its own lines keeps what it brings where people expect it: packages, commits. Where it goes to a
    file, nobody compares its lines, and only of an installation they are known. A program that nobody knows counts only
    where something is reached: else what it prints is all that is said of it.
    """
    if not machine.findings.loud:
        if not machine.output.to_file:
            return frozenset()
        installing = {effect.rule for effect in effects if effect.kind is EffectKind.EXECUTE}
        effects = tuple(effect for effect in effects if effect.rule not in installing)
    reaches = any(effect.kind in REACHING for effect in effects)
    counting = (effect.gives for effect in effects if reaches or effect.kind is not EffectKind.EXECUTE)
    brought = frozenset(label for label in counting if label is not None)
    if not brought:
        return frozenset()
    unseen = reaches and any(effect.variant is Variant.RUNTIME for effect in effects)
    if machine.disk.unpacked or machine.disk.may_save or unseen:
        return brought
    from lockgate.resources.paths import read_effects

    given = [{effect.gives for effect in read_effects(path, cwd, machine.around)} for path in machine.disk.written]
    return frozenset(label for label in brought if any(label not in each for each in given))


def _may_send_secrets(machine: Machine, text: str, effects: tuple[Effect, ...]) -> bool:
    """Whether a secret may reach something that sends."""
    if not any(effect.kind in REACHING and effect.variant is not Variant.KNOWN for effect in effects):
        return False
    pushes = any(effect.rule in _PUSHING for effect in effects)
    return pushes or _has_secrets(machine, text, effects) or machine.around.keeps_any()


def _has_secrets(machine: Machine, text: str, effects: tuple[Effect, ...]) -> bool:
    """Whether a secret is read, or a variable named that holds one."""
    from lockgate.shell.effects.variables import is_secret_name

    reads = machine.disk.stores_secret or any(effect.kind is EffectKind.READ_SECRET for effect in effects)
    return reads or ("$" in text and is_secret_name(text))


def _may_run_downloads(machine: Machine, effects: tuple[Effect, ...]) -> bool:
    """Whether something runs, and something reaches another machine that may say what, or has before."""
    if not any(effect.kind is EffectKind.EXECUTE for effect in effects):
        return False
    reaches = any(effect.kind in REACHING for effect in effects)
    return reaches or bool(machine.around.kept_files())


def _may_keep(machine: Machine, text: str, effects: tuple[Effect, ...]) -> bool:
    """Whether a file may be written whose content matters to later calls."""
    if not machine.disk.written:
        return False
    reaches = any(effect.kind in REACHING and effect.variant is not Variant.KNOWN for effect in effects)
    return reaches or _has_secrets(machine, text, effects) or bool(machine.around.kept_files())


def _follow_secrets(
    script: Script, cwd: str, around: HostView, dialect: str, effects: tuple[Effect, ...], *, sends: bool
) -> tuple[tuple[Effect, ...], tuple[Flow, ...], tuple[Left, ...]]:
    """The effects, the flows that are a part of their evidence, and the files with what matters in them.

    With ``sends`` a secret may be sent.
    """
    from lockgate.shell.secret_flow import second_run
    from lockgate.shell.secret_flow.code_sources import run_effects

    tracer = second_run.follow(script, initial_scope(cwd, around), around, dialect)
    if tracer is None:
        return (
            (*effects, *(second_run.not_followed(effects) if sends else ()), *second_run.runs_not_followed(effects)),
            (),
            (),
        )
    runs = run_effects(tracer.runs)
    if not sends:
        return (*effects, *runs), (), tracer.in_files()
    sent = second_run.egress_effects(effects, tracer)
    said = (second_run.explain_effect(effect, tracer) for effect in effects)
    return (*said, *sent, *runs), tuple(second_run.best(tracer.flows)), tracer.in_files()


def initial_scope(cwd: str, around: HostView) -> Scope:
    """The state in which a command begins."""
    scope = Scope(cwd, {"HOME": around.home, **around.variables})
    scope.variables.pop("PWD", None)
    if around.shell_stays:
        scope.ever.stays = True
        if cwd == around.workspace:
            # Where the call says no folder, the shell is where the command before has left it.
            scope.cwds = (somewhere(cwd),)
    return scope


def _is_single(script: Script) -> bool:
    """Whether a script is one simple command whose output nothing else shapes."""
    if len(script.commands) != 1 or any(script.background):
        return False
    command = script.commands[0]
    if isinstance(command, Pipeline) and len(command.commands) == 1 and not command.timed:
        command = command.commands[0]
    if not isinstance(command, Simple) or command.assignments:
        return False
    return all(item.target.literal in ("/dev/null", "1") and item.fd == "2" for item in command.redirects)
