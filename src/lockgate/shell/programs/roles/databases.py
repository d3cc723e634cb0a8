"""Applies roles of words that say which database a program talks to."""

from __future__ import annotations

import re

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.effects.database_hosts import SOCKET, UNCLEAR, hosts_of, keyword_hosts
from lockgate.shell.programs.roles.files import edit, read
from lockgate.shell.state.abstract_text import ENVIRONMENT, OPAQUE, is_known
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall, Role

_FILES = frozenset({"sqlite", "sqlite3", "file", "duckdb"})
_SOCKETS = frozenset({"unix", "redis+socket", "mysqlx+socket"})
_SEVERAL = re.compile(r",(?=[A-Za-z][A-Za-z0-9+.-]*://)")
"""Between addresses of one cluster, each with its scheme."""
_SERVER = re.compile(r"^tcp:(?!//)|,\d{1,5}$")
"""What Microsoft's clients write around a host: ``tcp:host,1433``."""
_SQLITE_ADDRESS = re.compile(r"file:(?://[^/?#]*)?(?P<path>[^?#]*).*", re.DOTALL)
_CLIENTS = frozenset({"sqlite3"})
"""Programs whose operands behind the database are SQL, and which have no commands but those of ``sqlite3``."""
_SCRIPTS = (".js", ".mjs", ".mongodb", ".sql", ".db")


def apply_dsn(call: ProgramCall, words: list[Arg], _: str) -> None:
    """The name of a database, its address (``postgres://host/name``) or libpq's ``host=... dbname=...``."""
    parts = [Arg(part, word.glob) for word in words for part in _SEVERAL.split(word.text)]
    for word in parts:
        text = _SERVER.sub("", word.text)
        scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):(?=//|[^\\\d]|$)", text)
        plain = scheme.group(1).lower() if scheme is not None else ""
        if text[:1] in (OPAQUE, ENVIRONMENT):
            call.contact.targets.append(("url", word))
        elif plain.split("+")[0] in _FILES:
            edit(call, [Arg(re.sub(r"^/{2}(?:localhost)?/?", "", text[len(plain) + 1 :]), word.glob)], "")
            apply_sqlite(call, [Arg(f"file:{text[len(plain) + 1 :]}", word.glob)], "")
        elif plain and plain not in _SOCKETS:
            _connect(call, word, hosts_of(plain, text[len(plain) + 1 :]))
        elif not plain and "=" in text:
            _connect(call, word, keyword_hosts(text))
        elif re.search(r"[@/.]|:\d", text) and not text.startswith(("/", ".", "~")) and not text.endswith(_SCRIPTS):
            # `mongosh host/name`, `mysqlsh user@host:3306`
            _connect(call, word, hosts_of("", f"//{text}"))


def apply_sqlite(call: ProgramCall, words: list[Arg], _: str) -> None:
    """A SQLite database: its file, or a ``file:`` address of it (https://sqlite.org/uri.html)."""
    opened = read if _is_read_only(call) else edit
    for word in words:
        address = _SQLITE_ADDRESS.fullmatch(word.text)
        if address is None:
            opened(call, [word], "")
            continue
        from urllib.parse import unquote

        # A zero byte ends the name; what follows it is passed over.
        opened(call, [Arg(unquote(address.group("path")).partition("\0")[0], word.glob)], "")


def _is_read_only(call: ProgramCall) -> bool:
    """Whether a client of SQLite is told to write nothing, or all that it is given only reads."""
    from lockgate.shell.inline.sql import reads_only

    if "-readonly" in call.matched.given and not call.matched.unknown:
        return True
    texts = [word.text for word in call.matched.operands[1:]]
    texts = texts or ([call.stdin] if call.entry.stdin and call.stdin is not None else [])
    first = [value.text for option in call.matched.options if option.role == "first-sqlite" for value in option.value]
    takes = call.entry.name in _CLIENTS and not call.matched.unknown and "-init" not in call.matched.given
    return takes and bool(texts) and all(is_known(text) and reads_only(call, text) for text in (*first, *texts))


def _connect(call: ProgramCall, word: Arg, hosts: list[str]) -> None:
    for host in hosts:
        if host == UNCLEAR:
            call.contact.targets.append(("url", Arg(f"database://{word.text}")))
        elif host != SOCKET:
            call.contact.targets.append(("host", Arg(host)))


FUNCTIONS: dict[str, Role] = {
    "dsn": apply_dsn,
    "sqlite": apply_sqlite,
}
"""The function that applies each role."""
