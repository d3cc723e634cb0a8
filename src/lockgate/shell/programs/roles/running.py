"""Applies roles of words that are run: commands, scripts, code, the variables before them."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.path_spelling import STANDARD_INPUT, absolute
from lockgate.shell.effects.unlisted import record_variable
from lockgate.shell.effects.variables import variable_effects
from lockgate.shell.inline.running import run_code
from lockgate.shell.programs.roles.files import read, write
from lockgate.shell.state.abstract_text import PLAIN, harmless, is_known
from lockgate.shell.state.run import RunText, RunWords
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall, Role
    from lockgate.shell.state.run import Running

_MOST_LINES = 12
_BESIDE = frozenset({"-execdir", "-okdir"})
"""Actions of ``find`` that run a command in the folder of what was found."""
_SETTING = lazy_re(r"([^=]*)=(.*)", re.DOTALL)
"""What ``env`` and ``sudo`` take for a setting, whichever characters the name has."""
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


def run_text(call: ProgramCall, words: list[Arg], _: str) -> Running[None]:
    """Text that a shell runs."""
    for word in words:
        yield RunText(word.text, call.scope.new_shell(), "sh", call.stdin)


def run_action(call: ProgramCall, words: list[Arg], option: str) -> Running[None]:
    """``tar --checkpoint-action``: ``exec=command`` runs something, the others print."""
    for word in words:
        if word.text.startswith("exec="):
            yield from run_text(call, [Arg(word.text[5:])], option)
        elif not is_known(word.text):
            call.add_opaque(f"what `{option}` does is only known when it runs")


def run_format(call: ProgramCall, words: list[Arg], option: str) -> Running[None]:
    """A format in which ``#(...)`` is a command, as in tmux."""
    for word in words:
        if "#(" in word.text:
            yield from run_text(call, [Arg(word.text.partition("#(")[2].rpartition(")")[0])], option)


def apply_output(call: ProgramCall, words: list[Arg], option: str) -> Running[None]:
    """A file that is written, or after ``|`` (``!``, with dvips) a shell's text that gets the output."""
    for word in words:
        if word.text.lstrip().startswith(("|", "!")):
            yield from run_text(call, [Arg(word.text.lstrip()[1:])], option)
        else:
            write(call, [word], option)


def run_program(call: ProgramCall, words: list[Arg], _: str) -> Running[None]:
    """Words that are run without a shell, with more words after them."""
    for word in words:
        yield from invoke_words(call, [*(Arg(text) for text in word.text.split()), Arg(PLAIN)])


def run_argv(call: ProgramCall, words: list[Arg], _: str) -> Running[None]:
    """A command, up to the end."""
    before = call.args[1 : len(call.args) - len(words)]
    if words and words == call.args[len(before) + 1 :] and any(word.loose for word in before):
        because = "a word before it may become several, and then another one is the program"
        call.machine.findings.execute(words[0].shown, "shell:dynamic-command", because, unknown=True)
    if not call.entry.feeds:
        yield from invoke_words(call, words)
    else:
        from lockgate.shell.programs.roles.xargs import commands

        for each in commands(call, words):
            yield from invoke_words(call, each)


def execute_found(call: ProgramCall, words: list[Arg], option: str) -> Running[None]:
    """A command for what was found."""
    call.machine.names.note_chosen(paths=True)
    named = [value for given in call.matched.options if given.role == "name" for value in given.value]
    roots = [w.text for w in (*call.matched.operands, *named) if not w.text.startswith("-") and harmless(w.text)]
    if option in _BESIDE:
        yield from _execute_beside(call, words, option, roots or ["."])
    else:
        yield from _execute_for(call, words, option, roots or ["."])


def _execute_beside(call: ProgramCall, words: list[Arg], option: str, roots: list[str]) -> Running[None]:
    """A command that runs in the folder of what was found: one of those that are searched, or any below it."""
    machine, scope, before = call.machine, call.scope, call.machine.findings.relative_writes
    found = [(absolute(root, cwd, machine.around) or root) for root in roots for cwd in scope.cwds]
    call.scope = scope.copy()
    call.scope.cwds = tuple(dict.fromkeys(folder if folder.startswith("/") else "" for folder in found))[:_MOST_LINES]
    yield from _execute_for(call, words, option, found)  # told from the root, each stays what it is
    call.scope = scope
    if machine.findings.relative_writes > before:
        because = f"`{option}` runs it in the folder of each file that is found: what it writes there can be anything"
        machine.findings.execute(words[0].shown, "shell:unknown-write", because)


