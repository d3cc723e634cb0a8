"""Finds the shape of what programs print, where it is known well enough to be used as words."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.shell.interpreter.lookahead import drop_order, file_name
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.state.abstract_text import (
    ENVIRONMENT,
    OPAQUE,
    PLAIN,
    Number,
    harmless,
    is_known,
    join_texts,
    make_unknown_text,
)
from lockgate.shell.state.scope import Arg, Input

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.shell.knowledge.call import ProgramCall

_BY_PATH = frozenset({"-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-samefile"})
_PATTERNS = frozenset({"-path", "-ipath", "-wholename", "-iwholename"})
_HASHES = lazy_re(r"(?:%[hHtTpP]|%[ac][tIs])(?:[ ,:]*(?:%[hHtTpP]|%[ac][tIs]))*")
"""A format of ``git log`` that asks for hashes, dates and numbers."""
_FORMAT_OF_NAMES = lazy_re(r"(?:%p|%h/%f|%[-0]?\d{0,3}[smnikMdy]|%[ACT][@YmdHMS]|\\[nt0]|[ \t:,|;])*")
"""A format of ``find -printf`` that asks for whole names, dates and numbers: a part of a name means another file."""
_WITH_MESSAGES = frozenset({"git/show", "git/log", "git/whatchanged", "git/shortlog"})
_LOOKING_UP = frozenset({"which", "whereis", "command"})
"""Programs that print where another one lies."""
_LISTING = frozenset({"ls", "gls", "dir", "vdir", "exa", "eza", "lsd", "ll", "la"})
_FD = frozenset({"fd", "fdfind"})
_EXTENSION = frozenset({"-e", "--extension"})
_MAKING_HASHES = frozenset(
    {"rev-parse", "rev-list", "merge-base", "hash-object", "write-tree", "commit-tree", "mktree"}
)
"""Subcommands of git that print hashes."""
_SAYS = lazy_re(r"[\"']|print|stream|asciify|read")
"""What a program for ``bc`` can print other than numbers with."""
_MADE_UP = lazy_re(r"X{3,}(?=[^X]*$)")
"""The characters of a template that ``mktemp`` makes up."""
_IN_NUMBERS = lazy_re(r"\+%s|(?:-u|--utc) \+(?:%[-0]?[YymdHMSsjFT]|[-0-9:._TZ])+")
"""Words of ``date`` with which it prints numbers without a blank. Without ``-u`` they also depend on ``TZ``."""
_ONE_PLACE = lazy_re(r"(?:\.?\[\d{1,3}\]|\.\w{1,60}){0,9}")
"""A path of jq that leads to one value at most."""
_JQ = frozenset({"-q", "--jq"})
_IN_FOLDER = frozenset({"-p", "--tmpdir", "-t"})
"""Options of ``mktemp`` with which its template lies in a folder for such files."""


class Output(Record):
    """What a command prints."""

    text: str
    """Its shape."""
    chosen: bool = False
    """Whether it may be a name that anybody could choose, as that of a branch."""


def output_of(call: ProgramCall) -> Output:
    """What a command prints, after all else about it is known."""
    kind = call.entry.prints
    if kind == "word":
        return _word(call)
    shape_of = _KINDS.get(kind)
    return Output(OPAQUE if shape_of is None else shape_of(call))


def _word(call: ProgramCall) -> Output:
    """A name or a hash: no option, but which one is not known."""
    if (part := _part_of_path(call)) is not None:
        return Output(f"{part}\n")
    if call.entry.name in _LOOKING_UP and len(call.matched.operands) == 1 and is_known(call.matched.operands[0].text):
        return Output(f"{ENVIRONMENT}/{call.matched.operands[0].text}\n")
    # Names can be read as code.
    command = call.entry.name.rpartition("/")[2]
    chosen = command not in _MAKING_HASHES or "--abbrev-ref" in call.matched.given
    words = [*call.matched.operands, *(value for option in call.matched.options for value in option.value)]
    plain = not call.matched.unknown and all(harmless(arg.text) for arg in words)
    return Output(f"{ENVIRONMENT}\n" if plain else OPAQUE, chosen)


def _file_names(call: ProgramCall) -> str:
    """Names of files."""
    if _says_more(call):
        return OPAQUE
    roots = [arg.text for arg in call.read_words if harmless(arg.text)] or ["."]
    # ``ls`` prints what lies in a folder by its bare name, and a file as it was named.
    own = [PLAIN, *map(file_name, call.read_words)] if call.entry.name in _LISTING else []
    names = "".join(f"{name}\n" for name in (*own, *names_found(call, roots[:20])))
    # What ``find -exec`` runs prints between the names, or instead of them.
    return names if not any(call.shapes) else join_texts(names, *call.shapes)


def _numbers(call: ProgramCall) -> str:
    """A number, or one for each file with the file's name behind it."""
    if call.matched.unknown:
        # An option that nobody knows can say what stands between the numbers (``pgrep -d``).
        return OPAQUE
    return "".join(f"{PLAIN} {arg.text}\n" for arg in call.read_words) or f"{PLAIN}\n"


