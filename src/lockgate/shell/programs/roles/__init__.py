"""Applies the roles that the knowledge gives to options and operands.

A role is a function of the command, the words that have it and the option's name (empty for operands). Where it runs
something it is a generator that asks for that (:mod:`lockgate.shell.state.run`).
``docs/knowledge-roles.md`` lists them all; a test holds that list to this table.
"""

from __future__ import annotations

from functools import cache

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.knowledge import lookup
from lockgate.shell.knowledge.options import HARMLESS, assign_roles
from lockgate.shell.state.findings import WORDS
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.shell.knowledge.call import ProgramCall, Role
    from lockgate.shell.knowledge.lookup import ProgramEntry
    from lockgate.shell.knowledge.options import Option
    from lockgate.shell.state.run import Running


def _files() -> dict[str, Role]:
    from lockgate.shell.programs.roles.files import FUNCTIONS

    return FUNCTIONS


def _folders() -> dict[str, Role]:
    from lockgate.shell.programs.roles.folders import FUNCTIONS

    return FUNCTIONS


def _rights() -> dict[str, Role]:
    from lockgate.shell.programs.roles.rights import FUNCTIONS

    return FUNCTIONS


def _databases() -> dict[str, Role]:
    from lockgate.shell.programs.roles.databases import FUNCTIONS

    return FUNCTIONS


def _addresses() -> dict[str, Role]:
    from lockgate.shell.programs.roles.addresses import FUNCTIONS

    return FUNCTIONS


def _network() -> dict[str, Role]:
    from lockgate.shell.programs.roles.network import FUNCTIONS

    return FUNCTIONS


def _service_clients() -> dict[str, Role]:
    from lockgate.shell.programs.roles.service_clients import FUNCTIONS

    return FUNCTIONS


def _load_running_roles() -> dict[str, Role]:
    from lockgate.shell.programs.roles.running import FUNCTIONS

    return FUNCTIONS


def _packages() -> dict[str, Role]:
    from lockgate.shell.programs.roles.packages import FUNCTIONS

    return FUNCTIONS


def _containers() -> dict[str, Role]:
    from lockgate.shell.programs.roles.containers import FUNCTIONS

    return FUNCTIONS


def _git_settings() -> dict[str, Role]:
    from lockgate.shell.programs.roles.git_settings import FUNCTIONS

    return FUNCTIONS


def _compilers() -> dict[str, Role]:
    from lockgate.shell.programs.roles.compilers import FUNCTIONS

    return FUNCTIONS


_FAMILIES: dict[Callable[[], dict[str, Role]], str] = {
    _files: """
        name look unpack folder prefix name-end backup packed read read-below read-but read-below-but paged
        archive write edit edit-below into move link delete recursive cwd delete-found write-first
    """,
    _folders: "container-copy keep pathspec fill listed either unnamed manual source-below mount",
    _rights: "rights mode",
    _databases: "dsn sqlite",
    _addresses: "url host reroute send-to",
    _network: """
        source source-run page saved remote-name format lookup peer send send-file static method proxy remote
        refs push-to apt-option process transfer picture ssh-option
    """,
    _service_clients: "endpoint httpie image repository downloaded shown recipient socket socat",
    _load_running_roles: """
        command program action output format-shell argv exec shell-argv split lock-argv script code code-shell
        code-sh code-zsh code-other-shell code-python code-sed code-awk code-jq code-yq loaded perl-file
        perl-separator python-setting code-perl code-javascript code-sqlite code-psql code-mysql code-sql
        code-mongo first-sqlite first-mysql placeholder module assignment
    """,
    _packages: "script-command package-argv project-argv",
    _containers: "argv-inside",
    _git_settings: "strace-expression config config-write",
    _compilers: "passed compiled",
}
"""The modules with roles, each loaded when the first one of its roles is played: a command needs one or two of them."""
ROLES = {role: family for family, roles in _FAMILIES.items() for role in roles.split()}
"""Role to what loads the table with its function."""