def _execute_for(call: ProgramCall, words: list[Arg], option: str, roots: list[str]) -> Running[None]:
    from lockgate.shell.programs.output import names_found

    marks = re.compile(r"\{(?:|/|//|\.|/\.)\}")
    if call.entry.style != "find" and not any(marks.search(word.text) for word in words):
        words = [*words, Arg("{}")]  # ``fd`` puts what it finds at the end
    for found in names_found(call, roots, frozenset({option}))[:_MOST_LINES]:
        # Escaped, because the text is a replacement pattern.
        name = found.replace("\\", "\\\\")
        yield from invoke_words(call, [Arg(marks.sub(name, word.text), word.glob) for word in words])


def run_shell_argv(call: ProgramCall, words: list[Arg], _: str) -> Running[None]:
    """Words that are joined and run by a shell."""
    yield RunText(" ".join(word.text for word in words), call.scope.new_shell(), "sh", call.stdin)


def run_lock_argv(call: ProgramCall, words: list[Arg], option: str) -> Running[None]:
    """``flock FILE command...`` or ``flock FILE -c 'text'``; a number instead of the file runs nothing."""
    write(call, words[:1], option)
    rest = words[1:]
    if rest and rest[0].text in ("-c", "--command"):
        yield from run_text(call, rest[1:2], option)
    elif rest:
        yield from invoke_words(call, rest)


def split(call: ProgramCall, words: list[Arg], _: str) -> Running[None]:
    """Text that is split into the first words of a command."""
    yield from invoke_words(
        call, [*(Arg(text) for word in words for text in word.text.split()), *call.matched.operands]
    )


def invoke_words(call: ProgramCall, words: list[Arg]) -> Running[None]:
    """Run a command that a word of another one holds."""
    if words and call.entry.name in ("env", "sudo", "doas"):
        words = yield from apply_assignments(call, words)
    call.ran = True
    # It is another process: what a builtin does there is not done here.
    inner = call.scope.copy()
    call.shapes.append((yield RunWords(words, inner, call.stdin)) if words else "")


def apply_assignments(call: ProgramCall, words: list[Arg]) -> Running[list[Arg]]:
    """Record what ``NAME=value`` words before a command do. Returns the words after them."""
    position = 0
    call.scope = call.scope.copy()
    while position < len(words) and (match := _SETTING.match(words[position].text) or words[position].text == "-"):
        if match is not True:
            name, value = match.groups()
            yield from variable_effects(name, value, call.machine, call.scope)
            record_variable(name, value, call.machine)
            call.scope.assign(name, value)
            call.scope.exported |= {name}
        position += 1
    return words[position:]


def run_script(call: ProgramCall, words: list[Arg], option: str) -> Running[None]:
    """A file that is run, or standard input."""
    for word in words[:1]:
        if word.text != "-" and word.text not in STANDARD_INPUT:
            from lockgate.shell.scripts.running import run_by_interpreter

            call.own += yield from run_by_interpreter(call, word, option)
        elif call.stdin is not None:
            yield from run_code(call, call.entry.stdin or "code", call.stdin)


def code(language: str) -> Role:
    """The role of code in a language."""

    def role(call: ProgramCall, words: list[Arg], _: str) -> Running[None]:
        for word in words:
            yield from run_code(call, language, word.text)

    return role


