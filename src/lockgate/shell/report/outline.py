"""Draws a command as a tree of what it runs, with what each part resolves to and does.

It is the same run as the one that decides, with somebody looking on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lockgate.core.model import Effect
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.host_view import HostView
from lockgate.shell.grammar.tree import Command, Pipeline, Simple, Unparsed
from lockgate.shell.grammar.unparse import first_line
from lockgate.shell.interpreter.interpreter import AbstractInterpreter
from lockgate.shell.knowledge.options import HARMLESS, assign_roles
from lockgate.shell.programs.invoke import PROGRAMS
from lockgate.shell.state.findings import Findings
from lockgate.shell.state.machine import reader_for
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall

_MOST_STEPS = 300
_MOST_WORDS = 12
_READS, _SENDS, _RUNS = "reads", "sends", "runs"
_ROLES = {
    "read": _READS,
    "look": _READS,
    "read-below": "reads all in",
    "read-but": _READS,
    "read-below-but": "reads all in",
    "write": "writes",
    "pathspec": "writes",
    "fill": "writes",
    "write-first": "writes",
    "edit": "changes",
    "edit-below": "changes all in",
    "packed": "packs or unpacks",
    "into": "writes to",
    "container-copy": "copies",
    "move": "moves",
    "delete": "removes",
    "link": "links to",
    "saved": "fetches and saves",
    "url": "asks",
    "source": "takes from",
    "host": "connects to",
    "lookup": "looks up",
    "remote": "talks to",
    "push-to": "sends to",
    "transfer": "copies",
    "send": _SENDS,
    "send-file": "sends the file",
    "static": _SENDS,
    "method": "asks with",
    "proxy": "goes through",
    "endpoint": "goes to",
    "reroute": "goes elsewhere by",
    "command": _RUNS,
    "script-command": _RUNS,
    "program": _RUNS,
    "shell-argv": _RUNS,
    "script": "runs the file",
    "module": "runs the module",
    "loaded": "loads",
    "cwd": "works in",
    "config": "sets",
    "config-write": "sets for good",
    "assignment": "sets",
    "archive": "packs into or unpacks",
    "unpack": "unpacks",
    "compiled": "compiles",
    "output": "writes",
    "backup": "writes copies that end in",
    "prefix": "writes what begins with",
    "format": "prints by",
    "dsn": "connects to",
    "socket": "connects to",
    "socat": "connects to",
    "httpie": "asks",
    "send-to": "sends to",
    "process": "signals",
    "ssh-option": "sets",
    "apt-option": "sets",
    "action": "does",
}
"""What the role of a word is called in a sentence. Code has a role per language: ``runs code``.

What a wrapper runs is a run of its own.
"""


class WordUse(Record):
    """A word of a program that matters."""

    verb: str
    """``reads``, ``sends``, ``runs`` ..."""
    text: str
    option: str = ""
    """The option whose value it is, empty for an operand."""
    role: str = ""


class ProgramRun:
    """One program, or builtin, of one command."""

    __slots__ = ("about", "program", "uses", "words")

    def __init__(self, program: str, words: list[Arg]) -> None:
        self.program = program
        self.about = ""
        self.words = tuple(arg.shown for arg in words)
        """All words as they resolve."""
        self.uses: list[WordUse] = []


class CommandStep:
    """One command of the tree."""

    __slots__ = ("_text", "children", "effects", "node", "runs")

    def __init__(self, node: Command | None) -> None:
        self.node = node
        self.children: dict[int, CommandStep] = {}
        self.runs: dict[tuple[str, ...], ProgramRun] = {}
        """What was run, by its words: a loop's body is gone through more than once."""
        self.effects: dict[Effect, None] = {}
        self._text: str | None = None

    @property
    def text(self) -> str:
        """How it is written, in short."""
        if self._text is not None:
            return self._text
        return first_line(self.node) if self.node is not None else ""

    def rewrite(self, clean: Callable[[str], str]) -> None:
        """Put each text of all parts through a function that takes out what must not be shown."""
        for step in self.below():
            step._text = clean(step.text)
            step.effects = {effect.map_texts(clean): None for effect in step.effects}
            for run in step.runs.values():
                run.words = tuple(map(clean, run.words))
                run.uses = [use._replace(text=clean(use.text)) for use in run.uses]

    @property
    def kind(self) -> str:
        """The kind of command: ``simple``, ``pipeline``, ``for`` ..."""
        return type(self.node).__name__.lower()

    @property
    def position(self) -> int | None:
        """Where a simple command begins in the text that it was read from."""
        return self.node.position if isinstance(self.node, Simple) else None

    @property
    def expands(self) -> bool:
        """Whether a simple command has words that only the shell makes into what they are."""
        return isinstance(self.node, Simple) and any(word.literal is None for word in self.node.words)

    def below(self) -> Iterator[CommandStep]:
        """All parts, at any depth."""
        for step in self.children.values():
            yield step
            yield from step.below()

    def steps(self) -> list[CommandStep]:
        """The parts, without lists of one."""
        return [part for child in self.children.values() for part in child.without_list()]

    def without_list(self) -> list[CommandStep]:
        """This step, or the one that it only carries."""
        single = isinstance(self.node, Pipeline) and len(self.node.commands) == 1 and not self.node.negated
        return self.steps() if single else [self]


