"""Finds where secrets come from in a script: files, variables of the environment, and programs that show them.

Each source has a mark, a character that stands in a text for where it comes from.
"""

from __future__ import annotations

import posixpath

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Left, Origin
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.host_view import HostView
from lockgate.resources.path_spelling import is_inside
from lockgate.resources.paths import read_effects
from lockgate.shell.effects.variables import is_secret_name
from lockgate.shell.grammar.tree import Param, Script
from lockgate.shell.interpreter.interpreter import AbstractInterpreter
from lockgate.shell.interpreter.lookahead import nodes
from lockgate.shell.programs.invoke import PROGRAMS
from lockgate.shell.secret_flow.credential_owners import Held
from lockgate.shell.state.abstract_text import FIRST_MARK, OPAQUE, WEAK, is_known, marks_of, show, weaker, without_marks
from lockgate.shell.state.scope import Scope

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall

_WILD = lazy_re(r"[*?\[\x00-\x02]")
_PLAIN_NAME = lazy_re(
    r"(?:\w+_)?(?:ID|HOST|HOSTNAME|PORT|REGION|ZONE|NAME|USER|USERNAME|EMAIL|CHANNEL|BUCKET|ENV|STAGE|VERSION|DOMAIN"
    r"|PROJECT|BRANCH)"
)
"""Names of variables that hold no secret, though a file with secrets sets them."""
_AS_IT_WAS = frozenset({"cat", "head", "tail", "tr", "cut", "echo", "printf"})
"""Programs that leave a value in the letters that it has."""
NAMED_SO = "place:secret/named-so"
_LONGEST_WAY = 4
_MOST_MARKS = 200
_MANY = "one of many addresses"
_MOST_LEFT, _MOST_ORIGINS = 20, 8
_GREPS = frozenset({"grep", "egrep", "fgrep", "rg"})
_AWKS = frozenset({"awk", "gawk", "mawk"})
_FLAGS = lazy_re(r"-[hEFPowmshiN1]+|--only-matching|--no-filename|--max-count=1")
"""Options of ``grep`` with which it prints no other line."""
_LINE = lazy_re(
    r"(?:\(\?<=)?\^?(?:export )?(?P<name>[A-Za-z]\w{3,})(?:=\)?)?(?:\\K)?(?:\.[*+]|\[\^[^]]*\][*+]|\\S\+)?\$?"
)
"""A pattern of ``grep`` for the line of one setting, with its name."""
_RULE = lazy_re(r"\s*(?:/\^?(?P<name>[A-Za-z]\w{3,})=?/|\$1\s*==\s*\"(?P<first>\w{4,})\")\s*\{[^{}]*\}\s*")
"""A rule of ``awk`` for the lines of one setting."""
_FIELD = lazy_re(r"(?:\.[\w\"-]+|\[\"?[\w-]+\"?\])*\.?(?:\[\")?(?P<name>[A-Za-z][\w-]{3,})\"?\]?")
"""A path of ``jq`` to one field."""


def classify(source: Origin, *, given: bool) -> Held:
    """What a secret is, as far as its name says."""
    name = f"${source.picked}" if source.picked else source.text
    return Held(name, given, plain=_AS_IT_WAS.issuperset(source.through))


