"""Applies roles of words that say whom a program talks to, and what it sends."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.effects import files
from lockgate.shell.effects.contact import is_dynamic
from lockgate.shell.knowledge import lookup
from lockgate.shell.programs.roles.addresses import apply_url
from lockgate.shell.programs.roles.files import ADDRESS, read
from lockgate.shell.state.abstract_text import ENVIRONMENT, OPAQUE, PLAIN, harmless, is_known
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockgate.shell.knowledge.call import ProgramCall, Role


_RUNNING = """
    proxycommand localcommand permitlocalcommand knownhostscommand match include pkcs11provider securitykeyprovider
    xauthlocation
"""
_SSH_RUNNING = frozenset(_RUNNING.split())
_AWAY = ("/", "~", "../")
"""How a path begins that is plainly one, and none of the project's."""
_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_LONGEST_REF = 120
_RUN = lazy_re(r"[A-Za-z0-9+=]{32,}")
"""A part of a name that is long for a word, and may be data in other letters."""
_HASH = lazy_re(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PEER = lazy_re(r"(?:^|\s)[46]?(?:tcp|udp)?@([^\s:]+)|\b(?:dst|src)[\s=!]+(?![\s:*])([^\s:)]+)", re.IGNORECASE)
_FORMS = frozenset({"-F", "--form"})
"""Options of curl with which ``<file`` names a file, too."""
_PATTERN = lazy_re(r"(?:[\w.*?+/-]|\[[^\]\s]{1,9}\]){4,}")
"""A word of a command that may be a pattern for the name of a process."""
_PROGRAMS = ("/lockgate/hook.py claude-code", "/lockgate/lockgate-hook", "/lockgate/service/resident/process.py")
"""What only the command lines of a hook, of a native one and of the resident gate have."""
_OPTIONS = " --home --state --config"
"""What they have too, as other programs may."""


def apply_source(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A file, or an address where the word has a scheme or may turn out to have one."""
    for word in words:
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", word.text) or word.text[:1] in (OPAQUE, ENVIRONMENT):
            apply_url(call, [word], option)
        else:
            read(call, [word], option)


def apply_source_run(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A file of code that is run, or an address from which code is downloaded and run."""
    apply_source(call, words, option)
    urls = [word.static or "" for word in words if re.match("https?:", word.text)]
    if urls:
        from lockgate.shell.inline.code_downloads import find_undeclared

        call.machine.network.note_downloads(find_undeclared(urls, call.machine.around), call.what)


def apply_page(call: ProgramCall, words: list[Arg], option: str) -> None:
    """The same, where the name of a forge at the beginning makes an address of the word."""
    for word in words:
        forge, slash, _ = word.text.partition("/")
        given = Arg(f"https://{word.text}", word.glob) if slash and forge in lookup.table("forges") else word
        apply_source(call, [given], option)


def apply_refs(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Names of branches that a server is asked for, which it gets to see: one that may hold data is sent as a question.

    A hash of a commit is a name like any other.
    """
    if any(OPAQUE in word.text or _may_hold_data(word.text) for word in words):
        call.add("fetch")


def _may_hold_data(name: str) -> bool:
    runs = _RUN.findall(name)
    return len(name) > _LONGEST_REF or any(not _HASH.fullmatch(run) for run in runs)


def apply_unlisted(call: ProgramCall) -> None:
    """Addresses and paths that are values of options which the knowledge does not have (``--config=https://...``)."""
    doubtful = {id(arg) for arg in call.matched.unknown}
    for arg, following in zip(call.args, [*call.args[1:], Arg("")], strict=True):
        if id(arg) in doubtful:
            value = Arg(arg.text.partition("=")[2], arg.glob)
            apply_url(call, [word for word in (value, following) if ADDRESS.match(word.text)], arg.text)
            if value.text.startswith(_AWAY):
                call.own += files.read(value, call.machine, call.scope)


def apply_remote_name(call: ProgramCall, _words: list[Arg], _: str) -> None:
    """What is fetched is saved under the last part of its address."""
    words = [*call.matched.operands, *(v for o in call.matched.options if o.name == "--url" for v in o.value)]
    for word in words:
        name = re.split(r"[?#]", word.text)[0].rpartition("/")[2]
        call.own += files.write(Arg(name or PLAIN), call.machine, call.scope)


def apply_saved(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Addresses that are read and saved under a name of their own (``wget``)."""
    apply_url(call, words, option)
    given = call.matched.given
    folders = given & {"-x", "-r", "--recursive", "-m", "--mirror", "-p", "--page-requisites"}
    if "-nH" in given and folders - {"-x"}:
        call.add_opaque("the other machine says under which names files are saved")
    for word in words:
        path = re.sub(r"^[A-Za-z]+://", "", re.split(r"[?#]", word.text)[0])
        name = path.partition("/")[2] if "-nH" in given else path
        saved_as = name if folders else path.partition("/")[2].rpartition("/")[2]
        call.own += files.write(Arg(saved_as or "index.html"), call.machine, call.scope)


def apply_format(call: ProgramCall, words: list[Arg], _: str) -> None:
    """A format of ``curl -w``: it can name a file, or stand in one."""
    for word in words:
        for name in re.findall(r"%output\{(?:>>)?([^}]*)", word.text):
            call.own += files.write(Arg(name), call.machine, call.scope)
        if word.text.startswith("@"):
            call.add_opaque(f"the format in `{word.shown}` can write a file")


def look_up(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Names that are looked up."""
    call.contact.targets += [("lookup", word) for word in words]


def apply_peer(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A filter for connections (``TCP@host:443``, ``dst host``), whose host is looked up where it is a name."""
    text = " ".join(word.text for word in words)
    look_up(call, [Arg(host) for found in _PEER.finditer(text) for host in found.groups() if host], option)


def send(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Data that is sent; ``@file`` names a file."""
    call.contact.sends = call.contact.sends or f"`{f'{call.what} {option}'.rstrip()}` sends data"
    for word in words:
        read_from = "[@<]" if option in _FORMS else "@"
        name = re.match(rf"(?:[\w.-]+=?)?{read_from}([^;]+)", word.text)
        if name is not None:
            call.own += files.read(Arg(name.group(1)), call.machine, call.scope)


def send_file(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Files that are sent."""
    send(call, [], option)
    read(call, words, option)


def apply_static(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A header, a cookie, a user name: nothing leaves where it is wholly known, for the person can read it."""
    for word in words:
        if is_dynamic(word) or word.text.startswith("@"):
            send(call, [word], option)


def apply_method(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A request method; most of them send."""
    if not words or words[0].static is None or words[0].text.upper() not in _READING_METHODS:
        send(call, [], f"{option} {words[0].shown if words else ''}".rstrip())


def apply_proxy(call: ProgramCall, words: list[Arg], _: str) -> None:
    """The request goes through another machine."""
    call.contact.rerouted = True
    call.contact.sends = call.contact.sends or f"`{call.what}` is told to go through another machine"


def apply_remote(call: ProgramCall, words: list[Arg], _: str) -> None:
    """A configured name, an address, or a folder; ``ext::`` runs a command."""
    for word in words[:1]:
        text = word.text
        if "::" in text:
            call.add_opaque("a remote helper such as `ext::` runs a command")
        elif word.static is None:
            call.contact.targets.append(("url", word))
        elif "://" in text or text.startswith("git@") or re.match(r"[\w.-]+(?:@[\w.-]*)?:(?!\\)", text):
            url = text if "://" in text else "ssh://" + text.replace(":", "/", 1)
            if not url.startswith("file://"):
                call.contact.targets.append(("remote", Arg(url)))
        elif not text.startswith(("/", ".", "~")):
            call.add("fetch-known")


def apply_push_to(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Where ``git push`` sends to: it sends in any case, but ``ext::`` runs a command too."""
    if any("::" in word.text for word in words[:1]):
        call.add_opaque("a remote helper such as `ext::` runs a command")


def apply_transfer(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Operands of ``rsync``: a colon before the first slash names another machine; else files, the last one written."""
    # A dash alone is the input or the output.
    far = [word for word in words if word.text != "-" and (re.match(r"[^/]*:", word.text) or not harmless(word.text))]
    if any(word.text.startswith("|") for word in words):
        call.add_opaque(f"`{call.what}` runs what stands behind the `|`")
    if far:
        call.add("connect")
    near = [word for word in words if word not in far]
    for word in near:
        call.own += files.read(word, call.machine, call.scope, below=True)
    if near and near[-1] is words[-1]:
        # A slash at the end means what lies in the folder, not the folder.
        sources = [Arg(f"{word.text}.") if word.text.endswith("/") else word for word in near[:-1]]
        call.own += files.write_into(near[-1], sources, call.machine, call.scope)


def apply_picture(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Files or addresses of pictures: a list names others, also commands, and a script says what is written."""
    for word in words:
        if word.text.startswith("@") or word.text.lower().endswith((".msl", ".mvg")):
            call.add_opaque(f"`{call.what}` does what `{word.shown}` says")
    apply_transfer(call, words, option)


def apply_ssh_option(call: ProgramCall, words: list[Arg], _: str) -> None:
    """``ssh -o Key=value``: some keys run a program."""
    for word in words:
        key = re.split(r"[= ]", word.text, maxsplit=1)[0].lower()
        if not is_known(key) or key in _SSH_RUNNING:
            call.add_opaque(f"the ssh option `{word.shown}` runs a program")


def apply_apt_option(call: ProgramCall, words: list[Arg], _: str) -> None:
    """``apt -o``: hooks and methods run programs; the person is told of any such setting."""
    for word in words:
        if not is_known(word.text) or re.search(
            r"invoke|hook|method|command|pager|proxy|dir::bin", word.text, re.IGNORECASE
        ):
            call.add_opaque(f"the setting `{word.shown}` runs a program")
        elif "simulate" in word.text.lower():
            call.add_opaque(f"the setting `{word.shown}` says whether anything is done at all")


def apply_process(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Processes by name, number or file: the gate's own must not be ended."""
    by_number = call.args[0].text.rpartition("/")[2] == "kill"
    for word in words:
        if "lockgate" in word.text.lower():
            call.add("self")
        elif by_number and word.text == "-1":
            call.add_opaque("this ends every process of this person, the gate's own too")
        elif by_number and word.static is None and _looks_for_the_hook(call.machine.texts):
            call.add_opaque("the process is looked for when this runs, and it can be the gate's own")
        elif not by_number and _may_name_the_hook(word.text):
            call.add_opaque("this can end the gate's own process")


def _looks_for_the_hook(texts: list[str]) -> bool:
    """Whether a command has a word that finds the hook in a list of processes, as a pattern of ``grep`` would.

    A second look at the text alone: where a process to end comes out of a list, nothing else says which it is.
    """
    patterns = (word for text in texts for word in _PATTERN.findall(text))
    return any("lockgate" in word.lower() or _has_match(word, _PROGRAMS) for word in patterns)


def _may_name_the_hook(pattern: str) -> bool:
    """Whether a pattern of ``pkill`` finds the hook's command line or the shell around it."""
    if pattern in ("sh", "bash", "dash", "zsh", ".", "", "python", "python3"):
        return True
    return _has_match(pattern, [program + _OPTIONS for program in _PROGRAMS])


def _has_match(pattern: str, lines: Iterable[str]) -> bool:
    try:
        return any(re.search(pattern, line, re.IGNORECASE) for line in lines)
    except re.error:
        return True


FUNCTIONS: dict[str, Role] = {
    "source": apply_source,
    "source-run": apply_source_run,
    "page": apply_page,
    "saved": apply_saved,
    "remote-name": apply_remote_name,
    "format": apply_format,
    "lookup": look_up,
    "peer": apply_peer,
    "send": send,
    "send-file": send_file,
    "static": apply_static,
    "method": apply_method,
    "proxy": apply_proxy,
    "remote": apply_remote,
    "refs": apply_refs,
    "push-to": apply_push_to,
    "apt-option": apply_apt_option,
    "process": apply_process,
    "transfer": apply_transfer,
    "picture": apply_picture,
    "ssh-option": apply_ssh_option,
}
"""The function that applies each role."""
