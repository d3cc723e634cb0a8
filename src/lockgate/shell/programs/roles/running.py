"""Roles of words that are run: commands, scripts, code, the variables before them."""

from __future__ import annotations

import re
from collections.abc import Callable

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.path_spelling import STANDARD_INPUT, absolute
from lockgate.shell.effects.unlisted import heed_variable
from lockgate.shell.effects.variables import variable_effects
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.programs.attacker_names import breaks_out
from lockgate.shell.programs.roles.files import read, write
from lockgate.shell.state.abstract_text import ENVIRONMENT, OPAQUE, PLAIN, harmless, known
from lockgate.shell.state.scope import Arg, positional

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall


Role = Callable[["ProgramCall", list[Arg], str], None]
_MOST_LINES = 12
_BESIDE = frozenset({"-execdir", "-okdir"})
"""Actions of ``find`` that run a command in the folder of what was found."""
_SETTING = lazy_re(r"([^=]*)=(.*)", re.DOTALL)
"""What ``env`` and ``sudo`` take for a setting, whichever characters the name has."""
_SHELLS = {"shell": "bash", "sh": "sh", "bash": "bash", "zsh": "zsh", "dash": "sh"}
_CONNECTING = frozenset({"code", "python", "perl", "javascript", "awk"})
"""Languages in which a program can connect a shell to the network by itself."""
_LOCAL_MODULES = frozenset(
    {"json", "json.tool", "py_compile", "compileall", "tokenize", "ast", "this", "calendar", "tabnanny"}
)
"""Modules of the standard library that only read, and whose names nobody shadows by accident."""
_X = """
    context_aware_warnings cpu_count dev disable-remote-debug disable_remote_debug faulthandler frozen_modules gil
    importtime int_max_str_digits lazy_imports no_debug_ranges pathconfig_warnings perf perf_jit showrefcount
    thread_inherit_context tlbc tracemalloc utf8 warn_default_encoding
"""
_HARMLESS_SETTINGS = frozenset(_X.split())
"""What ``-X`` sets (``python3 --help-xoptions`` of 3.11 to 3.15), without ``pycache_prefix`` and ``presite``."""


