"""Small languages whose programs stand on the command line: awk, jq, yq, patches; and which reader each has.

Each reader knows the few constructs that reach outside the language; where it is not sure, the code counts as opaque.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.effects import files
from lockgate.shell.effects.variables import is_secret_name
from lockgate.shell.state.findings import effects_for_keyword
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.state.run import Running


def _sed(call: ProgramCall, text: str) -> None:
    from lockgate.shell.inline.sed import add_sed_effects

    add_sed_effects(call, text)


def _python(call: ProgramCall, text: str) -> Running[None]:
    from lockgate.shell.inline.python.program import python_effects

    return python_effects(call, text)


def _perl(call: ProgramCall, text: str) -> None:
    from lockgate.shell.inline.perl.program import perl_effects

    perl_effects(call, text)


def _javascript(call: ProgramCall, text: str) -> Running[None]:
    from lockgate.shell.inline.javascript.program import javascript_effects

    return javascript_effects(call, text)


def _sql(client: str) -> Callable[[ProgramCall, str], None]:
    def read(call: ProgramCall, text: str) -> None:
        from lockgate.shell.inline.sql import reader

        reader(client)(call, text)

    return read


def _opaque(language: str) -> Callable[[ProgramCall, str], None]:
    def look(call: ProgramCall, text: str) -> None:
        from lockgate.shell.inline.opaque import record_unread

        record_unread(call, language, text)

    return look


# ---------------------------------------------------------------- awk

_AWK_TOKEN = lazy_re(
    r'"(?:[^"\\\n]|\\.)*+"?|#[^\n]*|[A-Za-z_]\w*|>>?|\|&|\|\|?|[(,{;!~&=]\s*/(?:[^/\\\n]|\\.)+/|^\s*/(?:[^/\\\n]|\\.)+/|\d+(?:\.\d+)?|.',
    re.DOTALL,
)


_AWK_STRING = lazy_re(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_AWK_OPERAND = re.compile(r"(?!(?:return|print|printf|getline|in|case|else|do|delete|exit)$)[A-Za-z_]\w*|\d[\d.]*|\]")


def _is_awk_doubtful(text: str) -> bool:
    """Whether a slash may begin a pattern that holds a quote or a comment sign, or may be a division."""
    pieces: list[str] = _AWK_TOKEN.findall(text)
    if any(piece[0] == '"' and not _AWK_STRING.fullmatch(piece) for piece in pieces):
        return True
    outside = "".join(piece for piece in pieces if not piece.startswith('"'))
    if re.search(r"\[[^][\n]*/", outside) and any(mark in text for mark in '"#'):
        return True
    before = ""
    for match in _AWK_TOKEN.finditer(text):
        piece = match.group()
        if piece == "/" and not _AWK_OPERAND.fullmatch(before):
            end = text.find("\n", match.end())
            line = text[match.end() : end if end >= 0 else len(text)]
            if any(mark in line for mark in '"#'):
                return True
        before = before if piece.isspace() and piece != "\n" else piece
    return False


def _awk(call: ProgramCall, text: str) -> None:
    # Several texts are one program: what a slash means at the start of one depends on the one before.
    pieces = [word.text for option in call.matched.options if option.role == "code-awk" for word in option.value]
    text = "\n".join(pieces) or text
    if _is_awk_doubtful(text):
        call.add_opaque("this awk program has a slash that can be read in two ways")
        return
    tokens = [token for token in _AWK_TOKEN.findall(text) if not token.isspace() and not token.startswith("#")]
    printing = False
    depth = 0
    for index, word in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        if word in ("print", "printf"):
            printing, depth = True, 0
        elif word in (";", "}", "{", "\n"):
            printing = False
        elif word in "()":
            depth += 1 if word == "(" else -1
        if word in ("system", "@") or (word in ("|", "|&")):
            call.add_opaque("the awk program runs another program or loads code")
            return
        if word == "ENVIRON" and not (following == "[" and _is_plain_variable(tokens[index + 2 : index + 4])):
            call.own += effects_for_keyword("read-secret", "awk ENVIRON", call.rule)
        if word == "getline" and (source := _awk_source(tokens, index)):
            _awk_file(call, tokens, source, files.read)
        if word in ("ARGV", "ARGC"):
            call.add_opaque("the awk program can choose the files that it reads")
            return
        if printing and depth <= 0 and word in (">", ">>"):
            _awk_file(call, tokens, index + 1, files.write)


def _awk_source(tokens: list[str], index: int) -> int:
    """Where the file of a ``getline`` stands, 0 where it names none: ``getline x[1] < "file"``."""
    for at in range(index + 1, len(tokens)):
        if tokens[at] in (";", "\n", "{", "}", "&&", "||"):
            return 0
        if tokens[at] == "<":
            return at + 1
    return 0


def _is_plain_variable(tokens: list[str]) -> bool:
    """Whether an index is the name of a variable that holds no secret."""
    name, closing = [*tokens, "", ""][:2]
    return closing == "]" and name.startswith('"') and not is_secret_name(name)


def _awk_file(call: ProgramCall, tokens: list[str], index: int, look: Callable[..., list[Effect]]) -> None:
    """Record the file that a program reads or writes, where it is one string."""
    name = tokens[index] if index < len(tokens) else ""
    after = tokens[index + 1] if index + 1 < len(tokens) else ""
    if name.startswith('"') and after in ("", ";", "}", "\n", ")"):
        path = name[1:-1]
        if path.startswith("/inet"):
            call.add("egress")
        else:
            call.own += look(Arg(path), call.machine, call.scope)
    else:
        call.add_opaque("the awk program reads or writes a file whose name is only known when it runs")


# ---------------------------------------------------------------- jq, yq


_JQ_ASIDE = lazy_re(r'#(?P<comment>[^\n]*)|"(?:[^"\\]|\\.)*+(?:"|$)', re.DOTALL)


def _jq(call: ProgramCall, text: str) -> None:
    # Behind a text with an expression in it, it is not clear which quotes begin a text and which end one; nor does a
    # comment end for every jq at a line break with a backslash before it.
    unclear = "\\(" in text or re.search(r"#[^\n]*\\\r?\n", text)
    bare = text if unclear else _JQ_ASIDE.sub(lambda aside: '""' if aside["comment"] is None else " ", text)
    if re.search(r"\$ENV|\$__prog_args|(?<![\w.$\"])env(?![\w:])", bare):
        call.own += effects_for_keyword("read-secret", "jq env", call.rule)
    if re.search(r'(?<![\w.$])(?:import|include)\s*"', bare):
        call.add_opaque("the jq program loads a file by a name in its text")


def _yq(call: ProgramCall, text: str) -> None:
    """Operators that read files and the environment, or run programs."""
    if re.search(r"\b(?:str)?env(?:subst)?\b|\$ENV", text):
        call.own += effects_for_keyword("read-secret", "yq env", call.rule)
    for path in re.findall(r'(?<![\w.$])load\w*(?:\s*\(\s*"([^"\\]+)"\s*\))?', text):
        if path:
            call.own += files.read(Arg(path), call.machine, call.scope)
        else:
            call.own += effects_for_keyword("read-secret", "yq load", call.rule)
            call.add_opaque("the yq program reads a file whose name is only known when it runs")
    if re.search(r"\bsystem\b", text):
        call.add_opaque("the yq program runs another program")
    if text.strip().endswith(".yq"):
        call.add_opaque("yq takes its program from a file of this name")


# ---------------------------------------------------------------- patches

_PATCHED = lazy_re(r"(?m)^(?:---|\+\+\+|\*\*\*|Index:|rename (?:from|to)|copy to|diff --git)[ \t]+(.*)$")


def _patch(call: ProgramCall, text: str) -> None:
    """A patch writes the files that it names, less some leading folders."""
    names = [name for line in _PATCHED.findall(text) for name in line.split("\t")[0].split(" ")]
    if not names or '"' in "".join(names):
        call.add_opaque("this patch does not say plainly which files it writes")
    for name in dict.fromkeys(names[:200]):
        parts = name.split("/")
        for start in range(min(len(parts), 3)):
            call.own += files.write(Arg("/".join(parts[start:])), call.machine, call.scope)
    if len(names) > 200:
        call.add_opaque("this patch writes too many files")


LANGUAGES: dict[str, Callable[[ProgramCall, str], Running[None] | None]] = {
    "python": _python,
    "sed": _sed,
    "awk": _awk,
    "jq": _jq,
    "yq": _yq,
    "patch": _patch,
    "perl": _perl,
    "javascript": _javascript,
    "sqlite": _sql("sqlite"),
    "psql": _sql("psql"),
    "mysql": _sql("mysql"),
    "sql": _opaque("sql"),
    "mongo": _opaque("mongo"),
}
