"""Finds the effects of reaching the shared store on this machine with the clients of PostgreSQL.

A server that lets the user in by ``peer`` or ``trust`` takes an agent for the gate. What the clients are, and which of
their words name a database, is in the table ``postgresql_clients``. Code that connects by itself is code.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.digits import number
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.state.abstract_text import is_known
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lockgate.resources.host_view import OwnDatabase
    from lockgate.shell.knowledge.call import ProgramCall

_BECAUSE = "the gate's own store is there, with the labels and answers of every session"
_PORT = "5432"
_PORTS = frozenset({"-p", "--port"})
_CODE = frozenset({"-c", "--command"})
_CONNECT = lazy_re(r"\\c(?:onnect)?(?![a-z])[ \t]*(?P<name>[\w-]*)(?P<rest>[^\s\\;]?)")
"""psql goes over to another database within what it runs."""
_UNKNOWN = ""
"""A database that is only known when the program runs."""
_ADDRESS = lazy_re(r"(?is)postgres(?:ql)?://(?:[^@/]*@)?(?P<authority>[^/?]*)/?(?P<name>[^?]*)(?:\?(?P<more>.*))?$")
"""As libpq reads it: a password may hold ``?`` and ``#``, and no address has a fragment."""
_AUTHORITY_PORT = lazy_re(r":(\d+)(?=,|$)")
_PAIR = lazy_re(r"(?:^|[&\s])(dbname|port|service)\s*=\s*'?([^\s&']*)")


def effect_of_reaching(call: ProgramCall) -> Effect | None:
    """The effect of a client of PostgreSQL that can reach the gate's own store; ``None`` for all else."""
    program = call.args[0].text.rpartition("/")[2]
    client: Mapping[str, str] | None = table("postgresql_clients").get(program)
    own = call.machine.around.own_database() if client is not None else None
    if client is None or own is None or not _talks(call, client):
        return None
    named = _names(call, client)
    if _is_elsewhere(call, named, own):
        return None
    found = [database for word in named for database in _database(word)] or [_default(call)]
    every = client.get("every", "")
    if every in ("always", "roles") or call.matched.given.intersection(every.split()) or call.matched.surprises:
        found.append(_UNKNOWN)
    found += _find_databases(call)
    if own.name not in found and _UNKNOWN not in found:
        return None
    # Who may do what on the whole server is also other people's business.
    variant = Variant.PLAIN if every == "roles" else Variant.SELF
    return Effect(EffectKind.TAMPER, program, "address:own", _BECAUSE, variant)


def _talks(call: ProgramCall, client: Mapping[str, str]) -> bool:
    """Whether it talks to a database at all, as it is called."""
    given = call.matched.given
    if given.intersection(client.get("unless", "").split()):
        return False
    return "when" not in client or bool(given.intersection(client["when"].split()))


def _names(call: ProgramCall, client: Mapping[str, str]) -> list[Arg]:
    """The words that name a database."""
    places = client.get("names", "").split()
    found = [word for option in call.matched.options if option.name in places for word in option.value]
    return found + (call.matched.operands[:1] if "operand" in places else [])


def _database(word: Arg) -> Iterator[str]:
    """The database that a word names: by itself, in an address, or in libpq's pairs."""
    text = word.static
    if text is None:
        yield _UNKNOWN
        return
    address = _ADDRESS.match(text)
    pairs = _PAIR.findall((address["more"] or "") if address else text if "=" in text else "")
    if address:
        yield _decode(address["name"])
    elif "=" not in text:
        yield text
    elif not any(key == "dbname" for key, _ in pairs):
        yield _UNKNOWN
    for key, value in pairs:
        if key != "port":
            yield _UNKNOWN if key == "service" else _decode(value)


def _find_databases(call: ProgramCall) -> Iterator[str]:
    """The databases that psql connects to in what it runs; a ``-`` stands for the one before."""
    code = [word.text for option in call.matched.options if option.name in _CODE for word in option.value]
    for text in (*code, call.stdin or ""):
        for match in _CONNECT.finditer(text):
            if match["name"] != "-":
                yield _UNKNOWN if match["rest"] else match["name"]


def _default(call: ProgramCall) -> str:
    """The database of a client that names none: a variable's value, or the user's name."""
    text = call.scope.value("PGDATABASE")
    return text if text and is_known(text) else _UNKNOWN


def _is_elsewhere(call: ProgramCall, named: list[Arg], own: OwnDatabase) -> bool:
    """Whether it is certain that another server is talked to: on another machine, or at another port."""
    from lockgate.shell.effects.database_hosts import SOCKET, UNCLEAR, hosts_in

    words = [option.value[0] for option in call.matched.options if option.role == "host" and option.value]
    hosts = [host for word in words for host in (word.static or UNCLEAR).split(",")]
    hosts += [host for word in named if word.static for host in hosts_in(word.static)]
    if hosts and not any(host in (SOCKET, UNCLEAR) or host.startswith("/") or _is_here(host, own) for host in hosts):
        return True
    ports = [option.value[0].static for option in call.matched.options if option.name in _PORTS and option.value]
    ports += [port for word in named if word.static for port in _ports(word.static)]
    return bool(ports) and all(number(port) not in (None, own.port) for port in ports)


def _is_here(host: str, own: OwnDatabase) -> bool:
    """Whether a host is this machine, or the one that the gate's store is at."""
    from lockgate.resources.hosts import is_here

    return not host or is_here(host) or host.lower().removesuffix(".") == own.host.lower().removesuffix(".")


def _ports(text: str) -> Iterator[str | None]:
    """The ports that a word names, in an address or in libpq's pairs."""
    address = _ADDRESS.match(text)
    if address:
        yield from _AUTHORITY_PORT.findall(address["authority"].rpartition("@")[2]) or [_PORT]
    yield from (value for key, value in _PAIR.findall(text) if key == "port")


def _decode(text: str) -> str:
    from urllib.parse import unquote

    return unquote(text)