class _Noted(Findings):
    """Findings, each kept with the step that it was found in too."""

    __slots__ = ("machine",)

    def __init__(self, machine: _Observer) -> None:
        super().__init__()
        self.machine = machine

    def add(self, effect: Effect, *, quiet: bool = False) -> None:
        before = len(self.effects)
        super().add(effect, quiet=quiet)
        kept = next(reversed(self.effects)) if len(self.effects) > before else effect
        self.machine.now.effects[kept] = None


class _Observer(AbstractInterpreter):
    def __init__(self, around: HostView) -> None:
        super().__init__(around, PROGRAMS)
        self.root = self.now = CommandStep(None)
        self.findings = _Noted(self)
        self.count = 0

    def command(self, node: Command, scope: Scope, stdin: str | None = None) -> str:
        outer = self.now
        step = outer.children.get(id(node))
        if step is None and self.count < _MOST_STEPS:
            self.count += 1
            step = outer.children[id(node)] = CommandStep(node)
        self.now = step or outer
        try:
            return super().command(node, scope, stdin)
        finally:
            self.now = outer

    def perform(self, call: ProgramCall) -> str:
        run = self._run(call.what, call.args)
        shape = super().perform(call)
        run.program, run.about = call.what, call.entry.about or _about(call.what)
        run.uses = _uses(call)[:_MOST_WORDS]
        return shape

    def builtin_output(self, word: str, args: list[Arg], stdin: str | None, shape: str) -> str:
        self._run(word, [Arg(word), *args])
        return super().builtin_output(word, args, stdin, shape)

    def _run(self, program: str, args: list[Arg]) -> ProgramRun:
        run = ProgramRun(program, args)
        return self.now.runs.setdefault(run.words, run)


def _uses(call: ProgramCall) -> list[WordUse]:
    """The words of a program that matter."""
    found = [
        WordUse(verb, value.shown, option.name, option.role)
        for option in call.matched.options
        if (verb := _verb(option.role))
        for value in option.value
    ]
    for role, values in assign_roles(list(call.entry.operands), call.matched.operands):
        verb = _verb(role)
        if verb == _RUNS and values:
            found.append(WordUse(verb, " ".join(value.shown for value in values), "", role))
        elif verb:
            found += [WordUse(verb, value.shown, "", role) for value in values]
    return found


def _about(what: str) -> str:
    """What the program is for whose subcommand has no words of its own."""
    from lockgate.shell.knowledge.lookup import lookup

    entry = lookup(what.partition(" ")[0])
    return entry.about if entry is not None else ""


def _verb(role: str) -> str:
    if role in HARMLESS:
        return ""
    return "runs code" if role.startswith("code") else _ROLES.get(role, "")


def outline(text: str, cwd: str, around: HostView) -> CommandStep | None:
    """The tree of a command; ``None`` where it is not read.

    Args:
        text: The command as the shell gets it.
        cwd: Absolute working folder, empty where it is not known.
        around: What the analysis may know beside the command.
    """
    from lockgate.shell.analyse import initial_scope
    from lockgate.shell.grammar.reader import read

    script = read(text, reader_for("bash"))
    if isinstance(script, Unparsed):
        return None
    observer = _Observer(around)
    try:
        observer.run(script, initial_scope(cwd, around))
        observer.run_traps()
    except Exception:  # noqa: BLE001 - what only explains must not fail where the analysis itself does not
        return None
    return observer.root
