"""A machine that follows secrets: marks in a text say where it comes from, and go wherever the text goes.

Through variables, pipes, words, and files that are written and read again. A mark in front of a program that sends is a
flow.
"""

from __future__ import annotations

import posixpath

from lockgate.analysis.shell.commands import Machine
from lockgate.analysis.shell.marks import (
    ENVIRONMENT,
    FIRST_MARK,
    OPAQUE,
    WEAK,
    known,
    marks_of,
    shown,
    weaker,
    without_marks,
)
from lockgate.analysis.shell.options import Option
from lockgate.analysis.shell.scope import Arg, Scope
from lockgate.analysis.shell.syntax import Redirect
from lockgate.analysis.shell.words import expand
from lockgate.analysis.spelling import inside
from lockgate.analysis.surroundings import Surroundings
from lockgate.model import REACHING, Effect, EffectKind, Flow, Variant
from lockgate.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from lockgate.analysis.shell.invoke import Invocation

_LONGEST_WAY = 4
_MOST_MARKS = 200
_NOT_CONTENT = frozenset({"names", "number", "nothing", "date", "temporary", "root"})
"""What a program prints (``prints``) that says nothing of what it read."""
_SAME = frozenset({"input", "cat", "part"})
_ENCODING = """
    base64 base32 basenc gbase64 xxd od hexdump uuencode gzip gunzip zcat bzip2 bunzip2 xz unxz xzcat zstd zstdcat lz4
    tar gtar bsdtar zip 7z 7za cpio ar cp mv install dd tee rsync openssl gpg gpg2 age jq yq cat tac rev iconv recode
    sed awk gawk tr
"""
_CARRYING = frozenset(_ENCODING.split())
"""Programs that write or print what they read, in whichever form."""
_INPUT = """
    nc ncat netcat socat telnet ssh sftp openssl mail mailx sendmail msmtp mutt ftp lftp tftp websocat wscat
    mosquitto_pub kcat kafkacat redis-cli psql mysql nslookup
"""
_SENDING_INPUT = frozenset(_INPUT.split())
"""Programs that send what they find on standard input without being told to."""
_SENT = frozenset({"send", "send-file", "static", "url", "host", "lookup", "transfer", "egress", "connect"})


class Source(Record):
    """Where a text comes from, and the programs that it has passed."""

    text: str
    through: tuple[str, ...] = ()