def command(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Text that a shell runs."""
    for word in words:
        call.machine.run_text(word.text, call.scope.new_shell(), "sh", call.stdin)


def action(call: ProgramCall, words: list[Arg], option: str) -> None:
    """``tar --checkpoint-action``: ``exec=command`` runs something, the others print."""
    for word in words:
        if word.text.startswith("exec="):
            command(call, [Arg(word.text[5:])], option)
        elif not known(word.text):
            call.opaque(f"what `{option}` does is only known when it runs")


def format_shell(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A format in which ``#(...)`` is a command, as in tmux."""
    for word in words:
        if "#(" in word.text:
            command(call, [Arg(word.text.partition("#(")[2].rpartition(")")[0])], option)


def output(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A file that is written, or after ``|`` (``!``, with dvips) a shell's text that gets the output."""
    for word in words:
        if word.text.lstrip().startswith(("|", "!")):
            command(call, [Arg(word.text.lstrip()[1:])], option)
        else:
            write(call, [word], option)


def program(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Words that are run without a shell, with more words after them."""
    for word in words:
        invoke_words(call, [*(Arg(text) for text in word.text.split()), Arg(PLAIN)])


def argv(call: ProgramCall, words: list[Arg], _: str) -> None:
    """A command, up to the end."""
    before = call.args[1 : len(call.args) - len(words)]
    if words and words == call.args[len(before) + 1 :] and any(word.loose for word in before):
        because = "a word before it may become several, and then another one is the program"
        call.machine.findings.execute(words[0].shown, "shell:dynamic-command", because, unknown=True)
    if not call.entry.feeds:
        invoke_words(call, words)
    else:
        from lockgate.shell.programs.roles.xargs import commands

        for each in commands(call, words):
            invoke_words(call, each)


def execute_found(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A command for what was found."""
    call.machine.chosen = call.machine.chosen_paths = True
    named = [value for given in call.matched.options if given.role == "name" for value in given.value]
    roots = [w.text for w in (*call.matched.operands, *named) if not w.text.startswith("-") and harmless(w.text)]
    if option in _BESIDE:
        _execute_beside(call, words, option, roots or ["."])
    else:
        _execute_for(call, words, option, roots or ["."])


def _execute_beside(call: ProgramCall, words: list[Arg], option: str, roots: list[str]) -> None:
    """A command that runs in the folder of what was found: one of those that are searched, or any below it."""
    machine, scope, before = call.machine, call.scope, call.machine.findings.relative_writes
    found = [(absolute(root, cwd, machine.around) or root) for root in roots for cwd in scope.cwds]
    call.scope = scope.copy()
    call.scope.cwds = tuple(dict.fromkeys(folder if folder.startswith("/") else "" for folder in found))[:_MOST_LINES]
    _execute_for(call, words, option, found)  # told from the root, each stays what it is
    call.scope = scope
    if machine.findings.relative_writes > before:
        because = f"`{option}` runs it in the folder of each file that is found: what it writes there can be anything"
        machine.findings.execute(words[0].shown, "shell:unknown-write", because)


def _execute_for(call: ProgramCall, words: list[Arg], option: str, roots: list[str]) -> None:
    from lockgate.shell.programs.output import found_names

    marks = re.compile(r"\{(?:|/|//|\.|/\.)\}")
    if call.entry.style != "find" and not any(marks.search(word.text) for word in words):
        words = [*words, Arg("{}")]  # ``fd`` puts what it finds at the end
    for found in found_names(call, roots, frozenset({option}))[:_MOST_LINES]:
        # Escaped, because the text is a replacement pattern.
        name = found.replace("\\", "\\\\")
        invoke_words(call, [Arg(marks.sub(name, word.text), word.glob) for word in words])


def shell_argv(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Words that are joined and run by a shell."""
    call.machine.run_text(" ".join(word.text for word in words), call.scope.new_shell(), "sh", call.stdin)


def lock_argv(call: ProgramCall, words: list[Arg], option: str) -> None:
    """``flock FILE command...`` or ``flock FILE -c 'text'``; a number instead of the file runs nothing."""
    write(call, words[:1], option)
    rest = words[1:]
    if rest and rest[0].text in ("-c", "--command"):
        command(call, rest[1:2], option)
    elif rest:
        invoke_words(call, rest)


def split(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Text that is split into the first words of a command."""
    invoke_words(call, [*(Arg(text) for word in words for text in word.text.split()), *call.matched.operands])


def invoke_words(call: ProgramCall, words: list[Arg]) -> None:
    """Run a command that a word of another one holds."""
    if words and call.entry.name in ("env", "sudo", "doas"):
        words = leading_assignments(call, words)
    call.ran = True
    # It is another process: what a builtin does there is not done here.
    inner = call.scope.copy()
    call.shapes.append(call.machine.invoke(inner, words, call.stdin, functions=False) if words else "")


def leading_assignments(call: ProgramCall, words: list[Arg]) -> list[Arg]:
    """Keep what ``NAME=value`` words before a command do; return the words after them."""
    position = 0
    call.scope = call.scope.copy()
    while position < len(words) and (match := _SETTING.match(words[position].text) or words[position].text == "-"):
        if match is not True:
            name, value = match.groups()
            variable_effects(name, value, call.machine, call.scope)
            heed_variable(name, value, call.machine)
            call.scope.assign(name, value)
            call.scope.exported |= {name}
        position += 1
    return words[position:]


def script(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A file that is run, or standard input."""
    for word in words[:1]:
        if word.text != "-" and word.text not in STANDARD_INPUT:
            from lockgate.shell.scripts.running import run_by_interpreter

            call.own += run_by_interpreter(call, word, option)
        elif call.stdin is not None:
            run_code(call, call.entry.stdin or "code", call.stdin)


def run_code(call: ProgramCall, language: str, text: str) -> None:
    """Keep what inline code does, in a language that can be read; otherwise that it cannot be seen through."""
    from lockgate.shell.inline import LANGUAGES

    if language not in _SHELLS and language not in table("network_code")["not_code"]:
        call.machine.note_code(text, call.what, in_shell=False)
    if language in _CONNECTING:
        from lockgate.shell.programs.network_shells import connected_in

        if because := connected_in(call.what, language, text):
            call.machine.shells[call.what] = because
        from lockgate.shell.programs.code_downloads import downloaded_in

        for address in downloaded_in(language, text, call.machine.around):
            call.machine.downloads[address, call.what] = None
    if language in _SHELLS:
        scope = call.scope.new_shell()
        words = call.matched.operands
        if language == "zsh":
            from lockgate.shell.interpreter.builtins.state import heed_start

            heed_start(call.machine, [arg for arg in call.args[1:] if arg not in words])
        if len(words) > 1 and "".join(call.entry.operands[:1]).startswith("code"):
            # ``sh -c TEXT NAME ARGUMENT...``
            scope.variables["0"] = words[1].text
            scope.positional = positional(words[2:])
        call.shapes.append(call.machine.run_text(text, scope, _SHELLS[language]))
    elif language in LANGUAGES and known(text):
        LANGUAGES[language](call, text)
    elif language == "patch":
        call.opaque(f"`{call.what}` writes files whose names nobody knows: they can be settings or hooks")
    elif not _filled_in(language, text) or breaks_out(call, language, text):
        from lockgate.shell.inline.opaque import unread

        unread(call, language, text)
    else:
        LANGUAGES[language](call, text.replace(PLAIN, "1").replace(ENVIRONMENT, "1"))


def _filled_in(language: str, text: str) -> bool:
    """Whether the unknown parts of a small program are only names and numbers."""
    return OPAQUE not in text and language in ("awk", "sed", "jq")


def code(language: str) -> Role:
    """The role of code in a language."""

    def role(call: ProgramCall, words: list[Arg], _: str) -> None:
        for word in words:
            run_code(call, language, word.text)

    return role


def loaded(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Code that is loaded where the word is a path; a bare name or a version is one of the program's own."""
    for word in words:
        if not re.fullmatch(r"@?[\w-]+|[0-9]+(?:\.[0-9]+)*", word.text):
            call.opaque(f"`{option} {word.shown}` loads code")


def perl_file(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A file that perl opens by itself: a name with ``|`` at an end is a command. With ``-i`` it is changed."""
    from lockgate.shell.inline.perl.texts import is_opened

    for word in words:
        if is_opened(word.text, pattern=word.glob):
            call.opaque(f"perl runs what a file's name says where `|` is at an end, as may be with `{word.shown}`")
    read(call, words, option)
    if "-i" in call.matched.given:
        write(call, words, option)


def perl_separator(call: ProgramCall, words: list[Arg], option: str) -> None:
    """``perl -F``: a pattern that perl puts into the program as it is."""
    for word in words:
        if not re.fullmatch(r"(/?)(?:\\[tsdw|.]|[,;:|=+*.&%~-])+\1", word.text):
            call.opaque(f"`{option}` puts this into the program, and it may be more than a pattern")


def python_setting(call: ProgramCall, words: list[Arg], option: str) -> None:
    """``python -X NAME=value``: one says where compiled modules are loaded from, one imports a module first."""
    for word in words:
        if word.text.partition("=")[0] not in _HARMLESS_SETTINGS:
            call.opaque(f"`{option} {word.shown}` can make Python load other code")


def module(call: ProgramCall, words: list[Arg], _: str) -> None:
    """``python -m NAME``: a module that is a known program counts as that program; it may also be the project's own."""
    from lockgate.shell.knowledge.lookup import lookup

    name = words[0].static if words else None
    if name is None:
        call.opaque("which module this runs is only known when it runs")
    elif name in _LOCAL_MODULES:
        from lockgate.shell.inline.python.shadowing import shadow

        if problem := shadow(call.machine, call.scope):
            call.opaque(problem)
        if name in ("json", "json.tool"):
            # Python 3.14 has the first name for it too.
            invoke_words(call, [Arg("json.tool"), *call.matched.operands])
            return
        read(call, call.matched.operands, "")
        call.not_listed += [arg for arg in call.matched.operands if arg.text.startswith("-")]
    else:
        because = f"`python -m {name}` runs code that can lie in this folder"
        if lookup(name) is None:
            call.opaque(because)
            return
        # It is what the program of this name is, or a file of the project in its place; not any code that was written.
        call.own.append(Effect(EffectKind.EXECUTE, call.what, call.rule, because, Variant.SCRIPT))
        invoke_words(call, [Arg(name), *call.matched.operands])


def placeholder(call: ProgramCall, words: list[Arg], _: str) -> None:
    """The text that stands for a word of the input."""
    call.placeholder = words[0].text if words else "{}"


def assignment(call: ProgramCall, words: list[Arg], _: str) -> None:
    """``NAME=value``."""
    leading_assignments(call, words)
