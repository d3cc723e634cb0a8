"""Tells whom a secret goes to, and whether a credential is for that service.

Which hosts a service has, and how credentials for it are called, is listed (``credential_owners`` in ``tables.yaml``).
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.addresses import host_of
from lockgate.resources.hosts import find_trusted, is_loopback
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.knowledge.options import HARMLESS
from lockgate.shell.state.abstract_text import is_known, show, without_marks
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall

FAR = lazy_re(r"(?:[^@/]*@)?(\[[^\]]+\]|[^/:\[]+):.*", re.DOTALL)
"""A path on another machine, as ``scp`` writes it."""
FAR_COPIES = frozenset({"scp", "rsync"})
FAR_SHELLS = frozenset({"ssh", "sftp"})
_GENERAL = "env config ssh token secret key api app my the test dev prod auth netrc gnupg local"
_TOO_GENERAL = frozenset(_GENERAL.split())
_ONE_VALUE = lazy_re(r"(?:\.|[\w.-]*[_.-])?(?:token|api[_-]?key|passw(?:or)?d|pass|pw|secret)(?:\.txt)?", re.IGNORECASE)
"""How a file is called that holds one value that lets somebody in; ``.env`` and ``credentials`` hold many."""
_LEAST_LIKE = 5
"""Letters that a name and a domain must have in common to be taken for the same service."""


class Held(Record):
    """What a secret is, as far as its name says."""

    name: str
    """``$VARIABLE``, a path, or the program that shows it."""
    given: bool = False
    """Whether a file of variables was run that sets it: which of them it is is not known."""
    plain: bool = True
    """Whether it is as it was found: nothing has put it into other letters."""

    @property
    def is_one_value(self) -> bool:
        """Whether it is a single value as a log-in takes it, and not a file of many, or a private key."""
        if self.given or self.name.startswith("$") or self.is_stored:
            return True
        return (
            self.plain and "/.ssh/" not in self.name and _ONE_VALUE.fullmatch(self.name.rpartition("/")[2]) is not None
        )

    @property
    def is_stored(self) -> bool:
        """Whether a program shows it that keeps the secrets of whichever service."""
        return f"{self.name} ".startswith(tuple(f"{store} " for store in table("secret_stores")))


def destination(call: ProgramCall, effect: Effect) -> str:
    """Where it goes, for a person."""
    if effect.what != call.what:
        return f"`{effect.what}`"
    operands = [show(without_marks(arg.text)) for arg in call.matched.operands]
    far = [text for text in operands if FAR.fullmatch(text) or "://" in text]
    if not far and call.args[0].text.rpartition("/")[2] in FAR_SHELLS:
        far = operands[:1]
    return f"`{far[-1]}`" if far else f"the service of `{call.args[0].text.rpartition('/')[2]}`"


def is_declared(call: ProgramCall, effect: Effect) -> bool:
    """Whether it goes to this machine, or to a host that a person has declared, by a copy or a shell there."""
    program = call.args[0].text.rpartition("/")[2]
    if program not in FAR_COPIES | FAR_SHELLS or effect.what != call.what:
        return False
    if call.matched.unknown or any(option.role not in HARMLESS for option in call.matched.options):
        return False
    hosts = _far_hosts(call.matched.operands, shell=program in FAR_SHELLS)
    around = call.machine.around
    return bool(hosts) and all(host and (is_loopback(host) or find_trusted(host, around)) for host in hosts)


def _far_hosts(operands: list[Arg], *, shell: bool) -> list[str]:
    """The machines that the words of a copy name, empty where one is not known."""
    if shell:
        first = operands[:1]
        return [arg.static.rpartition("@")[2].partition(":")[0] if arg.static else "" for arg in first]
    found = [(arg, FAR.fullmatch(without_marks(arg.text))) for arg in operands]
    return [match.group(1) if is_known(match.group(1)) else "" for _, match in found if match is not None]


def _host(call: ProgramCall, effect: Effect) -> str | None:
    """The host that an effect goes to: ``?`` where it is not known, ``None`` for the program's own service."""
    if effect.what != call.what:
        text = effect.what if "://" in effect.what else f"https://{effect.what}"
        return "?" if text.startswith("http:") else host_of(text.partition("?")[0].replace("$…", "x")) or "?"
    operands = [without_marks(arg.text) for arg in call.matched.operands]
    if call.what in table("registry_logins"):
        named = {text.removeprefix("https://") for text in operands if "." in text or ":" in text or not is_known(text)}
        return host_of(f"https://{(named or {table('registry_logins')[call.what]}).pop()}/") if len(named) < 2 else "?"
    addresses = [text for text in operands if "://" in text or text.startswith("git@")]
    return (host_of(addresses[0]) or "?") if addresses else None


def belongs(held: Held, call: ProgramCall, effect: Effect, *, general: bool, host: str | None = None) -> bool:
    """Whether a credential goes to the service that it is for.

    With ``general`` a single value that names no service is taken to be for the one that is asked: that is all it can
    be said to be for. A file of many is not.
    """
    host = host or _host(call, effect)
    if host is None or find_trusted(host, call.machine.around) or is_loopback(host):
        return True
    if owners := _owners(held):
        return any(_is_of(host, owner) for owner in owners)
    if (general and held.is_one_value) or _is_like(host, held):
        return True
    return any(_is_of(host, owner) for owner in _services())


def _is_like(host: str, held: Held) -> bool:
    """Whether a credential is called as the name that somebody has registered."""
    domain = _domain(host)
    return any(
        name == domain or (min(len(name), len(domain)) >= _LEAST_LIKE and domain.startswith(name))
        for name in _names(held)
        if domain
    )


def _is_of(host: str, owner: str) -> bool:
    service = _services()[owner]
    if any(fnmatchcase(host, pattern) for pattern in service["hosts"].split()):
        return True
    return "own" in service and owner in host.split(".")


def _owners(held: Held) -> list[str]:
    """The services that a credential may be for, none where its name does not say."""
    if held.given or held.is_stored:
        return []
    names = _names(held)
    return [owner for owner, row in _services().items() if names & set(row["names"].split())]


def _names(held: Held) -> set[str]:
    """The names that a credential's name is made of, without those that say nothing."""
    words = held.name[1:].split("_")[:2] if held.name.startswith("$") else re.split(r"[/ ._]", held.name)
    return {word.lower() for word in words if len(word) > 1} - _TOO_GENERAL


def _domain(host: str) -> str:
    """The name that somebody has registered, the second label from the end; empty where there is none."""
    labels = host.split(".")
    return labels[-2] if len(labels) > 1 and not labels[-1].isdigit() and labels[-2] not in _TOO_GENERAL else ""


def _services() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = dict(table("credential_owners"))
    return found