def _date(call: ProgramCall) -> str:
    """The time, in a format that is known."""
    if _IN_NUMBERS.fullmatch(" ".join(arg.static or "" for arg in call.args[1:])):
        return Number(f"{PLAIN}\n")
    return f"{PLAIN}\n" if all(map(_is_dull_format, call.args[1:])) else OPAQUE


def _field(call: ProgramCall) -> str:
    """One field of an answer of a service, of those that are always numbers; nothing where it does not have it."""
    asked = [option.value[0].static for option in call.given if option.name in _JQ and option.value]
    plain = not call.not_listed and {option.role for option in call.given} <= {"local", "repository"}
    path, _, name = (asked[0] or "").rpartition(".") if len(asked) == 1 else ("", "", "")
    listed = name in table("number_fields").get(call.args[0].text.rpartition("/")[2], ())
    one = listed and _ONE_PLACE.fullmatch(path) and any(option.name == "--json" for option in call.given)
    return Number(f"{PLAIN}\n") if one and plain else OPAQUE


def _revisions(call: ProgramCall) -> str:
    """Hashes of commits, where it is asked for nothing else."""
    return f"{ENVIRONMENT}\n" if _asks_for_hashes(call) else OPAQUE


def _part(call: ProgramCall) -> str:
    """Some lines of its input."""
    numbers = call.stdin is not None and not call.read_words and not call.stdin.replace(PLAIN, "").strip()
    return call.stdin or "" if numbers else OPAQUE


def _input(call: ProgramCall) -> str:
    """Lines of its input, in any order."""
    return OPAQUE if call.read_words or call.stdin is None else _part_of(call.stdin)


def _cat(call: ProgramCall) -> str:
    """Its input as it is."""
    other = call.stdin is None or call.matched.unknown or any(arg.text != "-" for arg in call.read_words)
    # That something was taken of what it read says nothing of what it prints.
    return OPAQUE if other or call.stdin is None else Input(call.stdin)


def _print_nothing(_: ProgramCall) -> str:
    """No line."""
    return ""


def _result(call: ProgramCall) -> str:
    """A number that was worked out from its input. A text in quotes is printed as it is."""
    counts = call.stdin is not None and not (call.read_words or call.matched.options or _SAYS.search(call.stdin))
    return f"{PLAIN}\n" if counts and OPAQUE not in (call.stdin or "") else OPAQUE


def _root(call: ProgramCall) -> str:
    """The folder of the repository. What else it is asked for, and what it does not know, is printed too."""
    alone = call.matched.given == {"--show-toplevel"} and not (call.matched.operands or call.matched.unknown)
    return f"{call.machine.around.workspace or PLAIN}\n" if alone else OPAQUE


def _command(call: ProgramCall) -> str:
    """What the commands print that it runs."""
    return "".join(call.shapes) if call.shapes else OPAQUE


def _temporary(call: ProgramCall) -> str:
    """The name that ``mktemp`` makes up, in the folder that it is told."""
    usual = call.machine.around.variables.get("TMPDIR", "/tmp").rstrip("/")  # noqa: S108 - only named
    options = {option.name: option.value[0].text for option in call.matched.options if option.value}
    templates = [arg.text for arg in call.matched.operands] or [options.get("-t", "tmp.XXX")]
    folder = options.get("-p", options.get("--tmpdir", ""))
    if not folder:
        folder = "." if call.matched.operands and not call.matched.given & _IN_FOLDER else usual
    moved = call.scope.value("TMPDIR").rstrip("/") not in (usual, ENVIRONMENT)
    if moved or call.matched.unknown or len(templates) > 1 or not is_known(folder + templates[0]):
        return OPAQUE
    above, _, name = templates[0].rpartition("/")
    path = above if above.startswith("/") else f"{folder}/{above}".rstrip("/")
    made = PLAIN.join(_MADE_UP.split(name, maxsplit=1))
    return f"{path}/{made if PLAIN in made else f'{name}.{PLAIN}'}{options.get('--suffix', '')}\n"


def names_found(call: ProgramCall, roots: list[str], actions: frozenset[str] = frozenset()) -> list[str]:
    """What the names of files below some folders look like: those that some actions of ``find`` are for, or all."""
    names = call.found.get(actions)
    if names is None:
        names = call.found[actions] = _names(call, actions)
    return [f"{root.rstrip('/')}/{name}" for root in roots for name in names]


