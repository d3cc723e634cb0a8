"""Applies roles of words that name a program for a package manager: one of the project, or of a registry."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.programs.roles.running import invoke_words, run_argv, run_text
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall, Role
    from lockgate.shell.state.run import Running

_SCRIPT = lazy_re(r"(npm|pnpm|yarn|bun|node):([\w.:*/@-]+)((?: -- | )[^;&|<>`$()\n]*)?")
"""A script of ``package.json`` as ``concurrently`` spells it: ``npm:watch:*``, with words for it."""


def run_package_argv(call: ProgramCall, words: list[Arg], option: str) -> Running[None]:
    """``npx NAME...``: a package that is downloaded where it is missing.

    A program that is known by its bare name counts as that program, and so does a package of a well known owner. What
    has another scope, or a version, comes from elsewhere than the project's lock file, so nobody knows what it is.
    """
    name = words[0].static or ""
    if name.startswith((".", "/")):
        yield from run_argv(call, words, option)
        return
    if owned := table("scoped_packages").get(name):
        yield from run_argv(call, [Arg(owned), *words[1:]], option)
        return
    scope, _, rest = name.rpartition("/")
    bare, at, _ = rest.partition("@")
    if not bare or not (scope or at):
        yield from run_argv(call, words, option)
        return
    call.add("execute-unknown")
    yield from invoke_words(call, [Arg(bare), *words[1:]])


def run_project_argv(call: ProgramCall, words: list[Arg], option: str) -> Running[None]:
    """``poetry run NAME...``: a program that the project has installed, or one of its own scripts.

    A name that nobody knows is the project's code, as with ``python main.py``.
    """
    from lockgate.shell.interpreter.builtins import builtin
    from lockgate.shell.knowledge.lookup import lookup

    name = words[0].static or ""
    before = call.args[1 : len(call.args) - len(words)]
    if not name or "/" in name or lookup(name) or builtin(name) or any(word.loose for word in before):
        yield from run_argv(call, words, option)
    elif name.endswith(".py"):
        yield from invoke_words(call, [Arg("python3"), *words])
    else:
        call.ran = True
        call.add_opaque(f"`{call.what}` runs what the project has under the name `{name}`")


def run_script_command(call: ProgramCall, words: list[Arg], option: str) -> Running[None]:
    """Text that a shell runs, or a script of ``package.json`` by its manager (``npm:dev``, ``npm:watch:*``)."""
    for word in words:
        found = _SCRIPT.fullmatch(word.static or "")
        if found is None:
            yield from run_text(call, [word], option)
        elif "*" in found.group(2):
            call.ran = True
            call.add_opaque(f"`{call.what}` runs scripts of `package.json` by the pattern `{found.group(2)}`")
        else:
            manager = found.group(1).replace("node", "npm")
            yield from run_text(call, [Arg(f"{manager} run {found.group(2)}{found.group(3) or ''}")], option)


FUNCTIONS: dict[str, Role] = {
    "script-command": run_script_command,
    "package-argv": run_package_argv,
    "project-argv": run_project_argv,
}
"""The function that applies each role."""
