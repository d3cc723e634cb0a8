"""What redirections do: files that are read and written, and the sockets that bash makes of some names."""

from __future__ import annotations

from lockgate.core.model import Effect, EffectKind, Label
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.effects.files import read, write
from lockgate.shell.expansion.words import expand, expand_one
from lockgate.shell.grammar.tree import ProcessSub, Redirect
from lockgate.shell.state.abstract_text import OPAQUE, PLAIN, join_texts, known, marks_of
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

    def descriptor(self, fd: str, target: str) -> None:
        """One descriptor becomes a copy of another."""
        if fd in ("", "1"):
            self.here = self.here and target == "1"
        elif target == "1":
            self.mixed |= self.here

    def file(self, fd: str, target: str) -> None:
        """A descriptor becomes a file."""
        if target == "/dev/null":
            self.here = self.here and fd != "1"
        elif not known(target) or target.startswith(("/dev/", "/proc/")):
            # It may be a name of the output itself.
            self.mixed = True
        elif fd == "1":
            self.here, self.linked = False, True

    def of(self, shape: str) -> str:
        """The shape of what arrives where the command's output went before."""
        if self.mixed:
            return OPAQUE + marks_of(shape)
        return shape if self.here else join_texts("", shape) if self.linked else ""


def apply_redirects(
    redirects: tuple[Redirect, ...], machine: Interpreter, scope: Scope, stdin: str | None
) -> tuple[str | None, OutputTarget]:
    """Record the effects of redirections.

    Returns:
        The shape of what the command reads from standard input (``None``: nothing was given), and what becomes of
        what it prints.
    """
    output = OutputTarget()
    sockets = _Sockets(machine)
    for redirect in redirects:
        operator = redirect.operator
        if redirect.fd.startswith("{"):
            scope.assign(redirect.fd.strip("{}"), PLAIN)
        if operator in ("<<", "<<-", "<<<"):
            text = expand_one(redirect.target, machine, scope)
            stdin = text + "\n" if redirect.fd in ("", "0") else stdin
        elif operator == "<":
            given = _read(redirect, machine, scope)
            stdin = given if redirect.fd in ("", "0") else stdin
            for arg in expand(redirect.target, machine, scope) if redirect.target.literal else ():
                sockets.open(redirect.fd or "0", arg.text)
        elif operator in ("<&", ">&") and _is_descriptor(redirect):
            target = expand_one(redirect.target, machine, scope).rstrip("-")
            sockets.copy(redirect.fd or ("0" if operator == "<&" else "1"), target)
            if operator == ">&" or redirect.fd not in ("", "0"):
                output.descriptor(redirect.fd, target)
                _check_descriptor(target, machine)
            elif target != "0":
                # Some other descriptor becomes the input, or it is closed.
                stdin = OPAQUE if target else None
        else:
            # ``<>`` opens the input, unless it says otherwise.
            fd = redirect.fd or ("0" if operator in ("<>", "<&") else "1")
            for target in _write(redirect, machine, scope):
                output.file(fd, target)
                sockets.open(fd, target)
            stdin = OPAQUE if operator in ("<>", "<&") else stdin
    read = machine.from_socket(sockets.now["0"]) if "0" in sockets.now else None
    return stdin if read is None else read, output


class _Sockets:
    """Which descriptors of one command are connections."""

    __slots__ = ("now",)

    def __init__(self, machine: Interpreter) -> None:
        self.now = {fd: name for fd, name in machine.network.connected.items() if fd != "0"}

    def open(self, fd: str, name: str) -> None:
        """A descriptor becomes a file, or a connection."""
        if name.startswith(_SOCKETS):
            self.now[fd] = name
        else:
            self.now.pop(fd, None)

    def copy(self, fd: str, target: str) -> None:
        """A descriptor becomes a copy of another."""
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
    """Record what writing the target does; what may be written, as far as its name is known."""
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
    """Record the effect of a name that bash makes a socket of; whether it was one."""
    from lockgate.resources.hosts import is_loopback

    if not text.startswith(_SOCKETS):
        return False
    host, _, port = text[len("/dev/tcp/") :].partition("/")
    if is_loopback(host):
        from lockgate.resources.own_ports import at_port

        own = at_port(text, port, machine.around)
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