def _names(call: ProgramCall, actions: frozenset[str]) -> list[str]:
    """What the names below a folder look like: with ``find -name`` they end in the pattern."""
    if call.entry.style != "find":
        endings = _endings(call) if call.entry.name in _FD else []
        return [f"{PLAIN}.{ending}" for ending in endings] if all(map(harmless, endings)) and endings else [PLAIN]
    for before, arg in zip(call.args, call.args[1:], strict=False):
        if before.text in _BY_PATH:
            return [ENVIRONMENT + _end_of_path(before.text, arg)]
    from lockgate.shell.programs import find_expression

    words = [arg.text for arg in call.args[1:]]
    given = find_expression.names(words, call.entry.options, actions or find_expression.PRINT)
    if given is None or find_expression.EMPTY in given or not all(map(harmless, given)):
        return [PLAIN]
    names: list[str] = []
    for text in given:
        name = text.replace("?", PLAIN).replace("*", PLAIN)
        names += [name] if name.startswith(PLAIN) else [name, f"{PLAIN}/{name}"]
    return names


def _says_more(call: ProgramCall) -> bool:
    """Whether a program prints more than names: what its options say, or messages of commits."""
    given = [o.value[0].text if o.value else "" for o in call.matched.options if o.role == "composed"]
    if not call.entry.name.startswith("git/"):
        unknown = any("=" in arg.text for arg in call.matched.unknown)
        return unknown or not all(map(_FORMAT_OF_NAMES.fullmatch, given))
    plain = all(_asks_for_nothing(text) for text in given)
    return not plain or bool(call.matched.unknown) or (call.entry.name in _WITH_MESSAGES and not given)


def _asks_for_nothing(text: str) -> bool:
    form = _form(text)
    return not form or _HASHES.fullmatch(form) is not None


def _form(text: str) -> str:
    """A format of git's without the word that says that it is one."""
    return text.removeprefix("format:").removeprefix("tformat:")


def _end_of_path(test: str, pattern: Arg) -> str:
    """How all paths end that a test of ``find`` lets through: what stands behind the last mark of a pattern."""
    if test not in _PATTERNS or not is_known(pattern.text):
        return ""
    last = max(map(pattern.text.rfind, "*?[]\\"))
    end = pattern.text[max(last, 0) :]
    return end[end.find("/") :] if "/" in end else ""


def _endings(call: ProgramCall) -> list[str]:
    """How the names end that ``fd`` finds, where it is told that."""
    given = [option for option in call.matched.options if option.name in _EXTENSION]
    return [value.text.lstrip(".") for option in given for value in option.value]


def _part_of_path(call: ProgramCall) -> str | None:
    """What ``basename`` and ``dirname`` make of one path that is known, or of the name of a file that is there."""
    program = call.args[0].text.rpartition("/")[2]
    operands = [arg.text.rstrip("/") for arg in call.matched.operands]
    if not operands or OPAQUE in operands[0] or ENVIRONMENT in operands[0] or call.matched.options:
        return None
    if program == "basename" and len(operands) <= 2:
        return operands[0].rpartition("/")[2].removesuffix(operands[1] if len(operands) == 2 else "")
    if program == "dirname" and len(operands) == 1:
        return operands[0].rpartition("/")[0] or ("/" if operands[0].startswith("/") else ".")
    return None


def _asks_for_hashes(call: ProgramCall) -> bool:
    """Whether a format of ``git log`` has nothing in it but hashes, dates and numbers."""
    given = [o.value[0].text for o in call.matched.options if o.name in ("--format", "--pretty") and o.value]
    forms = list(map(_form, given))
    return len(forms) == 1 and _HASHES.fullmatch(forms[0]) is not None


def _is_dull_format(arg: Arg) -> bool:
    """Whether a word of ``date`` only asks for numbers and names of days."""
    return re.fullmatch(r"[-+0-9 :._TZ]*", re.sub(r"%[-_0^#:]*[A-Za-z]", "", arg.text)) is not None or arg.text in (
        "-u",
        "-I",
    )


def _part_of(text: str) -> str:
    """Some lines of a text, in any order."""
    return drop_order(text) if all(map(harmless, text.splitlines())) else make_unknown_text(text)


_KINDS: dict[str, Callable[[ProgramCall], str]] = {
    "names": _file_names,
    "number": _numbers,
    "date": _date,
    "field": _field,
    "revisions": _revisions,
    "part": _part,
    "input": _input,
    "cat": _cat,
    "nothing": _print_nothing,
    "temporary": _temporary,
    "result": _result,
    "root": _root,
    "command": _command,
}
"""What ``prints`` says in the knowledge, but for ``word``, and the function that gives the shape of that."""
KINDS = frozenset({"word", *_KINDS})
"""All that ``prints`` may say."""
