"""Finds the folder in which Codex runs a command. Its hooks do not tell the ``workdir``, but the transcript does.

Current models write calls as cells of JavaScript. A cell is read only as far as it is plain: ``tools.NAME({...})`` with
an object that is written out. Whatever else could call a tool makes the folder unknown, and so does a call whose folder
is put together at run time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from lockgate.clients.common.transcripts import ends_of, parse_json
from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

_RECENT = 512 * 1024
_CELLS = 20
"""Cells that are looked at: one may still run when the next begins."""
_CALL = lazy_re(r"\bexec_command\b\s*(\(\s*\{)?")
_LITERAL = lazy_re(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\$]|\\.)*`")
_OTHER_WAYS = lazy_re(
    r"\b(?:eval|Function|constructor|globalThis|Reflect|Proxy|import|this|with)\b|\btools\b(?!\s*\.\s*\w+\s*\()|[\\/`]"
)
"""What could call a tool, or name one, unseen. A slash may begin a pattern, in which quotes mean nothing."""
_KEY = lazy_re(r"\s*(?:([A-Za-z_$][\w$]*)|(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'))\s*(:|(?=[,}]))\s*")
_TEXT = lazy_re(r"(\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\$]|\\.)*`)\s*(?=[,}])")
_ESCAPE = lazy_re(r"\\(.)", 16)  # re.DOTALL
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "`": "`", "/": "/", "\n": ""}
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "\"'`"


class Start(Record):
    """One call of the shell in a cell. ``None`` stands for values that are only known at run time."""

    command: str | None
    folder: str | None
    """Empty where the call names none."""


def find_working_folder(transcript: str, call_id: str, command: str, cwd: str, *, ran: bool = False) -> str:
    """The folder in which a command of the shell runs, empty where that is not known.

    Args:
        transcript: The session's transcript.
        call_id: The call's id.
        command: The command.
        cwd: The session's folder, in which a call runs that names none.
        ran: Whether it has run: then it may be what the gate has made of the one that the cell holds.
    """
    cells: list[str] = []
    for body in _read_calls(transcript):
        if body.get("call_id") == call_id and body.get("type") == "function_call":
            arguments = parse_json(str(body.get("arguments", "")).encode())
            folder = arguments.get("workdir") if isinstance(arguments, dict) else None
            return _join(cwd, folder or "") if folder is None or isinstance(folder, str) else ""
        if body.get("type") == "custom_tool_call" and isinstance(body.get("input"), str):
            cells = [*cells[-_CELLS + 1 :], body["input"]]
    folders = {start.folder for start in _find_in_cells(cells) if start.command in (None, command)}
    if not folders and ran:
        from lockgate.containment.rewriting import ends_with

        folders = {
            start.folder for start in _find_in_cells(cells) if start.command and ends_with(command, start.command)
        }
    if len(folders) != 1:
        return ""
    (folder,) = folders
    return "" if folder is None else _join(cwd, folder)


def _read_calls(transcript: str) -> Iterable[dict[str, Any]]:
    for line in ends_of(transcript, _RECENT, only_end=True):
        record = parse_json(line) if b"tool_call" in line or b"function_call" in line else None
        body = record.get("payload") if isinstance(record, dict) else None
        if isinstance(body, dict):
            yield body


def _join(cwd: str, folder: str) -> str:
    return os.path.normpath(os.path.join(cwd, folder))


def _find_in_cells(cells: Iterable[str]) -> Iterable[Start]:
    for cell in cells:
        yield from find_shell_calls(cell)


def find_shell_calls(cell: str) -> list[Start]:
    """The calls of the shell in a cell; one of which nothing is known stands for all that cannot be seen."""
    if _OTHER_WAYS.search(_LITERAL.sub('""', cell)):
        return [Start(None, None)]
    return [_read_shell_call(cell, match.end()) if match[1] else Start(None, None) for match in _CALL.finditer(cell)]


def _read_shell_call(cell: str, at: int) -> Start:
    """Read an object that is written out, from behind its brace."""
    command: str | None = None
    folder: str | None = ""
    while True:
        while cell[at : at + 1].isspace() or cell[at : at + 1] == ",":
            at += 1
        if cell[at : at + 1] == "}":
            return Start(command, folder)
        key = _KEY.match(cell, at)
        if key is None:  # spread, computed key, method, comment
            return Start(None, None)
        name = key[1] or _text(key[2])
        at = key.end()
        said = _TEXT.match(cell, at) if key[3] else None
        value = _text(said[1]) if said else None
        at = said.end() if said else _end_of_value(cell, at)
        if name == "cmd":
            command = value
        elif name == "workdir":
            folder = value
        elif name is None or at < 0:
            return Start(None, None)
        if at < 0:
            return Start(None, None)


def _text(literal: str) -> str | None:
    if literal.startswith('"'):
        try:
            return str(json.loads(literal))
        except ValueError:
            return None
    inner = literal[1:-1]
    if any(match[1] not in _PLAIN_ESCAPES for match in _ESCAPE.finditer(inner)):
        return None
    return _ESCAPE.sub(lambda match: _PLAIN_ESCAPES[match[1]], inner)


def _end_of_value(cell: str, at: int) -> int:
    """Where a value ends that is put together at run time: at the comma or brace behind it; -1 where none is found."""
    depth = 0
    while at < len(cell):
        character = cell[at]
        if character in _QUOTES:
            end = at + 1
            while end < len(cell) and cell[end] != character:
                end += 2 if cell[end] == "\\" else 1
            at = end
        elif character in _OPENING:
            depth += 1
        elif depth == 0 and character in ",}":
            return at
        elif character in _CLOSING:
            depth -= 1
        at += 1
    return -1
