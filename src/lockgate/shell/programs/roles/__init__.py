"""What a word does in its place: the roles that the knowledge gives to options and operands.

A role is a function of the command, the words that have it and the option's name (empty for operands). Where it runs
something it is a generator that asks for that (:mod:`lockgate.shell.state.run`).
``docs/knowledge.md`` lists them all; a test holds that list to this table.
"""

from __future__ import annotations

from functools import cache

from lockgate.core.lazy import function_at
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.knowledge.options import HARMLESS, assign
from lockgate.shell.state.findings import WORDS
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.knowledge.lookup import Entry
    from lockgate.shell.knowledge.options import Option
    from lockgate.shell.state.run import Running

    Player = Callable[[ProgramCall, list[Arg], str], Running[None] | None]

ROLES = {
    "name": "files.name",
    "look": "files.look",
    "unpack": "files.unpack",
    "folder": "files.folder",
    "prefix": "files.prefix",
    "name-end": "files.name_end",
    "backup": "files.backup",
    "packed": "files.packed",
    "read": "files.read",
    "read-below": "files.read_below",
    "read-but": "files.read",
    "read-below-but": "files.read_below",
    "paged": "files.paged",
    "archive": "files.archive",
    "write": "files.write",
    "edit": "files.edit",
    "edit-below": "files.edit_below",
    "into": "files.into",
    "container-copy": "folders.container_copy",
    "move": "files.move",
    "link": "files.link",
    "delete": "files.delete",
    "recursive": "files.recursive",
    "keep": "folders.keep",
    "pathspec": "folders.pathspec",
    "fill": "folders.fill",
    "listed": "folders.listed",
    "either": "folders.either",
    "unnamed": "folders.unnamed",
    "manual": "folders.manual",
    "rights": "rights.rights",
    "mode": "rights.mode",
    "source-below": "folders.source_below",
    "mount": "folders.mount",
    "dsn": "databases.dsn",
    "sqlite": "databases.sqlite",
    "url": "addresses.url",
    "source": "network.source",
    "source-run": "network.source_run",
    "page": "network.page",
    "saved": "network.saved",
    "remote-name": "network.remote_name",
    "format": "network.format_",
    "host": "addresses.host",
    "lookup": "network.lookup",
    "peer": "network.peer",
    "send": "network.send",
    "send-file": "network.send_file",
    "static": "network.static",
    "method": "network.method",
    "proxy": "network.proxy",
    "endpoint": "service_clients.endpoint",
    "reroute": "addresses.reroute",
    "command": "running.command",
    "script-command": "packages.script_command",
    "program": "running.program",
    "action": "running.action",
    "output": "running.output",
    "format-shell": "running.format_shell",
    "argv": "running.argv",
    "package-argv": "packages.package_argv",
    "argv-inside": "containers.argv",
    "project-argv": "packages.project_argv",
    "exec": "running.execute_found",
    "shell-argv": "running.shell_argv",
    "split": "running.split",
    "lock-argv": "running.lock_argv",
    "script": "running.script",
    "code": "running.code:code",
    "code-shell": "running.code:shell",
    "code-sh": "running.code:sh",
    "code-zsh": "running.code:zsh",
    "code-other-shell": "running.code:other-shell",
    "code-python": "running.code:python",
    "code-sed": "running.code:sed",
    "code-awk": "running.code:awk",
    "code-jq": "running.code:jq",
    "code-yq": "running.code:yq",
    "loaded": "running.loaded",
    "perl-file": "running.perl_file",
    "perl-separator": "running.perl_separator",
    "python-setting": "running.python_setting",
    "strace-expression": "git_settings.strace_expression",
    "passed": "compilers.passed",
    "compiled": "compilers.compiled",
    "code-perl": "running.code:perl",
    "code-javascript": "running.code:javascript",
    "code-sqlite": "running.code:sqlite",
    "code-psql": "running.code:psql",
    "code-mysql": "running.code:mysql",
    "code-sql": "running.code:sql",
    "code-mongo": "running.code:mongo",
    "first-sqlite": "running.code:sqlite",
    "first-mysql": "running.code:mysql",
    "cwd": "files.cwd",
    "config": "git_settings.config",
    "config-write": "git_settings.config_write",
    "remote": "network.remote",
    "refs": "network.refs",
    "push-to": "network.push_to",
    "placeholder": "running.placeholder",
    "apt-option": "network.apt_option",
    "module": "running.module",
    "delete-found": "files.delete_found",
    "write-first": "files.write_first",
    "process": "network.process",
    "transfer": "network.transfer",
    "picture": "network.picture",
    "ssh-option": "network.ssh_option",
    "assignment": "running.assignment",
    "send-to": "addresses.send_to",
    "httpie": "service_clients.httpie",
    "image": "service_clients.image",
    "repository": "service_clients.repository",
    "downloaded": "service_clients.downloaded",
    "shown": "service_clients.shown",
    "recipient": "service_clients.recipient",
    "socket": "service_clients.socket",
    "socat": "service_clients.socat",
}
"""Role to the function that plays it, as ``files.name`` for ``name`` in ``files.py``; after a colon, what that
function is made for."""


