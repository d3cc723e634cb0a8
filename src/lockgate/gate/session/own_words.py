"""Recognises results that give no label: a program's own words, and lines that tell no secret."""

from __future__ import annotations

import re

from lockgate.core.model import Analysis, Label, ToolCall
from lockgate.core.version import resource_table

_CLIENT_WORDS = (
    r"(?i:exit code):? -?\d{1,10}",
    r"<(exited|command with id \d{1,6} exited|shellId: \d{1,6} completed) with exit code -?\d{1,10}>",
)
"""What a client adds to the output of a command, in full lines."""
_RECEIPT_BYTES = 4096
"""A longer answer is no receipt: there is room for prose in it, and programs say in less that something was done."""
_FAILED = (
    r"(?i)(remote: +)?\W{0,3}(\w{1,20}: +)?(error|fatal|failed|failure|panic|exception|traceback|forbidden)\b",
    r"(?i).{0,100}\bexit(ed|s)?\b[\w -]{0,20}\b(code|status):? *-?[1-9]",
)
"""How a program's lines begin that report a failure, and what clients say of one that did not end well."""
_DRAWING = re.compile(r"\x1b\[(?:[0-9;]*[mK]|\?25[lh])")
"""Colours, a line that is cleared, the cursor hidden and shown."""
_QUIET_LINES = 2000
_QUIET_LENGTH = 2000
"""Longer results and lines are not looked at: they are not what a tool's own short answer looks like."""
_BELOW = "/**/"
"""Part of an effect's target where a search goes through a folder. Such a search names the file of each line."""
_FILE_OF_LINE = r"(?!.*:\d+:.*:\d+:)[\w./@-]{1,200}:\d{1,7}:"
"""What a search writes before a line: file and line number. With two numbers nobody knows where the name ends."""


def is_receipt(text: str | None, failures: tuple[str, ...]) -> bool:
    """Whether the result of a call that finished is a short receipt, and no line of it reports a failure.

    A failure may have an exit status that nobody sees (``git push; echo done``), and quotes what went wrong.
    """
    if text is None or len(text.encode("utf-8", "replace")) > _RECEIPT_BYTES:
        return False
    patterns = [re.compile(pattern) for pattern in (*_FAILED, *failures)]
    return not any(pattern.match(line.strip()) for pattern in patterns for line in _lines(text))


def says_nothing(text: str | None, quiet: tuple[str, ...]) -> bool:
    """Whether a result gives no label.

    Args:
        text: What was said; ``None`` stands for output that was not seen yet.
        quiet: Patterns of the lines that the program says of itself.
    """
    if text is None:
        return False
    said = [line for line in _lines(text) if line.strip() and not _matches(line, _CLIENT_WORDS)]
    if not said:
        return True
    if not quiet or len(said) > _QUIET_LINES:
        return False
    return all(_matches(line, quiet) for line in said)


def without_quiet_lines(text: str, quiet: tuple[str, ...]) -> str:
    """A result in which each line that a program says of itself is empty."""
    if not quiet or text.count("\n") > _QUIET_LINES:
        return text
    return "\n".join("" if _matches(line, quiet) else line for line in _lines(text))


def plain_lines(call: ToolCall, analysis: Analysis) -> tuple[str, ...]:
    """Patterns of the result's lines that tell no secret, where one kind of place alone makes the call secret.

    Args:
        call: The call. Only a tool that shows the lines of one file is looked at, and one that searches: of a shell
            command nobody knows what else speaks.
        analysis: What it can do.
    """
    giving = [effect for effect in analysis.effects if effect.gives is not None]
    if call.tool not in ("Read", "Grep") or analysis.gives != {Label.SECRET} or analysis.keeps:
        return ()
    rules = {effect.rule for effect in giving}
    rows = (row for row in resource_table("places")["places"] if "plain" in row)
    place = next((row for row in rows if rules == {f"place:{row['name']}"}), None)
    if place is None or call.tool == "Read":
        return tuple(place["plain"]) if place else ()
    if not all(_BELOW in effect.what for effect in giving):
        return ()
    # Each line that a search shows says its file: these are of files of another name, or plain as well.
    return (f"(?!.*(?i:{place['mark']})).*", *(f"{_FILE_OF_LINE}(?:{pattern})" for pattern in place["plain"]))


def _lines(text: str) -> list[str]:
    """The lines that a terminal shows. Other line breaks of Unicode part none: a server could send them."""
    return re.split(r"\r\n|\n|\r", _DRAWING.sub("", text))


def _matches(line: str, patterns: tuple[str, ...]) -> bool:
    # In a name of a hundred letters of some scripts there is room for a whole sentence: so ASCII. Compiled is what is
    # come to: the last patterns are for failures.
    return (
        len(line) <= _QUIET_LENGTH
        and len(line.splitlines()) <= 1
        and any(re.fullmatch(pattern, line, re.ASCII) for pattern in patterns)
    )
