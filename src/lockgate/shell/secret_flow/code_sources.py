"""Follows code from the network: what is downloaded and then run, and shells on a connection.

What a program downloads has a mark, as a secret has (``secret_sources.py``). Where a shell or another interpreter
runs a text or a file with such a mark, that is kept. Which programs download and which only connect is listed
(``network_code`` and ``raw_clients`` in ``tables.yaml``).
"""

from __future__ import annotations

import posixpath

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Origin, Variant
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.host_view import HostView
from lockgate.resources.path_spelling import is_inside
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.secret_flow.sources import SourceMachine, place_of
from lockgate.shell.state.abstract_text import FIRST_MARK, OPAQUE, marks_of, without_marks
from lockgate.shell.state.scope import Scope

if TYPE_CHECKING:
    from lockgate.shell.grammar.tree import Redirect
    from lockgate.shell.knowledge.call import ProgramCall

DOWNLOAD, CONNECTION = "download", "connection"
_COMMAND = lazy_re(rf"(?:^|[;&|\n({{`]|\b(?:do|then|else|exec|eval|sudo))\s*[\x00-\x02]+([{FIRST_MARK}-\U0010ffff]+)")
"""Text that is not known, where a command begins: what it says is run, and not only a word of what is run."""
_STARTED = lazy_re(r"(?:((?:ba|da|z|k|a)?sh) -[a-z]*c|python[\d.]* -[A-Za-z]*c|(?:node|perl|ruby|php) -[er])")
"""An interpreter and the option that has the code behind it; the first group is a shell."""
_MOST_RUNS = 12


class DownloadRun(Record):
    """Code from the network that something runs."""

    origin: str
    """``download`` or ``connection``."""
    what: str
    """The address, or the machine."""
    address: str
    """The whole, normalised address, empty where it is composed at run time."""
    program: str
    """What runs it."""


class CodeMachine(SourceMachine):
    """A machine that follows code from the network."""

    def __init__(self, around: HostView) -> None:
        super().__init__(around)
        self.runs: dict[DownloadRun, None] = {}
        self.crossed = False
        """Whether a part of a pipeline writes what comes from a connection to a file: it may be a pipe to another."""
        self.unpacked_in: dict[str, str] = {}
        """Marks of the archives from the network that were unpacked in a folder."""

    def is_connected(self, marks: str) -> bool:
        """Whether one of these texts comes from a connection."""
        return any(source is not None and source.origin == CONNECTION for source in map(self.source, marks))

    def from_network(self, call: ProgramCall) -> str:
        """Marks of what a program prints, or writes to a file, that comes from the network as it is."""
        program = call.args[0].text.rpartition("/")[2]
        words = call.what.split()
        commands = {" ".join(words[:end]) for end in range(1, len(words) + 1)}
        raw = program in table("raw_clients")
        if not raw and commands.isdisjoint(table("network_code")["downloading"]):
            return ""
        reached = [effect for effect in call.own if _is_unknown(effect)]
        origin = CONNECTION if raw else DOWNLOAD
        return marks_of("".join(self.mark(_source(origin, effect.what, effect.address)) for effect in reached))

    def from_socket(self, name: str) -> str:
        """What is read from a connection that the shell itself has opened."""
        return OPAQUE + self.mark(_source(CONNECTION, name))

    def keep_socket(self, redirect: Redirect, name: str) -> None:
        """Record that a descriptor of the shell itself becomes a connection, or no longer is one (``exec 5<>...``)."""
        fd = redirect.fd or ("0" if redirect.operator in ("<", "<>", "<&") else "1")
        name = self.network.connected.get(name.rstrip("-"), "") if "&" in redirect.operator else name
        if name.startswith("/dev/tcp/"):
            self.network.connected[fd] = name
            if fd == "0":
                self._note_run(self.mark(_source(CONNECTION, name)), "this shell")
        else:
            self.network.connected.pop(fd, None)

    def note_code(self, text: str, program: str, *, in_shell: bool) -> None:
        """Code runs: text that begins with what comes from the network, or has it where a command begins."""
        if not marks_of(text):
            return
        found = "".join(_COMMAND.findall(text)) if in_shell else marks_of(text)
        self._note_run(found, program)

    def note_words(self, call: ProgramCall) -> None:
        """A program that is not followed starts another: ``docker run IMAGE sh -c TEXT``."""
        for name, option, text in zip(call.args[1:], call.args[2:], call.args[3:], strict=False):
            if (found := _STARTED.fullmatch(f"{name.text.rpartition('/')[2]} {option.text}")) is not None:
                self.note_code(text.text, call.what, in_shell=found.group(1) is not None)

    def note_script(self, path: str, scope: Scope, program: str) -> None:
        """A file is run."""
        place = place_of(without_marks(path), scope)
        marks = self.marks_at(place) or self.marks_by_content(place) or self._from_archive(place)
        self._note_run(marks + marks_of(path) * path.startswith("/dev/fd/"), program)

    def note_unpacked(self, marks: str, scope: Scope) -> None:
        """An archive was unpacked: which files it holds is not known."""
        fetched = "".join(mark for mark in marks if (source := self.source(mark)) is not None and source.origin)
        for folder in scope.cwds if fetched else ():
            self.unpacked_in[folder] = self.unpacked_in.get(folder, "") + fetched

    def _from_archive(self, place: str) -> str:
        """Marks of a file that may have come out of an archive: it was not there before, and does not build."""
        if not self.unpacked_in or posixpath.basename(place) in table("network_code")["building"]:
            return ""
        if self.around.is_there(place):
            return ""
        return "".join(
            marks for folder, marks in self.unpacked_in.items() if is_inside(place, posixpath.normpath(folder))
        )

    def _note_run(self, marks: str, program: str) -> None:
        for mark in marks:
            source = self.source(mark)
            if source is not None and source.origin and len(self.runs) < _MOST_RUNS:
                self.runs[DownloadRun(source.origin, source.what, source.address, without_marks(program))] = None


def run_effects(runs: dict[DownloadRun, None]) -> list[Effect]:
    """The effects of running what comes from the network, one for each place that it comes from."""
    return list(dict.fromkeys(map(_effect, runs)))


def _source(origin: str, what: str, address: str = "") -> Origin:
    return Origin("", origin=origin, what=without_marks(what), address=address)


def _is_unknown(effect: Effect) -> bool:
    """Whether somebody is asked of whom nobody has said anything."""
    # What is asked in one's own account without an address (`gh api`) answers with what others wrote there.
    unnamed = effect.variant is Variant.KNOWN and not effect.address
    asked = effect.kind is EffectKind.FETCH and (effect.variant is Variant.PLAIN or unnamed)
    return asked or effect.kind is EffectKind.EGRESS


def _effect(run: DownloadRun) -> Effect:
    if run.origin == CONNECTION:
        because = f"`{run.program}` runs what somebody types at the other end of the connection to `{run.what}`"
        return Effect(EffectKind.EGRESS, run.what, "shell:network-shell", because, Variant.SHELL)
    because = f"`{run.program}` runs what is downloaded from `{run.what}`, an address that no person has given"
    return Effect(EffectKind.EXECUTE, run.what, "shell:runs-download", because, Variant.DOWNLOAD, address=run.address)
