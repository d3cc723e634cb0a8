"""Tells whether a client's rule about shell commands may apply to a command."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable

_MOST = 4 * 1024 * 1024
OUTSIDE = re.compile(r"(?:^|[^\w.@%+-])/|~|\.\.|\$\{?(?:HOME|OLDPWD)\b")
"""What may be a path outside of the project."""


def stays_inside(command: str, workspace: str) -> bool:
    """Whether a command names nothing outside of the project, as far as its text tells."""
    text = command.replace("/dev/null", "")
    if workspace.startswith("/") and workspace != "/":
        text = text.replace(f"{workspace}/", "")
    return OUTSIDE.search(text) is None


def mentions(rule: str, command: str) -> bool:
    """Whether a rule's first word stands in a command, quoted or not, as a word of its own. In doubt it does.

    A rule that means every command does not: the client finds it in every spelling.

    Args:
        rule: A command, or its beginning before a ``*``; ``:*`` is one, too.
        command: What is about to be spelt differently.
    """
    literal = re.split(r":?[*?]", rule, maxsplit=1)[0].split()
    if not literal:
        return bool(rule.strip("*: "))
    word = re.compile(rf"(?<![\w-]){re.escape(literal[0])}(?![\w-])")
    return any(word.search(text) for text in (command, re.sub(r"[\\'\"]", "", command)))


def may_hold(words: Collection[bytes], process: str, files: Iterable[str]) -> bool:
    """Whether a client's command line or one of its files has one of the words that a rule about the shell has.

    In doubt it does: where the client is not known, and the system does not tell command lines as they were.

    Args:
        words: The words.
        process: The client's process, as :attr:`lockgate.core.events.Context.process` has it.
        files: Files in which rules may stand, whether they are there or not.
    """
    from lockgate.clients.common.transcripts import read_file
    from lockgate.system.process_arguments import command_line

    started = command_line(process)
    if not started.exact and not started.words:
        return True
    texts = (*map(os.fsencode, started.words), *(read_file(file, _MOST) or b"" for file in files))
    return any(word in text for text in texts for word in words)
