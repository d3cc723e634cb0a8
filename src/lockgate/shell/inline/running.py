"""Code on the command line, or in a file that is followed: who reads it, and what runs where nobody can."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.inline import LANGUAGES
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.state.abstract_text import ENVIRONMENT, OPAQUE, PLAIN, is_known
from lockgate.shell.state.run import RunText
from lockgate.shell.state.scope import positional

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.state.run import Running
    from lockgate.shell.state.scope import Scope

SHELLS = {"shell": "bash", "sh": "sh", "bash": "bash", "zsh": "zsh", "dash": "sh"}
_CONNECTING = frozenset({"code", "python", "perl", "javascript", "awk"})
"""Languages in which a program can connect a shell to the network by itself."""
_BEGINS = lazy_re(rf"{ENVIRONMENT}|(?:^|[;{{}}\n])\s*{PLAIN}")
"""Where a name can be a command, and not only a text in one."""
_MARKS = lazy_re(rf"[^\w\s\\;{PLAIN}]")
"""What can end a text of sed: any sign does, where it begins it."""


def run_code(call: ProgramCall, language: str, text: str) -> Running[None]:
    """Record what inline code does, in a language that can be read; otherwise that it cannot be seen through."""
    if language not in SHELLS and language not in table("network_code")["not_code"]:
        call.machine.note_code(text, call.what, in_shell=False)
    if language in _CONNECTING:
        _note_network(call, language, text)
    if language in SHELLS:
        call.shapes.append((yield RunText(text, _shell_scope(call, language), SHELLS[language])))
    elif language in LANGUAGES and is_known(text):
        yield from read_code(call, language, text)
    elif language == "patch":
        call.add_opaque(f"`{call.what}` writes files whose names nobody knows: they can be settings or hooks")
    elif not _is_filled_in(language, text) or _can_escape_literal(call, language, text):
        from lockgate.shell.inline.opaque import record_unread

        record_unread(call, language, text)
    else:
        yield from read_code(call, language, text.replace(PLAIN, "1").replace(ENVIRONMENT, "1"))


def _note_network(call: ProgramCall, language: str, text: str) -> None:
    """Note the code that is a shell for whoever is at the other end, and what it downloads."""
    from lockgate.shell.inline.code_downloads import find_downloads
    from lockgate.shell.inline.network_shells import why_code_is_shell

    if because := why_code_is_shell(call.what, language, text):
        call.machine.network.note_shell(call.what, because)
    call.machine.network.note_downloads(find_downloads(language, text, call.machine.around), call.what)


def _shell_scope(call: ProgramCall, language: str) -> Scope:
    """The state that a shell begins with which gets its program as a word."""
    scope = call.scope.new_shell()
    words = call.matched.operands
    if language == "zsh":
        from lockgate.shell.interpreter.builtins.state import record_start_options

        record_start_options(call.machine, [arg for arg in call.args[1:] if arg not in words])
    if len(words) > 1 and "".join(call.entry.operands[:1]).startswith("code"):
        # ``sh -c TEXT NAME ARGUMENT...``
        scope.variables["0"] = words[1].text
        scope.positional = positional(words[2:])
    return scope


def read_code(call: ProgramCall, language: str, text: str) -> Running[None]:
    """Record what the reader of a language finds in a text."""
    reading = LANGUAGES[language](call, text)
    if reading is not None:
        yield from reading


def _is_filled_in(language: str, text: str) -> bool:
    """Whether the unknown parts of a small program are only names and numbers."""
    return OPAQUE not in text and language in ("awk", "sed", "jq")


def _can_escape_literal(call: ProgramCall, language: str, text: str) -> bool:
    """Whether a name that somebody could choose can add commands to a program that is known but for it.

    ``sed "s|a|$f|" y`` in a loop over files runs ``whoami`` for a file of the name ``b|e;1ewhoami``.
    """
    if not call.machine.names.chosen or (PLAIN not in text and ENVIRONMENT not in text):
        return False
    # All that ends a text of these can stand in a name.
    return language != "sed" or _BEGINS.search(text) is not None or _can_escape_sed(call, text)


def _can_escape_sed(call: ProgramCall, text: str) -> bool:
    from lockgate.shell.inline.sed import RUNS, read_sed

    ends = {*_MARKS.findall(text), "\n"}
    if not call.machine.names.chosen_paths:
        ends.discard("/")
    # The first of two commands is for a pattern, the second for a text: `s|a|name|` needs one end, `s|name|b|` two.
    tries = [text.replace(PLAIN, f"x{more}p;1e;") for end in ends for more in (end, end + end)]
    return any(read_sed(each)[1] == RUNS for each in tries)
