"""What redirections do: files that are read and written, and the sockets that bash makes of some names."""

from __future__ import annotations

from lockgate.analysis.shell.files import read, write
from lockgate.analysis.shell.scope import OPAQUE, PLAIN, Scope
from lockgate.analysis.shell.syntax import Literal, ProcessSub, Redirect
from lockgate.analysis.shell.words import expand, expand_one
from lockgate.model import Effect, EffectKind, Label
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.analysis.shell.commands import Machine

_SOCKETS = ("/dev/tcp/", "/dev/udp/")


def apply_redirects(
    redirects: tuple[Redirect, ...], machine: Machine, scope: Scope, stdin: str | None
) -> tuple[str | None, bool]:
    """Keep the effects of redirections.

    Returns:
        The shape of what the command reads from standard input (``None``: nothing was given), and whether what it
        prints still goes where it went before.
    """
    printed = True
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
        elif operator in ("<&", ">&") and _is_descriptor(redirect):
            expand_one(redirect.target, machine, scope)
            printed = printed and not (operator == ">&" and redirect.fd in ("", "1"))
        else:
            _write(redirect, machine, scope)
            printed = printed and redirect.fd not in ("", "1")
            stdin = OPAQUE if operator == "<>" else stdin
    return stdin, printed


def _is_descriptor(redirect: Redirect) -> bool:
    literal = redirect.target.literal
    return literal is not None and (literal.rstrip("-").isdigit() or literal == "-")


def _read(redirect: Redirect, machine: Machine, scope: Scope) -> str:
    parts = redirect.target.parts
    if len(parts) == 1 and isinstance(parts[0], ProcessSub) and parts[0].direction == "<":
        return machine.capture(parts[0].script, scope)
    for arg in expand(redirect.target, machine, scope):
        if not socket(arg.text, machine):
            machine.findings.merge(read(arg, machine, scope), ())
    return OPAQUE


def _write(redirect: Redirect, machine: Machine, scope: Scope) -> None:
    parts = redirect.target.parts
    if len(parts) == 1 and isinstance(parts[0], ProcessSub):
        expand(redirect.target, machine, scope)
        return
    if len(parts) == 1 and isinstance(parts[0], Literal) and parts[0].text.removeprefix("/dev/fd/").isdigit():
        return
    for arg in expand(redirect.target, machine, scope):
        if redirect.operator in ("<&", ">&") and arg.text.strip(PLAIN).rstrip("-").isdigit():
            continue
        if not socket(arg.text, machine):
            machine.findings.merge(write(arg, machine, scope), ())


def socket(text: str, machine: Machine) -> bool:
    """Keep the effect of a name that bash makes a socket of; whether it was one."""
    from lockgate.analysis.addresses import is_loopback

    if not text.startswith(_SOCKETS):
        return False
    host = text.split("/")[3]
    if not is_loopback(host):
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