def apply_loaded(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Code that is loaded where the word is a path; a bare name or a version is one of the program's own."""
    for word in words:
        if not re.fullmatch(r"@?[\w-]+|[0-9]+(?:\.[0-9]+)*", word.text):
            call.add_opaque(f"`{option} {word.shown}` loads code")


def apply_perl_file(call: ProgramCall, words: list[Arg], option: str) -> None:
    """A file that perl opens by itself: a name with ``|`` at an end is a command. With ``-i`` it is changed."""
    from lockgate.shell.inline.perl.texts import is_opened

    for word in words:
        if is_opened(word.text, pattern=word.glob):
            call.add_opaque(f"perl runs what a file's name says where `|` is at an end, as may be with `{word.shown}`")
    read(call, words, option)
    if "-i" in call.matched.given:
        write(call, words, option)


def apply_perl_separator(call: ProgramCall, words: list[Arg], option: str) -> None:
    """``perl -F``: a pattern that perl puts into the program as it is."""
    for word in words:
        if not re.fullmatch(r"(/?)(?:\\[tsdw|.]|[,;:|=+*.&%~-])+\1", word.text):
            call.add_opaque(f"`{option}` puts this into the program, and it may be more than a pattern")


def apply_python_setting(call: ProgramCall, words: list[Arg], option: str) -> None:
    """``python -X NAME=value``: one says where compiled modules are loaded from, one imports a module first."""
    for word in words:
        if word.text.partition("=")[0] not in _HARMLESS_SETTINGS:
            call.add_opaque(f"`{option} {word.shown}` can make Python load other code")


def run_module(call: ProgramCall, words: list[Arg], _: str) -> Running[None]:
    """``python -m NAME``: a module that is a known program counts as that program; it may also be the project's own."""
    from lockgate.shell.knowledge.lookup import lookup

    name = words[0].static if words else None
    if name is None:
        call.add_opaque("which module this runs is only known when it runs")
    elif name in _LOCAL_MODULES:
        from lockgate.shell.inline.python.shadowing import shadow

        if problem := shadow(call.machine, call.scope):
            call.add_opaque(problem)
        if name in ("json", "json.tool"):
            # Python 3.14 has the first name for it too.
            yield from invoke_words(call, [Arg("json.tool"), *call.matched.operands])
            return
        read(call, call.matched.operands, "")
        call.not_listed += [arg for arg in call.matched.operands if arg.text.startswith("-")]
    else:
        because = f"`python -m {name}` runs code that can lie in this folder"
        if lookup(name) is None:
            call.add_opaque(because)
            return
        # It is what the program of this name is, or a file of the project in its place; not any code that was written.
        call.own.append(Effect(EffectKind.EXECUTE, call.what, call.rule, because, Variant.SCRIPT))
        yield from invoke_words(call, [Arg(name), *call.matched.operands])


def apply_placeholder(call: ProgramCall, words: list[Arg], _: str) -> None:
    """The text that stands for a word of the input."""
    call.placeholder = words[0].text if words else "{}"


def apply_assignment(call: ProgramCall, words: list[Arg], _: str) -> Running[None]:
    """``NAME=value``."""
    yield from apply_assignments(call, words)


FUNCTIONS: dict[str, Role] = {
    "command": run_text,
    "program": run_program,
    "action": run_action,
    "output": apply_output,
    "format-shell": run_format,
    "argv": run_argv,
    "exec": execute_found,
    "shell-argv": run_shell_argv,
    "split": split,
    "lock-argv": run_lock_argv,
    "script": run_script,
    "code": code("code"),
    "code-shell": code("shell"),
    "code-sh": code("sh"),
    "code-zsh": code("zsh"),
    "code-other-shell": code("other-shell"),
    "code-python": code("python"),
    "code-sed": code("sed"),
    "code-awk": code("awk"),
    "code-jq": code("jq"),
    "code-yq": code("yq"),
    "loaded": apply_loaded,
    "perl-file": apply_perl_file,
    "perl-separator": apply_perl_separator,
    "python-setting": apply_python_setting,
    "code-perl": code("perl"),
    "code-javascript": code("javascript"),
    "code-sqlite": code("sqlite"),
    "code-psql": code("psql"),
    "code-mysql": code("mysql"),
    "code-sql": code("sql"),
    "code-mongo": code("mongo"),
    "first-sqlite": code("sqlite"),
    "first-mysql": code("mysql"),
    "placeholder": apply_placeholder,
    "module": run_module,
    "assignment": apply_assignment,
}
"""The function that applies each role."""