def play(role: str, call: ProgramCall, words: list[Arg], option: str) -> Running[None]:
    """Say what the words that have a role do."""
    before = len(call.own)
    running = _player(role)(call, words, option)
    if running is not None:
        yield from running
    if role.endswith("-but"):
        if len(call.own) > before:
            from lockgate.shell.programs.folder_walks import leave_out

            leave_out(call, words, before)
        if any(option.role in ("only-names", "left-out-glob") for option in call.matched.options):
            from lockgate.shell.programs.folder_walks import taken

            taken(call, words)


@cache
def _player(role: str) -> Player:
    """The function that plays a role."""
    place, _, made_for = ROLES[role].partition(":")
    found = function_at(f"lockgate.shell.programs.roles.{place}")
    player: Player = found(made_for) if made_for else found
    return player


def play_options(call: ProgramCall, options: list[Option]) -> Running[None]:
    """Say what the options of a command do."""
    acting = [option for option in options if option.role not in HARMLESS]
    if len(acting) > 1:
        # Said twice, an option means what it means once.
        acting = sorted(dict.fromkeys(acting), key=lambda option: option.role not in ("cwd", "recursive", "reroute"))
    for option in acting:
        if option.role in WORDS:
            call.add(option.role)
        else:
            yield from play(option.role, call, list(option.value), option.name)


def play_operands(call: ProgramCall, options: list[Option]) -> Running[None]:
    """Say what the operands of a command do, and what it does without one."""
    entry, operands = call.entry, call.matched.operands
    roles = list(entry.operands)
    if options and (entry.replaces_first or entry.replaces_last):
        roles = _left_of(roles, entry, {option.name for option in options})
    if roles and roles[0] == "assignments":
        from lockgate.shell.programs.roles.running import leading_assignments

        operands, roles = (yield from leading_assignments(call, operands)), roles[1:]
    if not operands and not call.ran:
        for word in entry.bare:
            call.add(word)
    if not operands and entry.default and roles and roles[-1].startswith("argv"):
        operands = [Arg(text) for text in entry.default]
    if entry.here and _means_here(call, len(operands), roles):
        operands = [*operands, Arg(".")]
    if not operands:
        return
    for role, values in assign(roles, operands):
        if role in WORDS and values:
            call.add(role)
        elif role not in HARMLESS and values:
            yield from play(role, call, values, "")


def _left_of(roles: list[str], entry: Entry, given: set[str]) -> list[str]:
    """The roles of operands without those that options stand for."""
    if roles and given.intersection(entry.replaces_first):
        roles = roles[1:] if not roles[0].endswith("...") else roles
    if roles and given.intersection(entry.replaces_last):
        roles = roles[:-1]
    return roles


def _means_here(call: ProgramCall, count: int, roles: list[str]) -> bool:
    """Whether it takes the folder that it is run in, as it may, since it was given no other."""
    fed = bool(call.stdin) and call.entry.here == "unfed"
    return not fed and count == len(roles) - 1 and roles[-1].endswith("...")


def play_standard_input(call: ProgramCall) -> Running[None]:
    """Say what a command does with its standard input: some run it."""
    operands = call.matched.operands
    if call.stdin and _reads_on(call):
        call.machine.take(call.stdin)
    language = call.entry.stdin
    if not language:
        return
    codes = any(option.role.startswith(("code", "command", "module")) for option in call.matched.options)
    reads = len(operands) <= call.entry.stdin_after or operands[0].text == "-" or "-s" in call.matched.given
    if not codes and reads:
        if call.stdin is None:
            call.machine.findings.listens[call.what] = None
            call.opaque(f"`{call.what}` runs what it is given on standard input")
        else:
            from lockgate.shell.inline.running import run_code

            yield from run_code(call, language, call.stdin)


def _reads_on(call: ProgramCall) -> bool:
    """Whether the program may read a part of standard input and leave the rest to others."""
    entry = call.entry
    reads = entry.stdin or entry.feeds or entry.prints in ("input", "cat", "part") or entry.style == "dd"
    return bool(reads) and not any(arg.text != "-" for arg in call.read_words)
