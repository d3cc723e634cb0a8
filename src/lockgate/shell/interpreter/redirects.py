"""Applies redirections: records files that are read and written, and sockets that bash makes of some names."""

from __future__ import annotations

from lockgate.core.model import Effect, EffectKind, Label
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.shell.effects.files import read, write
from lockgate.shell.expansion.words import expand, expand_one
from lockgate.shell.grammar.tree import ProcessSub, Redirect
from lockgate.shell.state.abstract_text import OPAQUE, PLAIN, is_known, join_texts, marks_of
from lockgate.shell.state.scope import Scope

if TYPE_CHECKING:
    from lockgate.shell.state.run import Interpreter

_SOCKETS = ("/dev/tcp/", "/dev/udp/")
_OTHER_INPUTS = (*_SOCKETS, "/dev/fd/", "/dev/stdin", "/dev/shm/", "/dev/mqueue/")  # noqa: S108 - only compared


class OutputTarget:
    """What becomes of what a command prints."""

    __slots__ = ("here", "linked", "mixed")

    def __init__(self) -> None:
        self.here = True
        """Whether it still goes where it went before."""
        self.linked = False
        """Whether it goes to a file, which may be a link to where it went before."""
        self.mixed = False
        """Whether something else may go there: error messages, what is printed to another descriptor."""

    def copy_descriptor(self, fd: str, target: str) -> None:
        """Note that one descriptor becomes a copy of another."""
        if fd in ("", "1"):
            self.here = self.here and target == "1"
        elif target == "1":
            self.mixed |= self.here

    def open_file(self, fd: str, target: str) -> None:
        """Note that a descriptor becomes a file."""
        if target == "/dev/null":
            self.here = self.here and fd != "1"
        elif not is_known(target) or target.startswith(("/dev/", "/proc/")):
            # It may be a name of the output itself.
            self.mixed = True
        elif fd == "1":
            self.here, self.linked = False, True

    def of(self, shape: str) -> str:
        """The shape of what arrives where the command's output went before."""
        if self.mixed:
            return OPAQUE + marks_of(shape)
        return shape if self.here else join_texts("", shape) if self.linked else ""


class RedirectedStreams(Record):
    """What a command reads and where its output goes, after its redirections."""

    stdin: str | None
    """The shape of its standard input; ``None``: nothing was given."""
    output: OutputTarget


def apply_redirects(
    redirects: tuple[Redirect, ...], machine: Interpreter, scope: Scope, stdin: str | None
) -> RedirectedStreams:
    """Record the effects of redirections."""
    command = _Redirections(machine, scope, stdin)
    for redirect in redirects:
        command.apply(redirect)
    return command.streams()


class _Redirections:
    """The redirections of one command, applied from left to right."""

    __slots__ = ("machine", "output", "scope", "sockets", "stdin")

    def __init__(self, machine: Interpreter, scope: Scope, stdin: str | None) -> None:
        self.machine, self.scope, self.stdin = machine, scope, stdin
        self.output = OutputTarget()
        self.sockets = _Sockets(machine)

    def apply(self, redirect: Redirect) -> None:
        """Record what one redirection does."""
        operator = redirect.operator
        if redirect.fd.startswith("{"):
            self.scope.assign(redirect.fd.strip("{}"), PLAIN)
        if operator in ("<<", "<<-", "<<<"):
            text = expand_one(redirect.target, self.machine, self.scope)
            self._set_input(redirect, text + "\n")
        elif operator == "<":
            self._read_file(redirect)
        elif operator in ("<&", ">&") and _is_descriptor(redirect):
            self._copy_descriptor(redirect)
        else:
            self._open_files(redirect)

    def streams(self) -> RedirectedStreams:
        """What holds after all of them."""
        connection = self.sockets.now.get("0")
        received = self.machine.from_socket(connection) if connection is not None else None
        return RedirectedStreams(self.stdin if received is None else received, self.output)

    def _set_input(self, redirect: Redirect, shape: str | None) -> None:
        if redirect.fd in ("", "0"):
            self.stdin = shape

    def _read_file(self, redirect: Redirect) -> None:
        self._set_input(redirect, _read(redirect, self.machine, self.scope))
        if redirect.target.literal:
            for arg in expand(redirect.target, self.machine, self.scope):
                self.sockets.open(redirect.fd or "0", arg.text)

    def _copy_descriptor(self, redirect: Redirect) -> None:
        operator = redirect.operator
        target = expand_one(redirect.target, self.machine, self.scope).rstrip("-")
        self.sockets.copy(redirect.fd or ("0" if operator == "<&" else "1"), target)
        if operator == ">&" or redirect.fd not in ("", "0"):
            self.output.copy_descriptor(redirect.fd, target)
            _check_descriptor(target, self.machine)
        elif target != "0":
            # Some other descriptor becomes the input, or it is closed.
            self.stdin = OPAQUE if target else None

    def _open_files(self, redirect: Redirect) -> None:
        # ``<>`` opens the input, unless it says otherwise.
        opens_input = redirect.operator in ("<>", "<&")
        fd = redirect.fd or ("0" if opens_input else "1")
        for target in _write(redirect, self.machine, self.scope):
            self.output.open_file(fd, target)
            self.sockets.open(fd, target)
        if opens_input:
            self.stdin = OPAQUE


