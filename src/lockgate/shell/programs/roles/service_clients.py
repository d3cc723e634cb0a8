"""Applies roles of words for clients that say in a way of their own whom they talk to."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.addresses import host_of
from lockgate.resources.hosts import is_here
from lockgate.resources.path_spelling import is_inside
from lockgate.resources.paths import absolute
from lockgate.shell.effects import files
from lockgate.shell.programs.roles.addresses import apply_host, doubt_place, reroute
from lockgate.shell.programs.roles.files import unpack
from lockgate.shell.programs.roles.network import apply_method, apply_proxy, look_up, send
from lockgate.shell.state.abstract_text import is_known
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall, Role
    from lockgate.shell.state.run import Running

_TEMPORARY = ("/tmp", "/private/tmp", "/var/tmp")  # noqa: S108 - where programs put sockets that others may use
_STREAMS = frozenset({"-", "STDIO", "STDIN", "STDOUT", "STDERR"})
_FILES = frozenset({"FILE", "OPEN", "GOPEN", "CREATE", "CREAT", "PIPE", "FIFO"})
_RUNNING = frozenset({"EXEC", "SYSTEM", "SHELL"})
_ARCHIVES = (
    ".gz",
    ".tgz",
    ".zip",
    ".xz",
    ".zst",
    ".bz2",
    ".deb",
    ".rpm",
    ".apk",
    ".whl",
    ".jar",
    ".exe",
    ".dmg",
    ".sig",
    ".asc",
    ".sha256",
)
"""Endings of files that nothing runs or believes where they lie."""
_CONNECTING = lazy_re(r"(TCP|TCP[46]|UDP|UDP[46]|OPENSSL|SSL|SCTP|SCTP[46])(-CONNECT)?", re.IGNORECASE)


def apply_httpie(call: ProgramCall, words: list[Arg], _: str) -> None:
    """``http [METHOD] URL [ITEM...]``: items are data, and so is a standard input."""
    doubt_place(call, "")
    rest = list(words)
    if len(rest) > 1 and (rest[0].static is None or re.fullmatch(r"[A-Za-z]+", rest[0].text)):
        apply_method(call, [rest.pop(0)], "method")
    address, items = rest[:1], rest[1:]
    call.contact.targets += [("url", Arg(_complete_address(word.text), word.glob)) for word in address]
    for item in items:
        send(call, [], "items")
        named = re.search(r"@(.+)", item.text)
        if named is not None:
            call.own += files.read(Arg(named.group(1)), call.machine, call.scope)
    if call.stdin is not None and not call.matched.given & {"-I", "--ignore-stdin"}:
        send(call, [], "standard input")


def _complete_address(text: str) -> str:
    """The address that ``:3000/x`` or ``:/x`` is short for."""
    if not text.startswith(":"):
        return text
    return f"localhost{text[1:]}" if text[1:2] in ("/", "") else f"localhost{text}"


def apply_recipient(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Whose key is meant: that of an address which is not known here is asked for at its domain.

    Source: ``auto-key-locate`` in gpg(1), by default ``local,wkd``.
    """
    asked = [word for word in words if not is_known(word.text) or "@" in word.text]
    look_up(call, [Arg(word.text.strip("<>").rpartition("@")[2]) for word in asked], option)


def apply_repository(call: ProgramCall, words: list[Arg], _: str) -> None:
    """A repository of a forge: ``OWNER/NAME`` on the configured one, ``HOST/OWNER/NAME`` or an address on any."""
    for word in words:
        name = word.text
        if (
            word.static is None
            or re.search(r"[:@]|//", name)
            or (name.count("/") > 1 and "." in name.partition("/")[0])
        ):
            call.contact.targets.append(("url", Arg(re.sub(r"^[\w.+-]+@([^:/]+):", r"ssh://\1/", name), word.glob)))


