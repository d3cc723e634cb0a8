"""Invokes one program: finds what it is, what the knowledge says of it, and what it runs in turn."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Label
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.interpreter.interpreter import Programs
from lockgate.shell.knowledge import lookup
from lockgate.shell.knowledge.call import ProgramCall, is_about_subcommand
from lockgate.shell.knowledge.lookup import ProgramEntry
from lockgate.shell.knowledge.options import Option, asks_only, match, may_be_undone
from lockgate.shell.programs.output import output_of
from lockgate.shell.programs.roles import apply_operands, apply_options, apply_standard_input
from lockgate.shell.state.abstract_text import OPAQUE, without_marks
from lockgate.shell.state.findings import NEEDS, mark_as_runtime
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.run import Running

_SENT_NAME = lazy_re(r"(?:--?[\w-]+=)?(?:[\w.\[\]-]+:?=)?(?:@|fileb?://)?(.+)", re.DOTALL)
_ROOTS = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/", "/opt/homebrew/bin/",
          "/opt/local/bin/", "/snap/bin/", "/run/current-system/sw/bin/")  # fmt: skip
_ASKED = frozenset(
    {"query", "fetch-own", "fetch-known", "fetch-package", "fetch-graphql", "compose-file", "write-tree"}
)
"""Words for effects that depend on what else a command says."""
_ELSEWHERE = frozenset({"connect", "egress"})
"""Words beside which ``destroy`` is of what is on another machine (``where: remote`` in the design's words)."""
_ASKING = frozenset({"--help", "--version"})
_HELP = frozenset({"--help", "-help", "-h", "help"})
_RUNNING = frozenset({"command", "program", "exec", "code", "execute", "execute-unknown", "config", "script"})


def run_program(
    machine: Machine,
    scope: Scope,
    name: str,
    args: list[Arg],
    stdin: str | None,
    perform: Callable[[ProgramCall], str],
) -> Running[str]:
    """Run a program given by its words. Returns the shape of what it prints.

    Args:
        machine: The analysis.
        scope: The state of the shell.
        name: What it is called, without the folder.
        args: Its words, itself first.
        stdin: What is known of its standard input.
        perform: Runs a command whose entry is known.
    """
    args = _spell_own_program(machine, scope, name, args)
    word = args[0].text
    if scope.ever.exported:
        from lockgate.shell.effects.unlisted import record_exported

        record_exported(machine, scope.ever)
    own = _run_by_own_path(machine, scope, word)
    if not own and len(args) == 2 and args[1].text in _ASKING:
        machine.keep(scope, args, _project_named_effects(name), ())
        return OPAQUE
    acts = len(machine.findings.acts)
    entry, in_project = lookup.lookup(name), False
    if entry is not None and own and lookup.family(entry) in lookup.table("not_of_projects"):
        from lockgate.shell.scripts.running import is_of_project, is_script

        in_project = is_of_project(machine, scope, word)
        entry = None if in_project and is_script(machine, scope, word) else entry
    if entry is None:
        own = yield from _effects_of_unknown(machine, scope, name, args, stdin, own)
        machine.keep(scope, args, own, (), apart=len(machine.findings.acts) == acts)
        return machine.shape_of_unknown(args, stdin)
    invocation = Invocation(machine, scope, entry, args, stdin, own)
    shape = perform(invocation)
    own = _effects_of_place(invocation, name, in_project=in_project)
    act = invocation.act(own) if invocation.entry.answers and own else None
    own = own or _project_named_effects(name)
    apart = len(machine.findings.acts) == acts
    machine.keep(scope, args, own, tuple(invocation.entry.quiet), act, apart=apart)
    return shape


def _spell_own_program(machine: Machine, scope: Scope, name: str, args: list[Arg]) -> list[Arg]:
    """The words of a command, with the path of its program where the project has the first one of that name."""
    if machine.around.program_folders and "/" not in args[0].text:
        from lockgate.shell.programs.own_programs import find_in_project

        if path := find_in_project(machine.around, scope.cwds, name):
            return [args[0]._replace(text=path), *args[1:]]
    return args


def _run_by_own_path(machine: Machine, scope: Scope, word: str) -> list[Effect]:
    """The effect of running a program by a path where the system does not keep its own; nothing for any other word."""
    if "/" not in word or (word.startswith(_ROOTS) and ".." not in word):
        return []
    machine.note_script(word, scope, word)
    because = "this runs a program by its path, which is not where the system keeps its own"
    return [Effect(EffectKind.EXECUTE, word, "shell:project-file", because)]


def _effects_of_unknown(
    machine: Machine, scope: Scope, name: str, args: list[Arg], stdin: str | None, own: list[Effect]
) -> Running[list[Effect]]:
    """The effects of a program without an entry. The text of one that is run by its path, as ``own`` says, is read."""
    if own:
        from lockgate.shell.scripts.running import run_by_path

        return (yield from run_by_path(machine, scope, args, stdin, own))
    because = f"nothing is known about `{name}`"
    return [Effect(EffectKind.EXECUTE, name, "shell:unknown-program", because, gives=Label.UNTRUSTED)]


def _effects_of_place(invocation: Invocation, name: str, *, in_project: bool) -> list[Effect]:
    """The effects of a program, with what it adds that the project may have a program of that name."""
    own = mark_as_runtime(invocation.own) if invocation.entry.runtime else invocation.own
    around, cwds, args = invocation.machine.around, invocation.scope.cwds, invocation.args
    if in_project:
        from lockgate.shell.programs.own_programs import program_by_path_effects

        return program_by_path_effects(around, cwds, args, own, fed=invocation.stdin is not None)
    if own and args[0].text in lookup.table("shared_names"):
        from lockgate.shell.programs.own_programs import project_program_effects

        return project_program_effects(around, cwds, name, args, own)
    return own


def _project_named_effects(name: str) -> list[Effect]:
    """What a program does that has nothing to do, where a file of the project decides which program that is."""
    named = lookup.table("project_named").get(name)
    if named is None:
        return []
    because = f"which code runs for `{name}`, or whom it asks, can be named in the project (`{named}`)"
    return [Effect(EffectKind.EXECUTE, name, "shell:project-named", because)]


class Invocation(ProgramCall):
    """A command with its entry: words are matched, then each role says what its words do."""

    def find_effects(self) -> Running[str]:
        """Find all effects. Returns the shape of what is printed."""
        options = self.given = self._descend(self.args[1:])
        # What the shell splits may hold more words than one, also where one is expected.
        self.matched.surprises.extend([arg for arg in self.args[1:] if arg.loose and OPAQUE in arg.text])
        entry = self.entry = self._entry_with(options) if options and self.entry.when else self.entry
        if self._asks_for_help(options):
            self.own = [effect for effect in self.own if effect.rule == "shell:project-file"]
            return OPAQUE
        self.not_listed += self.matched.unknown
        if not (entry.operands or entry.effects):
            self.not_listed += self.matched.operands
        yield from apply_options(self, options)
        if self.args[0].text.rpartition("/")[2] == "git" and self.scope.cwds != (self.machine.around.workspace,):
            self._check_git_folders()
        yield from apply_operands(self, options)
        yield from apply_standard_input(self)
        words = yield from self._apply_effects(options)
        if "connect" in words and not entry.operands:
            self.machine.disk.note_saving()  # nothing is known of its files
        self._add_unclear_words()
        self._add_contacts(options)
        if self.args[0].text.rpartition("/")[2] in lookup.senders():
            self._read_sent_files()
        if self.not_listed:
            from lockgate.shell.effects.unlisted import with_options

            self.own = with_options(self.own, self.what, self.not_listed, entry.operands)
        self._note_saved_files()
        self._explain_needs()
        if entry.hint and any(effect.kind is not EffectKind.INGEST for effect in self.own):
            self.machine.findings.hints[entry.hint] = None
        self._note_faithfulness(options)
        return self._output_shape()

    def _asks_for_help(self, options: list[Option]) -> bool:
        """Whether it prints its help or its version, and does nothing else."""
        if self.args[-1].text in _HELP and is_about_subcommand(self):
            return True
        return bool(self.entry.help) and asks_only(self.entry, options, self.matched)

    def _add_unclear_words(self) -> None:
        """Add what words may do of which the table does not say what they are."""
        if self.matched.surprises:
            self._add_dynamic_option()
        if self.matched.unknown and any("=" in arg.text or "://" in arg.text for arg in self.args):
            self._read_unlisted_addresses()

    def _add_contacts(self, options: list[Option]) -> None:
        """Add the effects of whom it talks to, as far as what it gets from there is printed."""
        found = self._contacts()
        if self.args[0].text.rpartition("/")[2] in lookup.table("raw_clients"):
            self._note_network_shell(found)
        if self.machine.is_in_file():
            from lockgate.shell.scripts.printing import drop_unprinted, saves

            found = drop_unprinted(found) if saves(self, options) else found
        self.own += found

    def _contacts(self) -> list[Effect]:
        """The effects of whom it talks to; most programs talk to nobody."""
        contact, program = self.contact, self.args[0].text.rpartition("/")[2]
        if not (contact.targets or contact.rerouted or program in lookup.table("postgresql_clients")):
            return []
        from lockgate.shell.effects.contact import contact_effects

        return contact_effects(self)

    def _note_network_shell(self, reached: list[Effect]) -> None:
        """Record that a client of any port runs a program for whoever is at the other end."""
        from lockgate.shell.inline.network_shells import why_client_is_shell

        because = why_client_is_shell(self.what, self.given, self.matched.operands)
        if because and any(effect.kind is EffectKind.EGRESS for effect in (*reached, *self.own)):
            self.machine.network.note_shell(next((effect.what for effect in reached), self.what), because)

    def _read_sent_files(self) -> None:
        """Record which secrets it reads whose words can name any file that it sends."""
        from lockgate.shell.effects.files import read

        words = [without_marks(arg.text) for arg in self.args[1:]]
        for name in _find_sent_files(self.what, words, without_marks(self.stdin or "")):
            found = read(Arg(name), self.machine, self.scope, below=True)
            self.own += [effect for effect in found if effect.kind is EffectKind.READ_SECRET]

    def _apply_effects(self, options: list[Option]) -> Running[Sequence[str]]:
        """Add what every invocation of this entry does. Returns the words that stand for it."""
        words = self.entry.effects
        if self.entry.recipes:
            from lockgate.shell.scripts.running import run_recipes

            words = [word for word in words if word != "execute"] if (yield from run_recipes(self)) else words
        for word in words:
            if word in _ASKED:
                from lockgate.shell.programs.queries import effect_of_query

                word = effect_of_query(self, word, options)
            if word == "agent":
                self._add_misled_agent()
            if word == "destroy" and not _ELSEWHERE.isdisjoint(words):
                word = "destroy-remote"
            if word:
                self.add(word)
        return words

    def _add_misled_agent(self) -> None:
        from lockgate.shell.effects.variables import misleads_agent

        if effect := misleads_agent(self.machine, self.scope):
            self.own.append(effect)

    def _entry_with(self, options: list[Option]) -> ProgramEntry:
        """The entry as it is where such options are given."""
        given = {name for option in options for name in option.names}
        return lookup.entry_with(self.entry, given, lambda names: may_be_undone(names, options, self.matched))

    def _explain_needs(self) -> None:
        """Say of what could only fail contained why that is. A file of the project with such a name may do anything."""
        if self.entry.needs and all(effect.rule != "shell:project-file" for effect in self.own):
            why = NEEDS[self.entry.needs].format(what=self.what)
            self.own = [effect._replace(uncontainable=why) for effect in self.own]

    def _check_git_folders(self) -> None:
        from lockgate.shell.programs.git_folders import why_disguised

        if problem := why_disguised(self.machine, self.scope):
            self.add_opaque(problem)

    def _descend(self, args: list[Arg]) -> list[Option]:
        """Match options, going down into subcommands."""
        entry = self.entry
        self.matched = match(entry, args)
        options = list(self.matched.options)
        while entry.commands:
            if not self.matched.operands:
                self.entry = entry._replace(effects=(*entry.effects, *entry.bare), commands={}, bare=())
                return options
            word, rest = self.matched.operands[0], self.matched.operands[1:]
            name = word.but_numbers
            below = lookup.subcommand(entry, name) if name is not None else None
            if name not in entry.commands:
                self.named += [word] if below else [word, *rest]
            if below is None:
                return options + self._take_unlisted(entry, word, rest)
            entry = below
            self.descended += 1
            self.not_listed += self.matched.unknown
            self.matched = match(entry, rest)
            options += self.matched.options
        self.entry = entry
        return options

    def _take_unlisted(self, entry: ProgramEntry, word: Arg, rest: list[Arg]) -> list[Option]:
        """Take a subcommand that is not listed. Returns the program's own options that stand behind it."""
        name = f"{entry.name}/{word.shown}"
        effects = (*entry.effects, *entry.otherwise)
        self.entry = entry._replace(name=name, effects=effects, commands={}, quiet=(), answers={}, bare=())
        # Its grammar is not known: nothing in its words is taken for harmless. Some need no subcommand, and read files.
        self.matched = self.matched._replace(operands=[word, *rest] if entry.operands else [], surprises=[])
        if not (entry.operands or effects):
            self.not_listed.append(word)
        if entry.before_only:
            return []
        behind = match(entry._replace(commands={}, stops=False), rest)
        self.not_listed += behind.unknown
        return behind.options

    def _note_saved_files(self) -> None:
        """What it fetches may lie in files afterwards."""
        if self.entry.keeps and any(effect.gives for effect in self.own):
            self.machine.disk.note_saving()
            self.machine.findings.loud = True

    def _output_shape(self) -> str:
        output = output_of(self)
        if output.chosen:
            self.machine.names.note_chosen()
        return output.text

    def _add_dynamic_option(self) -> None:
        """A word that is put together at run time may turn out to be any option."""
        roles = {role for role, _ in self.entry.options.values()}
        if roles & _RUNNING:
            word = self.matched.surprises[0].shown
            because = f"`{word}` is put together at run time and could be an option that runs a program"
            self.own.append(Effect(EffectKind.EXECUTE, self.what, "shell:dynamic-option", because))

    def _read_unlisted_addresses(self) -> None:
        """An address behind an option that is not known may be read. What runs code or sends is held already."""
        if all(effect.kind not in (EffectKind.EXECUTE, EffectKind.EGRESS) for effect in self.own):
            from lockgate.shell.programs.roles.network import apply_unlisted

            apply_unlisted(self)

    def _note_faithfulness(self, options: list[Option]) -> None:
        if not self.entry.faithful:
            self.machine.output.faithful = False
            return
        known = all(arg.static is not None for arg in self.args) and not self.matched.unknown
        composed = any(option.role == "composed" or option.name in self.entry.composes for option in options)
        self.machine.output.faithful = known and not composed


def _source(machine: Machine, scope: Scope, words: list[Arg], stdin: str | None) -> Running[str]:
    from lockgate.shell.scripts.running import source

    return source(machine, scope, words, stdin)


PROGRAMS = Programs(run_program, _source)
"""What an interpreter is given to run."""


def _find_sent_files(what: str, words: list[str], stdin: str) -> list[str]:
    """The names that a command may send as files.

    Args:
        what: The command with its subcommands.
        words: What stands behind it, without marks.
        stdin: Its standard input, as far as it is known.
    """
    rows, parts = lookup.table("sent_files"), what.split()
    how = next((rows[name] for end in range(len(parts), 0, -1) if (name := " ".join(parts[:end])) in rows), "")
    if not how:
        return []
    if how == "text":
        words = [word for text in (*words, stdin) for word in text.split()]
    found = (_SENT_NAME.fullmatch(word) for word in words if OPAQUE not in word)
    return [match.group(1) for match in found if match is not None]
