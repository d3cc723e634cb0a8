"""Programs of the project's own that have the name of one that talks to others: not every ``ab`` is ApacheBench.

Such a name alone changes nothing. Where the project says that it has a program of that name, and all that would be
asked are words that are no hosts, it is taken for the project's: code that nobody has seen.
"""

from __future__ import annotations

import json
import posixpath

from lockgate.analysis.spelling import absolute
from lockgate.model import Effect, EffectKind
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lockgate.analysis.shell.scope import Arg
    from lockgate.analysis.surroundings import Surroundings

_FOLDERS = ("", "bin", "cmd", "scripts")
"""Where projects keep programs of their own, or the folders that they are built of (Go)."""
_ASKING = frozenset({EffectKind.EGRESS, EffectKind.FETCH, EffectKind.INGEST})
_LOCAL = frozenset({"localhost", "ip6-localhost", "host"})


def of_project(
    around: Surroundings, cwds: Sequence[str], name: str, args: Sequence[Arg], own: list[Effect]
) -> list[Effect]:
    """The effects of a program that is started by its name, where the project has one of that name.

    Args:
        around: The machine.
        cwds: The folders that it may be started in.
        name: The name.
        args: The words of the command, the name first.
        own: The effects of the known program of that name.

    Returns:
        ``own`` where the project has none, or where a word may be somebody's address.
    """
    asked = [effect for effect in own if effect.kind in _ASKING]
    if not asked or any(_may_be_address(arg, around, cwds) for arg in args[1:]):
        return own
    if not any(_declares(around, folder, name) for folder in {around.workspace, *cwds} if folder):
        return own
    because = f"the project has a program of its own that is called `{name}`"
    runs = Effect(EffectKind.EXECUTE, name, "shell:project-program", because)
    return [runs, *(effect for effect in own if effect.kind not in _ASKING)]


def _may_be_address(arg: Arg, around: Surroundings, cwds: Sequence[str]) -> bool:
    """Whether a word may say whom to ask: all but options without a value, plain words, and files of the project."""
    text = arg.static
    if text is None or "://" in text:
        return True
    host = text.partition("/")[0]
    if not text.startswith("-") and host.replace("_", "").replace("-", "").isalpha() and host not in _LOCAL:
        return False
    if text.startswith("-"):
        return any(mark in text for mark in ".:@=/")
    paths = [absolute(text, cwd, around) for cwd in cwds]
    return not all(path is not None and around.is_there(path) for path in paths)


def _declares(around: Surroundings, folder: str, name: str) -> bool:
    """Whether a folder of the project holds a program of this name, or says that it makes one."""
    if any(around.is_there(posixpath.join(folder, place, name)) for place in _FOLDERS):
        return True
    for file, names in ((f"{folder}/pyproject.toml", _of_python), (f"{folder}/package.json", _of_node),
                        (f"{folder}/Cargo.toml", _of_rust)):  # fmt: skip
        script = around.read_script(file)
        try:
            if script is not None and name in names(script.text):
                return True
        except (ValueError, AttributeError, TypeError, RecursionError):
            continue  # another shape than a manifest has
    return False


def _of_python(text: str) -> set[str]:
    project = _toml(text)
    tables = [
        project.get("project", {}).get("scripts", {}),
        project.get("tool", {}).get("poetry", {}).get("scripts", {}),
    ]
    return {name for table in tables for name in table}


def _of_rust(text: str) -> set[str]:
    project = _toml(text)
    return {project.get("package", {}).get("name", ""), *(each.get("name", "") for each in project.get("bin", []))}


def _of_node(text: str) -> set[str]:
    package = json.loads(text)
    programs = package.get("bin", {})
    return {package.get("name", "")} if isinstance(programs, str) else set(programs)


def _toml(text: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(text)
