"""Reads justfiles and follows the recipes that a command of ``just`` runs (https://just.systems/man/en/)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.shell.scripts.follow import follow_script, open_script
from lockgate.shell.scripts.recipe_line import UNKNOWN, run_line
from lockgate.shell.state.run import RunInside, drive

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.state.followed_files import FollowedFile
    from lockgate.shell.state.run import Run, Running
    from lockgate.shell.state.scope import Arg

_NAMES = ("justfile", "Justfile", ".justfile")
_MOST_FOLDERS, _MOST_RECIPES, _MOST_COMMANDS = 12, 100, 20
_LONGEST = 4000
"""Longest line of which more is read than where it ends."""
_ONLY_TOLD = frozenset({"-n", "--dry-run", "-l", "--list", "--summary", "--show", "-s", "--dump", "--variables"})
_SHELLS = {"sh": "sh", "dash": "sh", "bash": "bash", "zsh": "zsh"}
_ASSIGNMENT = lazy_re(r"(?:export\s+)?([A-Za-z_][\w-]*)\s*:=\s*(.*)")
_ALIAS = lazy_re(r"alias\s+([\w-]+)\s*:=\s*([\w-]+)")
_NAME = lazy_re(r"[A-Za-z_][\w-]*")
_SHELL = lazy_re(r"""set\s+shell\s*:=\s*\[\s*["']([^"']+)["']""")
_PIECE = lazy_re(r"""\s*(?:'([^']*)'|"((?:[^"\\]|\\.)*)"|`([^`]*)`|([A-Za-z_][\w-]*))\s*([+/]|$)""")
_NEED = lazy_re(r"\(\s*([A-Za-z_][\w-]*)[^)]*\)|([A-Za-z_][\w-]*)")
_INSERTED = lazy_re(r"\{\{\{\{|\{\{(.*?)\}\}", re.DOTALL)


class Recipe(Record):
    """One recipe."""

    parameters: tuple[str, ...]
    needs: tuple[str, ...]
    lines: list[tuple[str, int]]
    """The lines of its body with their places. They are read after the recipe is kept."""


class Justfile:
    """What a justfile says."""

    def __init__(self, run: Callable[[str], str]) -> None:
        self.run = run
        """Runs a command in backquotes and returns what it prints."""
        self.variables: dict[str, str] = {}
        self.recipes: dict[str, Recipe] = {}
        self.aliases: dict[str, str] = {}
        self.shell = "sh"
        self.problem = ""

    def read(self, text: str, base: int, at: Callable[[int], object]) -> None:
        """Read a file."""
        body: list[tuple[str, int]] | None = None
        offset = base
        for row in text.split("\n"):
            place, offset = offset, offset + len(row) + 1
            if row[:1] in (" ", "\t") or not row.strip():
                if body is not None and row.strip():
                    body.append((row, place))
                continue
            at(place)
            body = self._read_row(row, body)

    def _read_row(self, row: str, body: list[tuple[str, int]] | None) -> list[tuple[str, int]] | None:
        """Read a line that begins at the left. Returns the body that the next lines belong to."""
        if row[0] in "#[":
            return body if row[0] == "#" else None
        if match := _ALIAS.match(row):
            self.aliases[match[1]] = match[2]
        elif match := _SHELL.match(row):
            self.shell = match[1].rpartition("/")[2]
        elif match := _ASSIGNMENT.fullmatch(row):
            self.variables.setdefault(match[1], self.evaluate(match[2], {}))
        elif re.match(r"(?:import|mod)\b", row):
            self.problem = "it has parts in other files"
        elif not row.startswith("set "):
            return self._read_recipe(row)
        return None

    def _read_recipe(self, row: str) -> list[tuple[str, int]] | None:
        """Record the recipe that a line begins. Returns its body; ``None`` where it begins none."""
        head, colon, needs = row.removeprefix("@").partition(":")
        words = head.split()
        if not colon or not words or len(row) > _LONGEST or _NAME.fullmatch(words[0]) is None:
            return None
        names = tuple(word.lstrip("+*$").partition("=")[0] for word in words[1:])
        needed = tuple(inside or plain for inside, plain in _NEED.findall(needs))
        return self.recipes.setdefault(words[0], Recipe(names, needed, [])).lines

    def evaluate(self, text: str, own: Mapping[str, str]) -> str:
        """What an expression stands for, as far as it is known."""
        found, at = "", 0
        while at < len(text):
            match = _PIECE.match(text, at)
            if match is None:
                for command in re.findall(r"`([^`]*)`", text[at:])[:_MOST_COMMANDS]:
                    self.run(command)
                return UNKNOWN
            raw, escaped, command, name, operator = match.groups()
            if command is not None:
                found += self.run(command).rstrip("\n")
            elif name is not None:
                found += own.get(name, self.variables.get(name, UNKNOWN))
            else:
                found += raw if raw is not None else UNKNOWN if "\\" in escaped else escaped
            found += "/" if operator == "/" else ""
            at = match.end()
        return found

    def steps(self, name: str, given: list[str], seen: set[str]) -> Iterator[tuple[str, int]]:
        """The texts that a recipe runs and their places, those of what it needs first."""
        name = self.aliases.get(name, name)
        recipe = self.recipes.get(name)
        if recipe is None or name in seen or len(seen) >= _MOST_RECIPES:
            return
        seen.add(name)
        for need in recipe.needs:
            yield from self.steps(need, [], seen)
        own = {key: given[index] if index < len(given) else UNKNOWN for index, key in enumerate(recipe.parameters)}
        rows = [(self._insert_values(text, own), place) for text, place in recipe.lines]
        if rows and rows[0][0].lstrip().startswith("#!"):
            yield "\n".join(text for text, _ in rows), rows[0][1]
        else:
            yield from _join_lines(rows)

    def _insert_values(self, text: str, own: Mapping[str, str]) -> str:
        """A line of a body with the values of its ``{{...}}``."""
        if len(text) > _LONGEST:
            return UNKNOWN
        return _INSERTED.sub(lambda match: "{{" if match[1] is None else self.evaluate(match[1], own), text)


