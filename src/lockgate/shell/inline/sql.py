"""Reads SQL on the command line, with what the clients psql, mysql and sqlite3 add to it.

An own tokenizer of a strict part of SQL: a text that holds anything which the servers, their versions or their
settings read in different ways is not read at all. What runs programs or reaches files are mostly commands of the
clients, which parsers of SQL do not know.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.inline.data import language

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.shell.knowledge.call import ProgramCall

_LONGEST = 20_000
_COMMON = r"""
    (?P<space>\s+|--(?:[ \t][^\n]*|(?=\n|$)))
    |(?P<text>'(?:[^'\\]|'')*')
    |(?P<quoted>"(?:[^"\\]|"")*")
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)
    |(?P<word>[^\W\d]\w*)
    |(?P<mark>[(),.;*=<>!+%|&~^?]|-(?!-)|/(?!\*)"""
_TOKENS = {
    "sqlite": lazy_re(_COMMON.replace("[^'\\\\]|''", "[^']|''") + r"|`[^`]*`)", 64),
    "psql": lazy_re(_COMMON + r"|::|[\[\]])", 64),
    "mysql": lazy_re(_COMMON + r"|`[^`\\]*`|@@?\w+|\\[gG](?=\s*(?:;|$)))", 64),
}
_COMMANDS = {
    "sqlite": lazy_re(r"(?m)^\.(?P<name>\w*)(?P<rest>[^\n]*)$"),
    "psql": lazy_re(r"(?m)\\(?P<name>[\w+?!.]*)(?P<rest>[^\n]*)$"),
}
_PLAIN = lazy_re(r"[\w .*+%,=-]*+;?[ ]*")
_ENDS = lazy_re(r"(?im)^[ \t]*+(?:go|/)[ \t]*+;?[ \t]*+$")
"""Lines that end a statement as a semicolon does, for ``sqlite3``."""
_DESCRIBES = lazy_re(r"d[A-Za-z]*\+?")
_OPENS_DATABASE = lazy_re(r" +\w+ *")
_NAMING = frozenset({"INTO", "TABLE", "EXISTS", "REFERENCES", "WITH", "RECURSIVE", "KEY", "INDEX"})
"""Words after which a name and a parenthesis are a table and its columns."""
_INSERTING = frozenset({"OR", "IGNORE", "REPLACE", "ABORT", "FAIL", "ROLLBACK", "LOW_PRIORITY", "DELAYED"})
_ENGINES = frozenset({"INNODB", "MYISAM", "MEMORY", "ARIA"})
_NOT_READ = "this SQL is not read exactly"


def reader(client: str) -> Callable[[ProgramCall, str], None]:
    """The reader of what a client gets: ``sqlite``, ``psql`` or ``mysql``."""

    def read(call: ProgramCall, text: str) -> None:
        script = _Script(call, client)
        problem = script.problem(text)
        if problem:
            call.add_opaque(problem)
        # A database of SQLite is a file like any other.
        if client != "sqlite" and not (script.undone and not problem):
            from lockgate.shell.inline.sql_losses import loses

            if loses(text):
                call.add("destroy")

    return read


def reads_only(call: ProgramCall, text: str) -> bool:
    """Whether a text for ``sqlite3`` is read exactly, and only reads the database that is open."""
    script = _Script(call, "sqlite")
    return not script.problem(text) and script.reads


class _Script:
    def __init__(self, call: ProgramCall, client: str) -> None:
        self.call, self.client = call, client
        known = language("sql")
        self.words = {name: frozenset(words.upper().split()) for name, words in known.items()}
        self.commands = frozenset(known.get(f"{client}_commands", "").split())
        self.reads = True
        """Whether no statement that was looked at writes anything."""
        self.undone = False
        """Whether all of it happens in one transaction that is rolled back at the end."""

    def problem(self, text: str) -> str:
        """Why a text may reach outside the database, or an empty text."""
        if len(text) > _LONGEST or self._reads_otherwise():
            return _NOT_READ
        if self.client == "mysql" and any(
            line.split()[0].strip(";").upper() in self.words["mysql_own"] for line in text.splitlines() if line.split()
        ):
            return "a command of the client can run programs and write files"
        plain, problem = self._without_commands(text)
        tokens = None if problem else self._tokens(plain)
        if tokens is None:
            return problem or _NOT_READ
        # MySQL ends a transaction before it drops or truncates a table.
        self.undone = self.client == "psql" and plain == text and _is_rolled_back(tokens)
        statement: list[tuple[str, str]] = []
        for kind, token in [*tokens, ("mark", ";")]:
            if token not in (";", "\\G", "\\g"):
                statement.append((kind, token))
            elif statement:
                if problem := self._statement(statement):
                    return problem
                statement = []
        return ""

    def _reads_otherwise(self) -> bool:
        """Whether an option changes how the client reads: where a statement ends, or which variables it fills in."""
        changing = language("sql").get(f"{self.client}_changing", "").split()
        given = [option for option in self.call.matched.options if option.name in changing]
        names = tuple(name for name in changing if name.startswith("--"))
        return any(not (option.value and option.value[0].text.startswith("ON_ERROR_STOP=")) for option in given) or any(
            arg.text.startswith(names) for arg in self.call.matched.unknown if names
        )

    def _without_commands(self, text: str) -> tuple[str, str]:
        """The text without the client's own commands, and what is wrong with one of these."""
        pattern = _COMMANDS.get(self.client)
        for match in pattern.finditer(text) if pattern else ():
            name, rest = match.group("name"), match.group("rest")
            listed = name in self.commands or (self.client == "psql" and self._describes(name, rest))
            if not listed or not _PLAIN.fullmatch(rest):
                return (
                    "",
                    f"the client's command `{name}` is not known to stay inside the database",
                )
        text = pattern.sub(";", text) if pattern else text
        return (_ENDS.sub(";", text) if self.client == "sqlite" else text), ""

    def _describes(self, name: str, rest: str) -> bool:
        if name in ("gx", "g"):
            return not rest.strip()
        return bool(_DESCRIBES.fullmatch(name)) or (name == "c" and bool(_OPENS_DATABASE.fullmatch(rest)))

    def _tokens(self, text: str) -> list[tuple[str, str]] | None:
        pattern, at, found = _TOKENS[self.client], 0, []
        while at < len(text):
            match = pattern.match(text, at)
            if match is None:
                return None
            at = match.end()
            if match.lastgroup != "space":
                found.append((match.lastgroup or "", match.group()))
        return found

    # ------------------------------------------------------------ one statement

    def _statement(self, tokens: list[tuple[str, str]]) -> str:
        upper = [token.upper() if kind == "word" else token for kind, token in tokens]
        start = next((index for index, word in enumerate(upper) if word != "("), 0)
        first = upper[start]
        if first not in self.words["statements"]:
            return f"the statement `{first}` is not known to stay inside the database"
        self.reads = self.reads and (first in self.words["reading"] or self._asks(first, upper[start + 1 :]))
        names = {token.strip('"`').upper() for _, token in tokens}
        if hidden := sorted(names & self.words["forbidden"]):
            return f"`{hidden[0].lower()}` reaches outside the database"
        if first in ("CREATE", "ALTER", "DROP") and (problem := self._changes(first, upper[start + 1 :])):
            return problem
        if first == "PRAGMA":
            known = self._pragma(upper[start + 1 :]) in self.words["pragmas"]
            return "" if known else "this setting of SQLite is not known to be harmless"
        if any(word == "ENGINE" and not _ENGINES & set(upper[i + 1 : i + 3]) for i, word in enumerate(upper)):
            return "this table is kept by another engine, which may be elsewhere"
        if first in ("INSERT", "REPLACE", "UPDATE", "DELETE", "MERGE") and any(n.startswith("PG_") for n in names):
            return "this changes the server's own tables"
        if any(word == "INTO" and not _inserts(upper[:index]) for index, word in enumerate(upper)):
            return "what is selected goes into a file or a table"
        return self._find_called(tokens, upper)

    def _changes(self, first: str, rest: list[str]) -> str:
        """What is wrong with making, changing or dropping something."""
        kind = next((word for word in rest if word not in self.words["adjectives"]), "")
        if kind in self.words["containers"] and first != "ALTER":
            return "" if _copies_none(rest) else "the new database is a copy of another one"
        return "" if kind in self.words["objects"] else f"`{first} {kind}` can make code that the server runs"

    def _asks(self, first: str, rest: list[str]) -> bool:
        """Whether a setting of SQLite is asked for and not set, or a query begins with tables of its own."""
        if first == "WITH":
            return self.words["writing"].isdisjoint(rest)
        return first == "PRAGMA" and (
            ("=" not in rest and "(" not in rest) or self._pragma(rest) in self.words["asking"]
        )

    def _pragma(self, rest: list[str]) -> str:
        return next((rest[i] for i in range(len(rest)) if rest[i + 1 : i + 2] != ["."] and rest[i] != "."), "")

    def _find_called(self, tokens: list[tuple[str, str]], upper: list[str]) -> str:
        """The first function that is called and not listed."""
        creates = "CREATE" in upper[:1]
        for index, (kind, token) in enumerate(tokens[:-1]):
            if tokens[index + 1][1] != "(" or not (kind in ("word", "quoted") or token.startswith("`")):
                continue
            before = index - 1
            while before > 0 and upper[before] == ".":
                before -= 2
            previous = upper[before] if before >= 0 else ""
            if previous in _NAMING or (creates and previous == "ON"):
                continue
            plain = kind == "word" and upper[index - 1 : index] != ["."]
            if not (plain and (upper[index] in self.words["keywords"] or upper[index] in self.words["functions"])):
                return f"nothing is known about the function `{token}`"
        return ""


def _is_rolled_back(tokens: list[tuple[str, str]]) -> bool:
    """Whether a transaction begins with the first statement and ends, undone, with the last one."""
    words = [token.upper() for _, token in tokens]
    begins = [words[at] for at in range(len(words)) if (at == 0 or words[at - 1] == ";") and words[at] != ";"]
    opens = begins[:1] == ["BEGIN"] or words[:2] == ["START", "TRANSACTION"]
    return opens and begins[-1] == "ROLLBACK" and not {"COMMIT", "END", "ROLLBACK"}.intersection(begins[1:-1])


def _copies_none(rest: list[str]) -> bool:
    """Whether a new database is made from none that anybody keeps something in."""
    if "TEMPLATE" not in rest:
        return True
    behind = [word.strip('"').upper() for word in rest[rest.index("TEMPLATE") + 1 :] if word != "="]
    return behind[:1] in (["TEMPLATE0"], ["TEMPLATE1"])


def _inserts(before: list[str]) -> bool:
    """Whether the words before INTO say that rows are inserted."""
    if before[-1:] == ["REPLACE"]:
        return True
    while before and before[-1] in _INSERTING:
        before = before[:-1]
    return before[-1:] in (["INSERT"], ["MERGE"])