def apply_downloaded(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Patterns for the names of files that are fetched into this folder."""
    call.machine.disk.note_saving()
    for word in words:
        wild = word.static is None or any(mark in word.text for mark in "*?[")
        if not wild:
            call.own += files.write(word, call.machine, call.scope)
        elif not word.text.endswith(_ARCHIVES):
            unpack(call, [word], option)


def apply_shown(call: ProgramCall, words: list[Arg], _: str) -> None:
    """The form of a result; ``go-template-file=FILE`` and its kin print what stands in a file."""
    for word in words:
        form, _, file = word.text.partition("=")
        if form.endswith("-file") or not is_known(form):
            call.own += files.read(Arg(file or word.text, word.glob), call.machine, call.scope)


def apply_image(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Pictures of systems: a registry's where a name begins with a machine, else files or what is here already."""
    for word in words:
        name = re.sub(r"^(?:registry|docker|podman|containerd):(?!//)", "", word.text)
        if word.static is None or word.text.startswith("registry:") or re.match(r"[\w-]+(\.[\w-]+)+(:\d+)?/", name):
            call.contact.targets.append(("url", Arg(name, word.glob)))


def apply_endpoint(call: ProgramCall, words: list[Arg], option: str) -> None:
    """The address that all requests go to instead of their own; one of this machine asks nobody else."""
    from lockgate.resources.own_ports import effect_at_url
    from lockgate.resources.relays import leads_elsewhere

    for word in words:
        url = word.static or ""
        host = host_of(url) if url.startswith(("http://", "https://")) else None
        if host is None or not is_here(host) or leads_elsewhere(url):
            apply_proxy(call, [word], option)
            call.add("ingest")
        elif own := effect_at_url(url, call.machine.around):
            call.own.append(own)


def apply_socket(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A socket of this machine that is talked to instead of what the address names."""
    # What follows ``--next`` is asked in the usual way.
    several = {"--next", "-:"} & {*call.matched.given, *(arg.text for arg in call.args)}
    if all(_is_plain_socket(call, word) for word in words) and not several:
        call.contact.here = True
    else:
        reroute(call, words, option)


def _is_plain_socket(call: ProgramCall, word: Arg) -> bool:
    """Whether a socket lies in the project or among temporary files, where no service that acts for others is."""
    around, cwd = call.machine.around, call.scope.cwds[0]
    path = absolute(word.text, cwd, around) if word.static is not None else None
    if path is None or len(call.scope.cwds) > 1 or word.text in call.machine.disk.written:
        return False
    places = (*_TEMPORARY, *([around.workspace] if around.workspace else []))
    own = all(any(is_inside(form, place) for place in places) for form in (path, around.realpath(path)))
    return own and not re.search(r"/\.|/ssh-|docker|containerd|podman|buildkit", path.removeprefix(around.workspace))


def apply_socat(call: ProgramCall, words: list[Arg], _: str) -> Running[None]:
    """The two ends of ``socat``: ``TYPE:ADDRESS,OPTION...``."""
    for word in words:
        yield from _end(call, word)


def _end(call: ProgramCall, word: Arg) -> Running[None]:
    kind, colon, rest = word.text.partition(":")
    address = Arg(rest.partition(",")[0])
    if word.static is None or re.search(r"[\\\"'(\[{]|!!", word.text):
        call.add("connect")
    elif word.text.partition(",")[0].upper() in _STREAMS:
        return
    elif not colon and "/" in kind:
        _apply_file(call, Arg(kind.partition(",")[0]))
    elif kind.upper() in _FILES:
        _apply_file(call, address)
    elif _CONNECTING.fullmatch(kind):
        apply_host(call, [address], "")
    elif kind.upper() in ("UNIX", "UNIX-CONNECT", "UNIX-CLIENT") and _is_plain_socket(call, address):
        return
    elif kind.upper() in _RUNNING:
        from lockgate.shell.programs.roles.running import run_program, run_text

        yield from (run_program if kind.upper() == "EXEC" else run_text)(call, [address], "")
    else:
        call.add("connect")


def _apply_file(call: ProgramCall, word: Arg) -> None:
    call.own += files.read(word, call.machine, call.scope)
    call.own += files.write(word, call.machine, call.scope)


FUNCTIONS: dict[str, Role] = {
    "endpoint": apply_endpoint,
    "httpie": apply_httpie,
    "image": apply_image,
    "repository": apply_repository,
    "downloaded": apply_downloaded,
    "shown": apply_shown,
    "recipient": apply_recipient,
    "socket": apply_socket,
    "socat": apply_socat,
}
"""The function that applies each role."""