class Tracer(Machine):
    """A machine that follows secrets."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self.sources: dict[Source, str] = {}
        """Each source with its mark."""
        self.by_mark: dict[str, Source] = {}
        self.files: dict[str, str] = {}
        """Marks of what lies in the files that were written."""
        self.sockets: dict[str, str] = {}
        """Descriptors that are connections."""
        self.read: list[tuple[str, str]] = []
        """Files that the command reads, with the marks of what lies in them."""
        self.sourced = ""
        """Marks of what variables may hold that the script did not set, because it has run a file that sets them."""
        self.flows: dict[Flow, None] = {}
        self.reached: dict[tuple[EffectKind, str, str], dict[Flow, None]] = {}
        """The flows by the effect that they reach (kind, rule, object)."""

    # ------------------------------------------------------------ marks

    def mark(self, source: Source) -> str:
        """The mark of a source, empty where there are too many."""
        if source not in self.sources and len(self.sources) < _MOST_MARKS:
            mark = chr(ord(FIRST_MARK) + len(self.sources))
            self.sources[source] = mark
            self.by_mark[mark] = source
        return self.sources.get(source, "")

    def passed(self, marks: str, program: str, *, surely: bool) -> str:
        """The marks of what a program makes of a text."""
        result = ""
        for mark in marks:
            source = self.by_mark.get(_strong(mark))
            if source is None:
                continue
            way = source.through
            if program and program not in way and len(way) < _LONGEST_WAY:
                way = (*way, program)
            after = self.mark(source._replace(through=way))
            result += after if surely and mark < WEAK else weaker(after)
        return "".join(dict.fromkeys(result))

    def named(self, path: str) -> str:
        """A path for a person."""
        home = self.around.home
        return f"~{path[len(home) :]}" if home and inside(path, home) else path

    # ------------------------------------------------------------ what the machine asks

    def note_read(self, text: str, scope: Scope, found: list[Effect]) -> None:
        """Keep what lies in a file that is read."""
        text = without_marks(text)
        secret = [effect.what for effect in found if effect.kind is EffectKind.READ_SECRET]
        marks = [self.mark(Source(self.named(what if known(text) else shown(text)))) for what in secret]
        place = _place(text, scope)
        marks += [held for path, held in self.files.items() if inside(path, place)]
        if any(marks):
            self.read.append((text, marks_of("".join(marks))))

    def content(self) -> str:
        """The shape of the files that a redirection has just read."""
        marks = "".join(held for _, held in self.read)
        self.read = []
        return OPAQUE + marks

    def substituted(self, shape: str) -> str:
        """The name of the file that a process substitution becomes."""
        name = f"/dev/fd/{63 + len(self.files)}"
        self.files[name] = marks_of(shape)
        return name

    def redirected(self, redirects: tuple[Redirect, ...], scope: Scope, shape: str, *, stays: bool) -> None:
        """Keep where a command's output goes; with ``stays`` the redirections hold from here on (``exec``)."""
        for redirect in redirects:
            if redirect.operator[0] not in ">&<" or redirect.operator in ("<", "<<", "<<-", "<<<"):
                continue
            for arg in expand(redirect.target, self, scope):
                text = without_marks(arg.text)
                if stays and text.startswith("/dev/"):
                    self.sockets[redirect.fd] = text
                elif redirect.fd in ("", "1"):
                    self._write(self.sockets.get(text, text), scope, marks_of(shape), more=">>" in redirect.operator)

    def _write(self, name: str, scope: Scope, marks: str, *, more: bool) -> None:
        if name.startswith(("/dev/tcp/", "/dev/udp/")):
            for mark in marks:
                self._flow(mark, name, surely=True, key=(EffectKind.EGRESS, "shell:dev-tcp", name))
        elif not name.startswith("/dev/"):
            place = _place(name, scope)
            self.files[place] = marks_of(self.files.get(place, "") + marks) if more else marks

    def said(self, word: str, args: list[Arg], stdin: str | None, shape: str) -> str:
        """The shape of what a builtin prints."""
        if word in ("source", "."):
            self.sourced = marks_of(self.sourced + self.content())
        if word not in ("echo", "printf", "print"):
            return shape
        lost = set("".join(marks_of(arg.text) for arg in args)) - set(shape)
        return shape + (OPAQUE + "".join(sorted(lost)) if lost else "")

    def perform(self, call: Invocation) -> str:
        """Run one program, and follow what it gets to where that goes."""
        outer, self.read = self.read, []
        before, self.written = self.written, set()
        try:
            shape = call.run()
        finally:
            read, self.read = self.read, outer
            written, self.written = self.written, before | self.written
        sinks = [effect for effect in call.own if effect.kind in REACHING and effect.variant is not Variant.KNOWN]
        if sinks:
            # What only asks for something on its way (a key, say) hands on what it reads, and sends its words at most.
            asks = _program(call) in _CARRYING and all(effect.kind is EffectKind.FETCH for effect in sinks)
            self._sent(call, [] if asks else read, sinks)
            if not asks:
                return shape
        if call.ran:
            return shape + "".join(sorted(set(marks_of("".join(call.shapes))) - set(shape)))
        return self._handed_on(call, shape, read, written)

    def _handed_on(self, call: Invocation, shape: str, read: list[tuple[str, str]], written: set[str]) -> str:
        """The shape of what a program prints that sends nothing; what it writes is kept."""
        program = _program(call)
        surely = call.entry.prints in _SAME or program in _CARRYING
        got = marks_of(call.stdin or "") + "".join(marks for _, marks in read)
        told = "".join(marks_of(arg.text) for arg in call.args[1:])
        kept = self.passed(got, call.what, surely=surely) + self.passed(told, call.what, surely=False)
        for name in written:
            self.files[_place(without_marks(name), call.scope)] = kept
        if call.entry.prints in _NOT_CONTENT or program.endswith("sum"):
            return shape
        if call.entry.prints == "cat" or program == "tee":
            kept = got
        elif call.entry.prints == "word":
            kept = self.passed(told, call.what, surely=False)
        kept += self._own(call)
        return without_marks(shape) + OPAQUE + kept if kept else shape

    # ------------------------------------------------------------ flows

    def _own(self, call: Invocation) -> str:
        """Marks of the secrets that a program shows that are in no file."""
        shows = any(effect.kind is EffectKind.READ_SECRET and effect.rule == call.rule for effect in call.own)
        name = " ".join([call.what, *(arg.text for arg in call.matched.operands[:1] if arg.static is not None)])
        return self.mark(Source(name)) if shows else ""

    def _sent(self, call: Invocation, read: list[tuple[str, str]], sinks: list[Effect]) -> None:
        """Keep which secrets a program that sends gets to see."""
        program = _program(call)
        for text, marks in read:
            option = _option(call, text)
            surely = option is None or option.role in _SENT
            self._arrive(call, marks, option, sinks, surely=surely)
        for arg in call.args[1:]:
            option = _option(call, arg.text)
            self._arrive(call, marks_of(arg.text), option, sinks, surely=True)
            if self.sourced and (ENVIRONMENT in arg.text or OPAQUE in arg.text) and not marks_of(arg.text):
                self._arrive(call, self.sourced, option, sinks, surely=False)
        given = marks_of(call.stdin or "")
        named = next((arg for arg in call.args[1:] if _is_input(arg.text)), None)
        if named is not None or program in _SENDING_INPUT:
            option = _option(call, named.text) if named is not None else None
            self._arrive(call, given, option, sinks, surely=True)

    def _arrive(
        self, call: Invocation, marks: str, option: Option | None, sinks: list[Effect], *, surely: bool
    ) -> None:
        name = f"{call.what} {option.name}" if option is not None else call.what
        for mark in marks:
            for effect in sinks:
                key = (effect.kind, effect.rule, shown(without_marks(effect.what)))
                self._flow(mark, name, surely=surely, key=key)

    def _flow(self, mark: str, sink: str, *, surely: bool, key: tuple[EffectKind, str, str]) -> None:
        source = self.by_mark.get(_strong(mark))
        if source is None:
            return
        flow = Flow(source.text, source.through, sink, surely and mark < WEAK)
        self.flows[flow] = None
        self.reached.setdefault(key, {})[flow] = None


def _strong(mark: str) -> str:
    return chr(ord(mark) - ord(WEAK) + ord(FIRST_MARK)) if mark >= WEAK else mark


def _place(text: str, scope: Scope) -> str:
    cwd = scope.cwds[0] if len(scope.cwds) == 1 else ""
    return posixpath.normpath(posixpath.join(cwd, text)) if text else text


def _option(call: Invocation, text: str) -> Option | None:
    """The option that a word belongs to."""
    bare = without_marks(text)
    for option in call.matched.options:
        for value in (without_marks(arg.text) for arg in option.value):
            whole = (value, f"{option.name}{value}", f"{option.name}={value}")
            if bare and (bare in whole or value.endswith(f"@{bare}")):
                return option
    return None


def _program(call: Invocation) -> str:
    return call.args[0].text.rpartition("/")[2]


def _is_input(text: str) -> bool:
    """Whether a word stands for standard input."""
    return text in ("-", "/dev/stdin") or text.endswith(("@-", "=-", "=<-", "@/dev/stdin"))
