"""Whether a command only asks a program for help about one of its subcommands."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.knowledge.lookup import table

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall

_RUNS = lazy_re(r"run|exec|ssh|shell|console|dlx")
_SUBCOMMAND = lazy_re(r"[a-z][a-z0-9:_-]{0,40}")


def about_subcommand(call: ProgramCall) -> bool:
    """Whether the whole command is ``PROGRAM SUBCOMMAND... --help``, or how else this program is asked for help."""
    *names, last = [arg.static for arg in call.args[1:]] or [None]
    listed = call.descended
    if last == "--help" and listed == len(names) > 0:
        return True
    program = call.entry.name.partition("/")[0]
    asking = table("subcommand_help")
    if last is None or last not in asking.get(program, "").split():
        return False
    below = len(names) if call.named else listed
    # What is no subcommand that is listed can be an alias, which runs anything.
    aliased = listed < len(names) and program in asking["aliasing"].split()
    return below == len(names) and not aliased and all(map(_is_name, names[listed:]))


def _is_name(word: str | None) -> bool:
    """Whether a word is a subcommand's name, of one that gives no words to another program."""
    return word is not None and _SUBCOMMAND.fullmatch(word) is not None and not _RUNS.search(word)
