"""Finds commands that bash and zsh read in the same way and run differently.

The reader refuses what zsh parses differently. What is left: names that are tied to tables of the shell, words that it
evaluates as arithmetic, options that change how later lines are read.
"""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.expansion.arithmetic import note_unsafe
from lockgate.shell.interpreter.compound import is_safe_number
from lockgate.shell.state.abstract_text import is_known
from lockgate.shell.state.scope import Arg, Scope, ScopeHistory

if TYPE_CHECKING:
    from lockgate.shell.state.run import Interpreter

_TABLES = """
    path fpath cdpath module_path functions dis_functions aliases dis_aliases galiases dis_galiases saliases
    dis_saliases builtins commands options modules mapfile nameddirs argv chpwd_functions precmd_functions
    preexec_functions periodic_functions zshexit_functions zshaddhistory_functions zsh_directory_name_functions
    STTY PROMPT4 histchars HISTCHARS
"""
_TIED = frozenset(_TABLES.split())
"""Variables that decide what a name runs, what runs by itself, or which sign begins a comment."""

_OPTIONS = """
    errexit errreturn nounset unset pipefail xtrace verbose noexec exec allexport hashall physical posix vi emacs
    history monitor notify nomatch match nullglob cshnullglob extendedglob noglob glob globdots globstarshort
    numericglobsort caseglob casematch nocaseglob nocasematch clobber noclobber interactivecomments localoptions
    localtraps shwordsplit kshglob braceccl multios beep autocd pushdsilent autopushd rcexpandparam
    noglobalrcs globalrcs rcs ignoreeof onecmd privileged errtrace functrace keyword trackall warncreateglobal
    typesetsilent bashrematch rematchpcre promptcr promptsp histexpand banghist braceexpand bgnice checkjobs hup
    longlistjobs
"""
_HARMLESS = frozenset(_OPTIONS.split())
"""Options that change neither how later lines are read nor what a word means."""
_COUNTING = frozenset({"exit", "return", "logout", "shift", "break", "continue", "ulimit"})
"""Builtins whose words are all numbers."""
_DECLARING = frozenset({"integer", "float", "typeset", "declare", "local", "export", "readonly"})
_VALUED = lazy_re(r"-[A-Za-z]*[CukptZLREFi]")
"""Options that take the next word as a number."""
_NUMBER_KIND = lazy_re(r"-(?=[A-Za-z]*[iEF])[A-Za-z]*+\d*+")
"""Options with which a declared variable is a number."""


def record_builtin(machine: Interpreter, scope: Scope, word: str, args: list[Arg]) -> None:
    """Record what zsh does with the words of one of its builtins."""
    if word in _COUNTING or word == "repeat":
        numbers = args[:1] if word == "repeat" else args
    elif word in ("read", "print"):
        numbers = _after_options(args)
    elif word in _DECLARING:
        counts = word in ("integer", "float") or any(_NUMBER_KIND.fullmatch(arg.text) for arg in args)
        values = [Arg(arg.text.partition("=")[2]) for arg in args if "=" in arg.text]
        numbers = _after_options(args) + (values if counts else [])
    else:
        numbers = []
        _record_options(machine, word, args)
    if not all(is_safe_number(number.text, scope) for number in numbers):
        note_unsafe(machine)


def _after_options(args: list[Arg]) -> list[Arg]:
    """The words that may be an option's number."""
    attached = [arg for arg in args if arg.text.startswith("-")]
    return attached + [args[at + 1] for at, arg in enumerate(args[:-1]) if _VALUED.fullmatch(arg.text)]


def _record_options(machine: Interpreter, word: str, args: list[Arg]) -> None:
    """Record that ``set``, ``setopt`` or ``hash`` changes what later lines mean."""
    if word == "hash":
        if any("=" in arg.text for arg in args):
            machine.findings.execute("hash", "shell:hash", "from here on a program's name may mean another file")
        return
    texts = [arg.text for arg in args]
    if word == "set":
        texts = [texts[at + 1] for at, text in enumerate(texts[:-1]) if re.fullmatch(r"[-+][A-Za-z]*o", text)]
    for text in texts:
        name = text.lower().replace("_", "")
        if not is_known(text) or not {name, name.removeprefix("no")} & _HARMLESS:
            because = f"the option `{Arg(text).shown}` may change how zsh reads what follows"
            machine.findings.execute(f"{word} {Arg(text).shown}", "shell:option", because)


def record_own_tables(machine: Interpreter, ever: ScopeHistory) -> None:
    """Record that the script assigned a variable that is one of zsh's own tables."""
    for name in sorted((ever.touched | ever.variables.keys()) & _TIED):
        because = f"in zsh `{name}` decides what commands run; give the variable another name, or run this with bash"
        machine.findings.execute(name, "shell:zsh", because)
