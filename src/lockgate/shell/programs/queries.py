"""Tells whether a query to a service can carry data to a stranger."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.model import OWN_PACKAGE, EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.state.abstract_text import OPAQUE, PLAIN
from lockgate.shell.state.findings import effects_for_keyword

if TYPE_CHECKING:
    from lockgate.core.model import Effect
    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.knowledge.options import Option

_NAMED_IN_FULL = lazy_re(
    r"://|\barn:|\b(?:projects|subscriptions|accounts|organizations|folders)/|\b(?:gcr\.io|pkg\.dev)/"
)
"""A resource with its owner: an address, an ARN of Amazon's, a path of Google's or Microsoft's."""

_QUERY = lazy_re(r"\s*(?:query\b[^{}]*)?\{")
"""How a document of GraphQL begins that reads. In one with several operations another may act."""
_ACTS = lazy_re(r"mutation|subscription")
_OF_A_QUERY = frozenset({"send", "static", "local"})
"""Roles of options with which nothing goes elsewhere, and no file is sent."""


def effect_of_query(call: ProgramCall, word: str, options: list[Option]) -> str:
    """What a word for an effect comes to that depends on what else a command says; empty for none.

    A query whose words are only numbers and names of subcommands carries nothing out.

    What is asked of one's own account goes there and nowhere else. It still counts as composed where the text is only
    made at run time, since nobody can read then what is asked. So it does where a resource is named in full. That can
    be a stranger's, who sees in the records of that account what was asked for.
    """
    if word == "compose-file":
        from lockgate.shell.scripts.compose import takes_in_nothing

        return "" if takes_in_nothing(call, options) else word
    if word == "write-tree":
        from lockgate.shell.programs.git_trees import check_written

        return check_written(call, options)
    if word == "fetch-known":
        travels = "local..." in call.entry.operands or "local" in call.entry.operands
        return "fetch" if travels and any(OPAQUE in arg.text for arg in call.matched.operands) else word
    if word == "fetch-package":
        found = _about_own_package(call)
        call.own += found
        return "" if found else "fetch"
    if word == "fetch-graphql":
        if not _reads_only(call, options):
            return "connect"
        call.contact.sends = ""  # nothing but the fields, which were taken for data
        word = "fetch-own"
    if word == "fetch-own":
        whole = [arg.but_numbers for arg in call.args]
        unread = None in whole or not _stands_still(call, options)
        return "fetch" if unread or _NAMED_IN_FULL.search("\n".join(map(str, whole))) else "fetch-known"
    told = [option for option in options if option.role != "local"]
    words = [*call.named, *call.matched.operands, *(value for option in told for value in option.value)]
    fixed = all(arg.static is not None and (arg.text.isdigit() or arg.text in call.entry.commands) for arg in words)
    return "fetch-known" if fixed and not call.matched.unknown else "fetch"


def _stands_still(call: ProgramCall, options: list[Option]) -> bool:
    """Whether a command asks for the same kind of thing where an unquoted number turns out to be no word at all.

    The words behind it then take other places. No word may become an option or a subcommand by that, and none of the
    options may be missed.
    """
    if all(arg.static is not None or arg.text.strip(PLAIN) for arg in call.args):
        return True
    first = call.args[1 : call.descended + 1]
    values = [value.text for option in options for value in option.value]
    in_order = not any(arg.text.startswith("-") or not arg.text.strip(PLAIN) for arg in first)
    plain = {option.role for option in options} <= {"local", "repository"} and not call.matched.unknown
    return in_order and plain and not any(text.startswith("-") for text in values)


def _reads_only(call: ProgramCall, options: list[Option]) -> bool:
    """Whether the fields of a request are a query of GraphQL, which reads, and variables; and all of it is known."""
    if any(arg.static is None for arg in call.args) or not {option.role for option in options} <= _OF_A_QUERY:
        return False
    fields = {"-f": False, "--raw-field": False, "-F": True, "--field": True}
    query = ""
    for option in options:
        if option.name not in fields:
            continue
        name, mark, value = (option.value[0].text if option.value else "").partition("=")
        # A value that is typed is read from a file behind ``@``.
        if not mark or (fields[option.name] and value.startswith("@")):
            return False
        query = value if name == "query" else query
    return _QUERY.match(query) is not None and _ACTS.search(query) is None


def _about_own_package(call: ProgramCall) -> tuple[Effect, ...]:
    """The effects of a question to a registry about packages that the project names; none where it is another one."""
    from lockgate.shell.effects.glob_matches import READING, is_disk_unchanged
    from lockgate.shell.programs.package_queries import own_packages_changed_at

    cwds, machine = call.scope.cwds, call.machine
    whole = all(arg.static is not None for arg in call.args) and len(cwds) == 1 and bool(cwds[0])
    # What npm has asked before in the same command has kept nothing in the project.
    as_ever = is_disk_unchanged(machine, call.before - 1, also="npm", kinds=READING | {EffectKind.FETCH})
    if not (whole and as_ever) or machine.is_in_file():
        return ()
    words = [arg.text for arg in call.matched.operands]
    changed = own_packages_changed_at(call.entry.name, words, cwds[0], machine.around)
    if changed is None:
        return ()
    because = f"`{call.what}` asks the registry about a package that `package.json` names"
    made = effects_for_keyword("fetch-known", call.what, OWN_PACKAGE)
    return tuple(effect._replace(because=because, changed=changed) for effect in made)
