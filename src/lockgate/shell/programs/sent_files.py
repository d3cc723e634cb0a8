"""Files that a command sends without an option that is listed: ``gh gist create .env``, ``put .env`` for ``sftp``."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.state.abstract_text import OPAQUE

_NAMED = lazy_re(r"(?:--?[\w-]+=)?(?:[\w.\[\]-]+:?=)?(?:@|fileb?://)?(.+)", re.DOTALL)


def sent_files(what: str, words: list[str], stdin: str) -> list[str]:
    """The names that a command may send as files.

    Args:
        what: The command with its subcommands.
        words: What stands behind it, without marks.
        stdin: Its standard input, as far as it is known.
    """
    rows, parts = table("sent_files"), what.split()
    how = next((rows[name] for end in range(len(parts), 0, -1) if (name := " ".join(parts[:end])) in rows), "")
    if not how:
        return []
    if how == "text":
        words = [word for text in (*words, stdin) for word in text.split()]
    found = (_NAMED.fullmatch(word) for word in words if OPAQUE not in word)
    return [match.group(1) for match in found if match is not None]
