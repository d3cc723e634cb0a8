"""Finds the effects of variables that make other programs run something, or talk to somebody else."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Label
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.knowledge.lookup import role_of, table
from lockgate.shell.state.abstract_text import ENVIRONMENT, harmless, is_known
from lockgate.shell.state.run import RunText
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.run import Running

_SECRET = lazy_re(r"TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_?KEY|CREDENTIAL|ACCESS_?KEY", re.IGNORECASE)
"""What stands in the name of a variable that holds a secret."""
_REPOSITORY = lazy_re(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
"""``OWNER/REPOSITORY`` on the server that is configured; three names begin with another server's."""
_WORD = lazy_re(r"[\w.+@-]*")
"""What names a locale, a version, a place or a database, and cannot be a path, an address or settings."""
_SHELLS = frozenset(f"{place}/{shell}" for place in ("/bin", "/usr/bin") for shell in ("sh", "bash", "dash", "zsh"))
"""Shells that the system brings."""
_LOCAL = (":", "unix:", "npipe:")
"""How an address begins that is a socket or a display of this machine. So is a path, which begins with one slash."""


def variable_effects(name: str, text: str, machine: Machine, scope: Scope) -> Running[None]:
    """Record what setting a variable does. ``text`` is the value's shape."""
    role = role_of(name)
    if not role:
        return
    machine.names.heeded.add((name, text))
    if not (text or name == "PATH"):
        # An empty search path is the folder that the shell is in.
        return
    rule = f"variable:{name}"
    if role == "command" and is_known(text):
        found = machine.findings.found
        yield RunText(text, scope.new_shell(), "sh")
        # It runs inside of a program that gets the variable, be that an act.
        machine.findings.mixed |= machine.findings.found > found
    elif role == "search":
        if not all(_is_guarded(place, machine) for place in text.split(":")):
            machine.findings.execute(f"{name}={text}", rule, f"`{name}` decides where programs are looked up")
    elif role == "prompt" and harmless(text):
        return
    elif role == "file":
        from lockgate.shell.effects.files import write

        machine.findings.merge(write(Arg(text), machine, scope), ())
    elif _runs_nothing(role, text):
        return
    elif role in ("proxy", "repository"):
        _record_proxy(name, text, rule, machine)
    else:
        machine.findings.execute(f"{name}={text}", rule, f"`{name}` makes other programs run what it says")


def misleads_agent(machine: Machine, scope: Scope) -> Effect | None:
    """The effect of starting another agent with a variable that may keep it from its hooks; ``None`` without one.

    A client finds the person's settings, which name the hooks, by ``HOME`` or a variable of its own. Those are too many
    to list. So each variable counts that makes programs run something, or of which no table says what it does.
    """
    from lockgate.shell.effects.unlisted import VARIABLE

    given = {name for name, _ in machine.names.heeded}.union(scope.ever.given)
    names = {name for name in given if role_of(name) == "code"}
    for effect in machine.findings.effects:
        if effect.kind is EffectKind.EXECUTE and effect.rule.startswith(("variable:", VARIABLE)):
            names.add(effect.what.partition("=")[0])
    if not names:
        return None
    name = min(names)
    because = f"with `{name}` another agent may start without the settings that name its hooks"
    return Effect(EffectKind.TAMPER, name, f"variable:{name}", because)


def _runs_nothing(role: str, text: str) -> bool:
    """Whether a value of a variable with this role is an ordinary one, with which nothing else runs."""
    if role == "shell":
        return text in _SHELLS
    forms = {"repository": _REPOSITORY, "word": _WORD}
    return role in forms and forms[role].fullmatch(text) is not None


def record_given(machine: Machine, scope: Scope) -> Running[None]:
    """Record what variables do that got their values without an assignment (``read PATH``)."""
    for name, texts in list(scope.ever.given.items()):
        if scope.ever.exporting or machine.around.exported(name):
            from lockgate.shell.effects.unlisted import record_variable

            record_variable(name, "", machine)
        if role_of(name):
            for text in sorted(texts):
                if (name, text) not in machine.names.heeded:
                    yield from variable_effects(name, text, machine, scope)


def _is_guarded(place: str, machine: Machine) -> bool:
    """Whether programs are installed in a folder, and it is guarded as such. What a variable held before is."""
    if place == ENVIRONMENT:
        return True
    usual = tuple(str(item).replace("~", machine.around.home) for item in table("program_folders"))
    return place.rstrip("/") in usual


def _record_proxy(name: str, text: str, rule: str, machine: Machine) -> None:
    """Record that other programs talk to the server that a variable names, unless it is this machine or trusted."""
    from lockgate.resources.addresses import host_of
    from lockgate.resources.hosts import find_trusted, is_loopback

    is_path = text.startswith("/") and not text.startswith("//")
    if is_path or text.startswith(_LOCAL) or text == "off":
        return
    address = text if "://" in text else f"http://{text.removeprefix('//')}"
    host = host_of(address) if is_known(text) else None
    if host is None or not (is_loopback(host) or find_trusted(host, machine.around)):
        because = f"`{name}` sends what other programs transfer through another machine"
        machine.findings.add(Effect(EffectKind.EGRESS, text, rule, because, gives=Label.UNTRUSTED))


def is_secret_name(name: str) -> bool:
    """Whether a variable is named like one that holds a secret."""
    return _SECRET.search(name) is not None