@cache
def function_of(role: str) -> Role:
    """The function that plays a role; raises ``LookupError`` where there is none."""
    family = ROLES.get(role)
    function = family().get(role) if family is not None else None
    if function is None:
        raise LookupError(f"no role `{role}`: see _FAMILIES and FUNCTIONS in programs/roles")
    return function


def apply_role(role: str, call: ProgramCall, words: list[Arg], option: str) -> Running[None]:
    """Say what the words that have a role do."""
    before = len(call.own)
    running = function_of(role)(call, words, option)
    if running is not None:
        yield from running
    if role.endswith("-but"):
        if len(call.own) > before:
            from lockgate.shell.programs.folder_walks import leave_out

            leave_out(call, words, before)
        if any(option.role in ("only-names", "left-out-glob") for option in call.matched.options):
            from lockgate.shell.programs.folder_walks import record_secret_names

            record_secret_names(call, words)


def apply_options(call: ProgramCall, options: list[Option]) -> Running[None]:
    """Say what the options of a command do."""
    acting = [option for option in options if option.role not in HARMLESS]
    if len(acting) > 1:
        # Said twice, an option means what it means once.
        acting = sorted(dict.fromkeys(acting), key=lambda option: option.role not in ("cwd", "recursive", "reroute"))
    for option in acting:
        if option.role in WORDS:
            call.add(option.role)
        else:
            yield from apply_role(option.role, call, list(option.value), option.name)


def apply_operands(call: ProgramCall, options: list[Option]) -> Running[None]:
    """Say what the operands of a command do, and what it does without one."""
    entry, operands = call.entry, call.matched.operands
    roles = list(entry.operands)
    if options and (entry.replaces_first or entry.replaces_last):
        roles = _list_remaining_roles(roles, entry, {option.name for option in options})
    if roles and roles[0] == "assignments":
        from lockgate.shell.programs.roles.running import apply_assignments

        operands, roles = (yield from apply_assignments(call, operands)), roles[1:]
    if not operands and not call.ran:
        for word in entry.bare:
            call.add(word)
    if not operands and entry.default and roles and roles[-1].startswith("argv"):
        operands = [Arg(text) for text in entry.default]
    if entry.here and _means_here(call, len(operands), roles):
        operands = [*operands, Arg(".")]
    if not operands:
        return
    for role, values in assign_roles(roles, operands):
        if role in WORDS and values:
            call.add(role)
        elif role not in HARMLESS and values:
            yield from apply_role(role, call, values, "")


def _list_remaining_roles(roles: list[str], entry: ProgramEntry, given: set[str]) -> list[str]:
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


def apply_standard_input(call: ProgramCall) -> Running[None]:
    """Say what a command does with its standard input: some run it."""
    operands = call.matched.operands
    if call.stdin and _reads_on(call):
        call.machine.inputs.take(call.stdin)
    if call.stdin is None and _takes_typed_commands(call):
        call.machine.findings.listens[call.what] = None
    language = call.entry.stdin
    if not language:
        return
    codes = any(option.role.startswith(("code", "command", "module")) for option in call.matched.options)
    reads = len(operands) <= call.entry.stdin_after or operands[0].text == "-" or "-s" in call.matched.given
    if not codes and reads:
        if call.stdin is None:
            call.machine.findings.listens[call.what] = None
            call.add_opaque(f"`{call.what}` runs what it is given on standard input")
        else:
            from lockgate.shell.inline.running import run_code

            yield from run_code(call, language, call.stdin)


def _takes_typed_commands(call: ProgramCall) -> bool:
    """Whether a program without a language of its own here does what is typed into it: ``ssh HOST`` does."""
    most = lookup.table("typed_into").get(call.entry.name)
    if most is None or len(call.matched.operands) > most:
        return False
    ends = lookup.table("ends_by_itself")
    return not any(arg.text in ends for arg in call.args[1:])


def _reads_on(call: ProgramCall) -> bool:
    """Whether the program may read a part of standard input and leave the rest to others."""
    entry = call.entry
    reads = entry.stdin or entry.feeds or entry.prints in ("input", "cat", "part") or entry.style == "dd"
    return bool(reads) and not any(arg.text != "-" for arg in call.read_words)
