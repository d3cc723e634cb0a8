"""Follows scripts of ``package.json`` that a command of npm, pnpm, yarn or bun runs."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Mapping

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.path_spelling import is_inside
from lockgate.shell.scripts.follow import follow_script, open_script
from lockgate.shell.scripts.recipe_line import UNKNOWN, run_line
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.state.followed_files import FollowedFile
    from lockgate.shell.state.run import Running

_RUN = frozenset({"run", "run-script", "rum", "urn"})
_SHORT = {"t": "test", "tst": "test"}
_ELSEWHERE = frozenset({"-w", "--workspace", "--workspaces", "-r", "--recursive", "-F", "--filter"})
"""Options with which scripts of other packages run, of which not even the folders are known."""
_MOST_FOLDERS = 12


class ScriptCall(Record):
    """Which script a command runs."""

    name: str
    """Empty where it runs none."""
    args: list[Arg]
    """The words that are handed to it."""


def run_npm(call: ProgramCall) -> Running[bool]:
    """Follow the script that a command runs. Returns whether there is one."""
    asked = _find_script(call)
    if not asked.name or _ELSEWHERE & call.matched.given:
        return False
    script = _open_package(call)
    if script is None:
        return False
    held = _read_scripts(script.text)
    if not any(isinstance(held.get(hook), str) for hook in _hooks(asked.name)):
        return False

    def body() -> Running[None]:
        for hook in _hooks(asked.name):
            text = held.get(hook)
            if isinstance(text, str):
                yield from _run(call, script, hook, text, asked.args if hook == asked.name else [])

    call.own += yield from follow_script(
        call.machine, script, f"`{call.what}` runs a script of the file `{script.name}`", body
    )
    return True


def _find_script(call: ProgramCall) -> ScriptCall:
    word = call.entry.name.partition("/")[2]
    operands = [word for word in call.matched.operands if word.text != "--"]
    if word in _RUN:
        return ScriptCall(operands[0].static or "", operands[1:]) if operands else ScriptCall("", [])
    return ScriptCall(_SHORT.get(word, word), operands)


def _hooks(name: str) -> tuple[str, str, str]:
    """The scripts that run in turn. Some managers leave the first and the last out."""
    return f"pre{name}", name, f"post{name}"


def _open_package(call: ProgramCall) -> FollowedFile | None:
    """Open the nearest ``package.json``, here or above."""
    folder = call.scope.cwds[0] if len(call.scope.cwds) == 1 else ""
    root = call.machine.around.workspace
    for _ in range(_MOST_FOLDERS):
        if not folder or not root or not is_inside(folder, root):
            return None
        script = open_script(call.machine, call.scope, posixpath.join(folder, "package.json"))
        if script is not None:
            return script
        folder = posixpath.dirname(folder)
    return None


def _read_scripts(text: str) -> Mapping[str, object]:
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    scripts = package.get("scripts") if isinstance(package, dict) else None
    return scripts if isinstance(scripts, dict) else {}


def _run(call: ProgramCall, script: FollowedFile, hook: str, text: str, args: list[Arg]) -> Running[None]:
    machine = call.machine
    machine.go_to(script.base + _place(script.text, hook))
    words = [shlex.quote(arg.text) if arg.static is not None else UNKNOWN for arg in args]
    scope = call.scope.copy()
    scope.cwds = (posixpath.dirname(script.path),)
    yield from run_line(machine, scope, " ".join([text, *words]))


def _place(text: str, hook: str) -> int:
    """Where a script stands in the file."""
    match = re.search(re.escape(json.dumps(hook)) + r"\s*:\s*\"", text)
    return match.start() if match else 0
