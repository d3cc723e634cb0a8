"""Follows secrets through a script: marks in a text say where it comes from, and go wherever the text goes.

Through variables, pipes, words, and files that are written and read again. A mark in front of a program that sends is a
flow.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.model import REACHING, Effect, EffectKind, Flow, Origin, Variant
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.host_view import HostView
from lockgate.resources.paths import read_effects
from lockgate.shell.expansion.words import expand
from lockgate.shell.grammar.tree import Redirect, Script
from lockgate.shell.interpreter.lookahead import nodes
from lockgate.shell.knowledge.lookup import list_programs
from lockgate.shell.knowledge.options import Option
from lockgate.shell.secret_flow.code_sources import CodeMachine
from lockgate.shell.secret_flow.credential_owners import FAR_SHELLS, destination
from lockgate.shell.secret_flow.deployments import deployment
from lockgate.shell.secret_flow.payloads import SecretPlace, is_payload
from lockgate.shell.secret_flow.sources import NAMED_SO, classify, find_picked_name, place_of
from lockgate.shell.state.abstract_text import ENVIRONMENT, OPAQUE, WEAK, marks_of, show, weaker, without_marks
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall

_OPTION = lazy_re(r"--?[A-Za-z][\w-]*(?<![0-9])")
_UNKNOWNS = lazy_re("(?:\\$\N{HORIZONTAL ELLIPSIS}){2,}")
_LISTING = frozenset({"set", "declare", "typeset", "export"})
"""Builtins that print every variable where they get no word."""
_MOST_WRITERS = 20
_MOST_REVISIONS = 4
_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts")
_SHOWN = ("program:", "address:metadata")
_SOCKETS = ("/dev/tcp/", "/dev/udp/")
_NOT_CONTENT = frozenset({"names", "number", "nothing", "date", "temporary", "root"})
"""What a program prints (``prints``) that says nothing of what it read."""
_SAME = frozenset({"input", "cat", "part"})
_SENT = frozenset({"send", "send-file", "static", "url", "host", "lookup", "transfer", "egress", "connect"})
"""Roles of an option whose value surely leaves: a secret in it ``reaches`` the program, else it ``may reach`` it."""


class _RunTrace(Record):
    """What a program alone has done while it was run."""

    shape: str
    """The shape of what it prints."""
    read: list[tuple[str, str]]
    """The files that it has read, each with its marks."""
    ran: str
    """Marks of what the commands print that it runs by itself."""
    written: set[str]
    unpacked: bool


class Tracer(CodeMachine):
    """A machine that follows secrets, and code from the network."""

    def __init__(self, around: HostView) -> None:
        super().__init__(around)
        self.ran = ""
        """Marks of what the commands print that a program runs by itself."""
        self.sockets: dict[str, str] = {}
        """Descriptors that are connections."""
        self.sourced = ""
        """Marks of what variables may hold that the script did not set, because it has run a file that sets them."""
        self.flows: dict[Flow, None] = {}
        self.reached: dict[tuple[EffectKind, str, str], dict[Flow, None]] = {}
        """The flows by the effect that they reach (kind, rule, object)."""
        self.payloads: dict[tuple[EffectKind, str, str], dict[Flow, str]] = {}
        """Those of them that leave with what is sent, and where that goes, for a person."""
        self.deployments: dict[tuple[EffectKind, str, str], set[str]] = {}
        """For each effect that sends a secret: the deployments, an empty one where it is another way of sending."""
        self.repository = ""
        """Marks of what may have been taken into the repository."""
        self.writers: list[tuple[Script, Scope]] = []
        """Process substitutions that are written to."""

    def content(self) -> str:
        """The shape of the files that a redirection has just read."""
        marks = "".join(held for _, held in self.read)
        self.read = []
        return OPAQUE + marks

    def name_substitution(self, shape: str) -> str:
        """The name of the file that a process substitution becomes."""
        name = f"/dev/fd/{63 + len(self.files)}"
        self.files[name] = marks_of(shape)
        return name

    def redirect(self, redirects: tuple[Redirect, ...], scope: Scope, shape: str, *, stays: bool) -> None:
        """Record where a command's output goes; with ``stays`` the redirections hold from here on (``exec``)."""
        for redirect in redirects:
            if redirect.operator in ("<<", "<<-", "<<<"):
                continue
            for arg in expand(redirect.target, self, scope):
                text = without_marks(arg.text)
                if text.startswith(_SOCKETS):
                    self._note_socket(text, marks_of(arg.text))
                if stays:
                    self.keep_socket(redirect, text)
                if redirect.operator == "<":
                    continue
                if stays and text.startswith("/dev/"):
                    self.sockets[redirect.fd] = text
                elif redirect.fd in ("", "1"):
                    self._write(self.sockets.get(text, text), scope, marks_of(shape), more=">>" in redirect.operator)

    def _write(self, name: str, scope: Scope, marks: str, *, more: bool) -> None:
        if name.startswith(_SOCKETS):
            self._note_socket(name, marks)
        elif not name.startswith("/dev/"):
            place = place_of(name, scope)
            self.crossed |= bool(self.flow.beside) and self.is_connected(marks)
            self.files[place] = marks_of(self.marks_in_file(place) + marks) if more else marks

    def _note_socket(self, name: str, marks: str) -> None:
        """Record what is sent through a socket of bash, or stands in the name of its host."""
        name = plainly(name)
        for mark in marks:
            self._flow(mark, name, surely=True, key=(EffectKind.EGRESS, "shell:dev-tcp", name), whom=f"`{name}`")

    def builtin_output(self, word: str, args: list[Arg], stdin: str | None, shape: str) -> str:
        """The shape of what a builtin prints."""
        if word in ("source", "."):
            self.sourced = marks_of(self.sourced + self.content())
        if word in _LISTING and all(arg.text.startswith("-") for arg in args):
            return shape + self.mark(Origin(word))
        if word not in ("echo", "printf", "print"):
            return shape
        lost = set("".join(marks_of(arg.text) for arg in args)) - set(shape)
        return shape + (OPAQUE + "".join(sorted(lost)) if lost else "")

    def shape_of_unknown(self, args: list[Arg], stdin: str | None) -> str:
        """The shape of what a program prints of which nothing is known: it may be made from all that it gets."""
        got = marks_of("".join([stdin or "", *(arg.text for arg in args[1:])]))
        return OPAQUE + self.pass_on(got, args[0].shown, surely=False)

    def capture(self, script: Script, scope: Scope, *, writing: bool = False) -> str:
        """Run a script in a subshell; what is written to it is only known at the end (``run_writers``)."""
        if writing:
            self.writers.append((script, scope.copy()))
        return super().capture(script, scope, writing=writing)

    def runs_concurrently(self, script: Script) -> bool:
        """Whether commands of a script run at the same time, or one waits for what another writes."""
        if self.crossed or "mkfifo" in self.findings.programs:
            return True
        return any(isinstance(node, Script) and any(node.background) for node in nodes(script))

    def run_text(self, text: str, scope: Scope, dialect: str = "bash", stdin: str | None = None) -> str:
        """Run text as shell, and keep what it prints for the program that runs it."""
        self.note_code(text, "a shell", in_shell=True)
        shape = super().run_text(text, scope, dialect, stdin)
        self.ran += marks_of(shape)
        return shape

    def run_writers(self) -> None:
        """Run the process substitutions that are written to once more: any secret may go there."""
        every = OPAQUE + "".join(map(weaker, self.by_mark))
        for script, scope in self.writers[:_MOST_WRITERS]:
            self.run(script, scope, every)

    def perform(self, call: ProgramCall) -> str:
        """Run one program, and follow what it gets to where that goes."""
        done = self._perform_apart(call)
        sinks = [effect for effect in call.own if effect.kind in REACHING and effect.variant is not Variant.KNOWN]
        if done.unpacked:
            named = (
                self.marks_at(place_of(without_marks(arg.text), call.started)) for arg in call.args[1:] if arg.text
            )
            self.note_unpacked(marks_of((call.stdin or "") + "".join(named)), call.scope)
        if not call.ran:
            self.note_words(call)
        fetched = self.from_network(call)
        if fetched:
            for name in done.written:
                self.files[place_of(without_marks(name), call.scope)] = fetched
        if sinks:
            # What only asks for something on its way (a key, say) hands on what it reads, and sends its words at most.
            asks = _program(call) in list_programs("carrying") and all(
                effect.kind is EffectKind.FETCH for effect in sinks
            )
            self._record_sent(call, [] if asks else done.read, sinks, done.ran)
            self._record_published(call, sinks)
            if not asks:
                # What runs on another machine prints here.
                return done.shape + fetched + self._own(call) + (done.ran if _program(call) in FAR_SHELLS else "")
        if call.ran:
            return done.shape + "".join(sorted(set(marks_of("".join(call.shapes))) - set(done.shape)))
        return fetched + self._hand_on(call, done.shape, done.read, done.written)

    def _perform_apart(self, call: ProgramCall) -> _RunTrace:
        """Run one program, and tell what it alone has read, run, written and unpacked."""
        outer, self.read = self.read, []
        around, self.ran = self.ran, ""
        before = self.disk.swap_written(set())
        unpacked, self.disk.unpacked = self.disk.unpacked, False
        try:
            shape = self.drive(call.find_effects())
        finally:
            here, self.disk.unpacked = self.disk.unpacked, unpacked or self.disk.unpacked
            read, self.read = self.read, outer
            ran, self.ran = self.ran, around
            written = self.disk.swap_written(before)
            self.disk.written |= written
        return _RunTrace(shape, read, ran, written, here)

    def _record_published(self, call: ProgramCall, sinks: list[Effect]) -> None:
        """Record the secrets in what a push or a publication sends by its nature."""
        file = SecretPlace("file")
        if call.what in list_programs("pushing"):
            self._arrive(call, self.repository, file, sinks, surely=False)
            self._arrive(call, self.marks_of_push(call), file, sinks, surely=True)
        if call.what in list_programs("publishing"):
            self._arrive(call, self.marks_below(place_of(".", call.scope)), file, sinks, surely=False)

    def marks_of_push(self, call: ProgramCall) -> str:
        """Marks of the secrets in the commits that a push sends."""
        operands = [arg.static or "" for arg in call.matched.operands] if call.what == "git push" else []
        revisions = [refspec.lstrip("+").partition(":")[0] for refspec in operands[1:]] or ["HEAD"]
        marks = ""
        for revision in revisions[:_MOST_REVISIONS]:
            files = (
                self.around.outgoing(call.scope.cwds[0], operands[0] if operands else "", revision) if revision else {}
            )
            for path, origins in (files or {}).items():
                found = read_effects(path, call.scope.cwds[0], self.around)
                named = any(e.kind is EffectKind.READ_SECRET and e.rule != NAMED_SO for e in found)
                marks += self.mark(Origin(path)) if named else ""
                marks += "".join(self.mark(origin) for origin in origins)
        return marks_of(marks)

    def _hand_on(self, call: ProgramCall, shape: str, read: list[tuple[str, str]], written: set[str]) -> str:
        """The shape of what a program prints that sends nothing; what it writes is kept."""
        program = _program(call)
        if call.what in list_programs("committing"):
            taken = "".join([call.stdin or "", *(marks for _, marks in read), *(arg.text for arg in call.args)])
            self.repository = marks_of(self.repository + marks_of(taken))
        surely = call.entry.prints in _SAME or program in list_programs("carrying")
        got = marks_of(call.stdin or "") + "".join(marks for _, marks in read)
        told = "".join(marks_of(arg.text) for arg in call.args[1:])
        kept = self.pass_on(got, call.what, surely=surely, picked=find_picked_name(call) if got else "")
        kept += self.pass_on(told, call.what, surely=False)
        for name in written if program not in list_programs("making") else ():
            self.files[place_of(without_marks(name), call.scope)] = kept
        if call.entry.prints in _NOT_CONTENT or program.endswith("sum"):
            return shape
        if call.entry.prints == "cat" or program == "tee":
            kept = got
        elif call.entry.prints == "word":
            kept = self.pass_on(told, call.what, surely=False)
        kept += self._own(call)
        return without_marks(shape) + OPAQUE + kept if kept else shape

    # ------------------------------------------------------------ flows

    def _own(self, call: ProgramCall) -> str:
        """Marks of the secrets that a program shows that are in no file."""
        shows = any(e.kind is EffectKind.READ_SECRET and e.rule.startswith(_SHOWN) for e in call.own)
        name = " ".join([call.what, *(arg.text for arg in call.matched.operands[:1] if arg.static is not None)])
        return self.mark(Origin(name)) if shows else ""

    def _record_sent(self, call: ProgramCall, read: list[tuple[str, str]], sinks: list[Effect], ran: str) -> None:
        """Record which secrets a program that sends gets to see."""
        for text, marks in read:
            option = _option(call, text)
            surely = option is None or option.role in _SENT
            self._arrive(call, marks, SecretPlace("file", option.name if option else "", text), sinks, surely=surely)
        self._record_words(call, {text for text, _ in read}, sinks)
        self._record_input(call, sinks, ran)

    def _record_words(self, call: ProgramCall, looked_at: set[str], sinks: list[Effect]) -> None:
        """Record the secrets in the words of a program that sends, and in files that they name without saying so."""
        before = ""
        given = {option.name for option in call.matched.options}
        for arg in call.args[1:]:
            option = _option(call, arg.text)
            own = arg.text.partition("=")[0] if arg.text.startswith("-") else before
            place = SecretPlace("word", option.name if option else own, arg.text)
            self._arrive(call, marks_of(arg.text), place, sinks, surely=True)
            file = without_marks(arg.text).rpartition("@")[2]
            if (self.files or self.earlier) and file not in looked_at and not (option and option.role == "write"):
                # No table says that the program reads it, but what else should it do with what was just written?
                held = "".join(map(weaker, self.marks_at(place_of(file, call.scope)))) if file else ""
                self._arrive(call, held, place._replace(how="file"), sinks, surely=False)
            rest = arg.text
            for shape in self.plain:
                rest = rest.replace(shape, "")
            if self.sourced and (ENVIRONMENT in rest or OPAQUE in rest) and not marks_of(rest):
                self._arrive(call, self.sourced, place, sinks, surely=False, given=True)
            # An option that is not listed may take the word behind it.
            before = arg.text if arg.text.startswith("-") and arg.text not in given else ""

    def _record_input(self, call: ProgramCall, sinks: list[Effect], ran: str) -> None:
        """Record the secrets in the standard input of a program that sends, where it may read that."""
        program, stdin = _program(call), marks_of(call.stdin or "")
        if program in list_programs("sending_input") and program not in FAR_SHELLS:
            stdin += marks_of("".join(call.shapes)) + ran
        named = next((arg for arg in call.args[1:] if _is_input(arg.text)), None)
        telnet = any(arg.text.startswith("telnet:") for arg in call.args)
        surely = named is not None or telnet or program in list_programs("sending_input")
        if surely or program not in list_programs("not_reading") or any(arg.loose for arg in call.args):
            option = _option(call, named.text) if named is not None else None
            self._arrive(call, stdin, SecretPlace("input", option.name if option else ""), sinks, surely=surely)

    def _arrive(
        self,
        call: ProgramCall,
        marks: str,
        place: SecretPlace,
        sinks: list[Effect],
        *,
        surely: bool,
        given: bool = False,
    ) -> None:
        what = plainly(call.what)
        name = f"{what} {place.option}" if _OPTION.fullmatch(place.option) else what
        for mark in marks:
            source = self.source(mark)
            if source is None or not source.text:
                continue
            held = classify(source, given=given)
            own = source.only_named and place.how == "file" and _runs_file(call)
            for effect in (sink._replace(what=plainly(sink.what)) for sink in sinks):
                whom = destination(call, effect) if not own and is_payload(call, place, held, effect) else ""
                self._flow(mark, name, surely=surely, key=key_of(effect), whom=whom)
                if whom:
                    self.deployments.setdefault(key_of(effect), set()).add(deployment(call))

    def _flow(self, mark: str, sink: str, *, surely: bool, key: tuple[EffectKind, str, str], whom: str) -> None:
        source = self.source(mark)
        if source is None or not source.text:
            return
        flow = Flow(source.text, source.through, sink, surely and mark < WEAK)
        self.flows[flow] = None
        self.reached.setdefault(key, {})[flow] = None
        if whom:
            self.payloads.setdefault(key, {})[flow] = whom