def _join_lines(rows: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """The lines of a body, without the marks at their beginnings that just reads. A backslash joins two lines."""
    held, begin = "", 0
    for text, place in rows:
        held, begin = (held + text.strip(), begin) if held else (text.lstrip(" \t@-"), place)
        if held.endswith("\\"):
            held = held[:-1]
        else:
            yield held, begin
            held = ""
    if held:
        yield held, begin


def run_just(call: ProgramCall) -> Running[bool]:
    """Follow what a justfile runs for the recipes of a command. Returns whether one was read."""
    script = _open_justfile(call)
    if script is None:
        return False

    def body() -> Running[None]:
        yield RunInside(lambda run: _follow(call, script, run))

    call.own += yield from follow_script(
        call.machine, script, f"`{call.what}` runs recipes of the file `{script.name}`", body
    )
    return True


def _open_justfile(call: ProgramCall) -> FollowedFile | None:
    """Open the nearest justfile, here or above."""
    named = [v for o in call.matched.options if o.name in ("-f", "--justfile") for v in o.value]
    if named:
        return open_script(call.machine, call.scope, named[0].text) if named[0].static is not None else None
    folder = call.scope.cwds[0] if len(call.scope.cwds) == 1 else ""
    for _ in range(_MOST_FOLDERS):
        if folder in ("", "/"):
            return None
        for name in _NAMES:
            if (script := open_script(call.machine, call.scope, posixpath.join(folder, name))) is not None:
                return script
        folder = posixpath.dirname(folder)
    return None


def _follow(call: ProgramCall, script: FollowedFile, run: Run) -> None:
    """Read a justfile, and run what the recipes of a command run."""
    machine, scope = call.machine, call.scope.copy()
    scope.cwds = (posixpath.dirname(script.path),)

    def run_text(text: str, dialect: str = "sh") -> str:
        return drive(run_line(machine, scope, text, dialect), run)

    made = Justfile(run_text)
    words = [word for word in call.matched.operands if not _set_variable(made, word)]
    made.read(script.text, script.base, machine.go_to)
    if made.problem:
        machine.findings.execute(call.what, "script:just", made.problem)
    if _ONLY_TOLD & call.matched.given:
        return
    for name, args in _find_asked(made, [word.static or UNKNOWN for word in words]):
        for text, place in made.steps(name, args, set()):
            machine.go_to(place)
            _run(call, made, text, run_text)


def _run(call: ProgramCall, made: Justfile, text: str, run: Callable[[str, str], object]) -> None:
    """Run one text of a recipe with the shell that its first line or the file names."""
    first = text.lstrip().partition("\n")[0]
    name = first.split("/")[-1].split()[-1] if first.startswith("#!") else made.shell
    name = name if not name.startswith("-") else "bash"
    if name in _SHELLS:
        run(text, _SHELLS[name])
    else:
        call.machine.findings.execute(call.what, "script:just", f"`{name}` runs a recipe")


def _set_variable(made: Justfile, word: Arg) -> bool:
    """Set the variable of a word ``NAME=value``. Returns whether the word is one."""
    match = re.fullmatch(r"([A-Za-z_][\w-]*)=(.*)", word.text, re.DOTALL)
    if match:
        made.variables[match[1]] = match[2] if word.static is not None else UNKNOWN
    return match is not None


def _find_asked(made: Justfile, words: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The recipes that are named, each with as many words as it takes; the first one where none is."""
    if not words and made.recipes:
        yield ("default" if "default" in made.recipes else next(iter(made.recipes))), []
    while words:
        name = made.aliases.get(words[0], words[0])
        takes = len(made.recipes[name].parameters) if name in made.recipes else 0
        yield name, words[1 : 1 + takes]
        words = words[1 + takes :]