class SourceMachine(AbstractInterpreter):
    """A machine that marks the secrets which a script reads."""

    def __init__(self, around: HostView) -> None:
        super().__init__(around, PROGRAMS)
        self.sources: dict[Origin, str] = {}
        """Each source with its mark."""
        self.by_mark: dict[str, Origin] = {}
        self.full = False
        """Whether there were more sources than can be told apart."""
        self.files: dict[str, str] = {}
        """Marks of what lies in the files that were written."""
        self.earlier = around.kept_files()
        """Files that earlier calls have written, and where what lies in them comes from."""
        self.kept: dict[str, str] = {}
        """Marks of those among them that the script has meant: there can be more of them than there are marks."""
        self.read: list[tuple[str, str]] = []
        """Files that the command reads, with the marks of what lies in them."""
        self.plain: tuple[str, ...] = ()
        """The shapes of a variable of the environment whose name says that it holds no secret."""
        self._named: dict[int, Script] = {}
        """Scripts whose variables have their marks, by identity."""

    # ------------------------------------------------------------ marks

    def mark(self, source: Origin) -> str:
        """The mark of a source, empty where there are too many."""
        self.full |= source not in self.sources and len(self.sources) >= _MOST_MARKS
        if source not in self.sources and not self.full:
            mark = chr(ord(FIRST_MARK) + len(self.sources))
            self.sources[source] = mark
            self.by_mark[mark] = source
        return self.sources.get(source, "")

    def source(self, mark: str) -> Origin | None:
        """The source of a mark, or of a weak one."""
        return self.by_mark.get(chr(ord(mark) - ord(WEAK) + ord(FIRST_MARK)) if mark >= WEAK else mark)

    def pass_on(self, marks: str, program: str, *, surely: bool, picked: str = "") -> str:
        """The marks of what a program makes of a text, of which it may pick one value."""
        result = ""
        for mark in marks:
            source = self.source(mark)
            if source is None:
                continue
            if source.origin:
                result += mark if surely else weaker(mark)
                continue
            way = source.through
            if program and program not in way and len(way) < _LONGEST_WAY:
                way = (*way, program)
            after = self.mark(source._replace(through=way, picked=source.picked or picked))
            result += after if surely and mark < WEAK else weaker(after)
        return "".join(dict.fromkeys(result))

    def display_path(self, path: str) -> str:
        """A path for a person."""
        home = self.around.home
        return f"~{path[len(home) :]}" if home and is_inside(path, home) else path

    # ------------------------------------------------------------ what the machine asks

    def run(self, script: Script, scope: Scope, stdin: str | None = None) -> str:
        """Run commands, with a mark in each variable that the environment may set to a secret."""
        if id(script) not in self._named:
            for node in nodes(script):
                if isinstance(node, Script):
                    self._named[id(node)] = node
                elif isinstance(node, Param) and node.name not in scope.variables:
                    self._begin_with(node.name, scope)
            self._named[id(script)] = script
        return super().run(script, scope, stdin)

    def _begin_with(self, name: str, scope: Scope) -> None:
        if is_secret_name(name) and not name.upper().endswith("TOKENS"):  # a number of tokens
            scope.variables[name] = OPAQUE + self.mark(Origin(f"${name}"))
        elif _PLAIN_NAME.fullmatch(name) is not None:
            mark = self.mark(Origin(""))
            scope.variables[name] = OPAQUE + mark
            self.plain = (OPAQUE + mark, OPAQUE + weaker(mark))

    def note_read(self, text: str, scope: Scope, found: list[Effect]) -> None:
        """Record what lies in a file that is read."""
        text = without_marks(text)
        secret = {effect.what: effect.rule == NAMED_SO for effect in found if effect.kind is EffectKind.READ_SECRET}
        marks = [
            self.mark(Origin(self.display_path(what if is_known(text) else show(text)), only_named=only_named))
            for what, only_named in secret.items()
        ]
        held = marks_of("".join(marks) + self.marks_at(place_of(text, scope))) or self.marks_by_content(
            place_of(text, scope)
        )
        if held:
            self.read.append((text, held))

    def marks_by_content(self, place: str) -> str:
        """Marks of what a file holds, by its content."""
        if not is_known(place):
            return ""
        return "".join(self.mark(origin) for origin in self.around.kept_content(place))

    def marks_in_file(self, path: str) -> str:
        """Marks of what lies in a file that was written, by this script or by an earlier call."""
        if path not in self.files and path in self.earlier:
            marks = "".join(self.mark(self._of_earlier(origin)) for origin in self.earlier[path])
            self.files[path] = self.kept[path] = marks
        return self.files.get(path, "")

    def _of_earlier(self, source: Origin) -> Origin:
        """What an earlier call left. Of much code from the network only that it is some: secrets need the marks."""
        many = source not in self.sources and len(self.sources) >= _MOST_MARKS // 2
        return Origin("", origin=source.origin, what=_MANY) if many and source.origin else source

    def _list_written(self) -> dict[str, object]:
        return dict.fromkeys([*self.earlier, *self.files])

    def in_files(self) -> tuple[Left, ...]:
        """What lies in the files that were written, as far as it matters to later calls."""
        found = []
        for path, marks in self.files.items():
            sources = dict.fromkeys(filter(None, map(self.source, marks)))
            origins = tuple(source for source in sources if source.text or source.origin)[:_MOST_ORIGINS]
            plain = path.startswith("/") and not path.startswith(("/dev/", "/proc/")) and is_known(path)
            if any(e.kind is EffectKind.READ_SECRET for e in read_effects(path, "", self.around)):
                continue  # its name says what it holds
            if plain and marks != self.kept.get(path) and (origins or path in self.earlier):
                found.append(Left(path, origins))
        return tuple(found[:_MOST_LEFT])

    def marks_at(self, place: str) -> str:
        """Marks of what lies in the files that were written and that a path, or a pattern, may mean."""
        written = self._list_written()
        found = "".join(self.marks_in_file(path) for path in written if is_inside(path, place))
        start = _WILD.split(place, maxsplit=1)[0]
        for path in written:
            before = _WILD.split(path, maxsplit=1)[0]
            wild = (start != place and path.startswith(start)) or (before != path and place.startswith(before))
            found += (
                "".join(map(weaker, self.marks_in_file(path))) if wild and posixpath.basename(start + before) else ""
            )
        return found

    def marks_below(self, folder: str) -> str:
        """Marks of what was written into a folder, but for files such as ``.npmrc``, which nothing publishes."""
        inner = (path for path in self._list_written() if is_inside(path, folder))
        names = (path for path in inner if not posixpath.basename(path).startswith("."))
        return marks_of("".join(weaker(mark) for path in names for mark in self.marks_in_file(path)))


def place_of(text: str, scope: Scope) -> str:
    """The absolute path that a word names, itself where the folder is not known."""
    cwd = scope.cwds[0] if len(scope.cwds) == 1 else ""
    return posixpath.normpath(posixpath.join(cwd, text)) if text else text


def find_picked_name(call: ProgramCall) -> str:
    """The name of the only value that a command prints of what it reads; empty where there may be more.

    As in ``grep API_TOKEN .env`` and ``jq -r .api_token keys.json``.
    """
    program = call.args[0].text.rpartition("/")[2]
    words = [arg.static for arg in call.args[1:]]
    texts = [word for word in words if word is not None]
    options = [text for text in texts if text.startswith("-")]
    operands = [text for text in texts if not text.startswith("-")]
    if len(texts) < len(words) or not operands:
        return ""
    if program in _GREPS:
        match = _LINE.fullmatch(operands[0]) if all(_FLAGS.fullmatch(option) for option in options) else None
    elif program in _AWKS:
        rules = [text for text in operands if "{" in text]
        match = _RULE.fullmatch(rules[0]) if len(rules) == 1 and "-f" not in options else None
    elif program in ("jq", "yq"):
        match = _FIELD.fullmatch(operands[0]) if set(options) <= {"-r", "-e", "-j", "--raw-output"} else None
    else:
        return ""
    return next(filter(None, match.groups()), "") if match is not None else ""