class _Sockets:
    """Which descriptors of one command are connections."""

    __slots__ = ("now",)

    def __init__(self, machine: Interpreter) -> None:
        self.now = {fd: name for fd, name in machine.network.connected.items() if fd != "0"}

    def open(self, fd: str, name: str) -> None:
        """Note that a descriptor becomes a file, or a connection."""
        if name.startswith(_SOCKETS):
            self.now[fd] = name
        else:
            self.now.pop(fd, None)

    def copy(self, fd: str, target: str) -> None:
        """Note that a descriptor becomes a copy of another."""
        if target in self.now:
            self.now[fd] = self.now[target]
        else:
            self.now.pop(fd, None)


def _check_descriptor(number: str, machine: Interpreter) -> None:
    if machine.around.shell_stays:
        from lockgate.shell.effects.persistent_shell import check_descriptor

        check_descriptor(machine, number)


def _is_descriptor(redirect: Redirect) -> bool:
    literal = redirect.target.literal
    return literal is not None and (literal.rstrip("-").isdigit() or literal == "-")


def _read(redirect: Redirect, machine: Interpreter, scope: Scope) -> str | None:
    """Record what reading the target does. Returns the shape of what is read; ``None``: nothing was given."""
    parts = redirect.target.parts
    if len(parts) == 1 and isinstance(parts[0], ProcessSub) and parts[0].direction == "<":
        return machine.capture(parts[0].script, scope)
    args = expand(redirect.target, machine, scope)
    for arg in args:
        if not record_socket(arg.text, machine):
            machine.findings.merge(read(arg, machine, scope), ())
    if len(args) == 1 and args[0].text.startswith("/dev/") and not args[0].text.startswith(_OTHER_INPUTS):
        # Who looks whether there is something to read finds a device, and takes it for none.
        return "" if args[0].text == "/dev/null" else None
    return machine.content()


def _write(redirect: Redirect, machine: Interpreter, scope: Scope) -> list[str]:
    """Record what writing the target does. Returns what may be written, as far as its name is known."""
    args = expand(redirect.target, machine, scope)
    for arg in args:
        if redirect.operator in ("<&", ">&") and arg.text.strip(PLAIN).rstrip("-").isdigit():
            _check_descriptor(arg.text.rstrip("-"), machine)
            continue
        if not record_socket(arg.text, machine):
            written = len(machine.disk.written)
            machine.findings.merge(write(arg, machine, scope), ())
            machine.output.to_file |= len(machine.disk.written) > written and redirect.fd in ("", "1")
            if redirect.operator == "<>":
                machine.findings.merge(read(arg, machine, scope), ())
    return [arg.text for arg in args]


def record_socket(text: str, machine: Interpreter) -> bool:
    """Record the effect of a name that bash makes a socket of. Returns whether it was one."""
    from lockgate.resources.hosts import is_loopback

    if not text.startswith(_SOCKETS):
        return False
    host, _, port = text[len("/dev/tcp/") :].partition("/")
    if is_loopback(host):
        from lockgate.resources.own_ports import effect_at_port

        own = effect_at_port(text, port, machine.around)
        if own is not None:
            machine.findings.add(own)
    else:
        machine.findings.add(
            Effect(
                EffectKind.EGRESS,
                text,
                "shell:dev-tcp",
                "bash opens a network connection for this redirection",
                gives=Label.UNTRUSTED,
            )
        )
    return True