def plainly(text: str) -> str:
    """A text as a person reads it, the same for both runs: in the second one there is more of what is not known."""
    return _UNKNOWNS.sub("$\N{HORIZONTAL ELLIPSIS}", show(without_marks(text)))


def key_of(effect: Effect) -> tuple[EffectKind, str, str]:
    """What an effect of both runs is found by."""
    return (effect.kind, plainly(effect.rule), plainly(effect.what))


def _option(call: ProgramCall, text: str) -> Option | None:
    """The option that a word belongs to: the word is all of its value, or what follows an ``@`` in it.

    A role that cuts a value in another way (``name=FILE``) has no option here, and the flow names the program alone.
    """
    bare = without_marks(text)
    for option in call.matched.options:
        for value in (without_marks(arg.text) for arg in option.value):
            whole = (value, f"{option.name}{value}", f"{option.name}={value}")
            if bare and (bare in whole or value.endswith(f"@{bare}")):
                return option
    return None


def _program(call: ProgramCall) -> str:
    return call.args[0].text.rpartition("/")[2]


def _is_input(text: str) -> bool:
    """Whether a word stands for standard input."""
    return text in ("-", "/dev/stdin") or text.endswith(("@-", "=-", "=<-", "@/dev/stdin"))


def _runs_file(call: ProgramCall) -> bool:
    """Whether a runtime runs a file: what that does with its own settings is not seen, only which calls it has."""
    return call.entry.runtime and any(arg.text.endswith(_SCRIPTS) for arg in call.matched.operands)
