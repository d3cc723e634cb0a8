"""Finds the files that ``AGENTS.md`` includes: Claude Code loads them, and tells no hook.

It does so for the folders around the session's when that begins, and for those around a file that is read. Of
``CLAUDE.md``, with which it does the same, there is an event. Seen with version 2.1.329. What is taken in at the
beginning is told with each prompt: the session itself has begun by then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from lockgate.clients.common.transcripts import read_file
from lockgate.core.events import InstructionsLoaded, PromptSubmitted, ToolFinished

_NAME = "AGENTS.md"
_MOST_BYTES = 256 * 1024
_MOST_FILES = 200
_MOST_FOLDERS = 40
_DEEPEST = 5
"""Includes of includes that the client follows."""


def find_loaded(event: PromptSubmitted | ToolFinished) -> list[InstructionsLoaded]:
    """The files that came in before a prompt is answered, or with a file that was read; some may have come before."""
    workspace = event.context.workspace
    if isinstance(event, PromptSubmitted):
        folders = _folder_and_parents(event.context.cwd, "/")
    else:
        path = event.call.tool_input.get("file_path")
        folder = os.path.dirname(os.path.normpath(path)) if isinstance(path, str) else ""
        folders = _folder_and_parents(folder, workspace) if _is_inside(folder, workspace) else []
    return [InstructionsLoaded(event.context, file, "include") for file in _find_included_below(folders, workspace)]


def _is_inside(path: str, workspace: str) -> bool:
    return f"{path}/".startswith(f"{workspace.rstrip('/')}/")


def _folder_and_parents(folder: str, root: str) -> list[str]:
    """A folder and those around it, up to a root."""
    found = [folder]
    while folder not in (root, os.path.dirname(folder)) and len(found) < _MOST_FOLDERS:
        folder = os.path.dirname(folder)
        found.append(folder)
    return found


def _find_included_below(folders: list[str], workspace: str) -> list[str]:
    """The files of the project that are included, each once. For others the client asks the person first."""
    found: dict[str, None] = {}
    todo = [(file, 0) for folder in folders if os.path.lexists(file := os.path.join(folder, _NAME))]
    while todo:
        file, depth = todo.pop()
        for included in _find_included(file):
            new = included not in found and len(found) < _MOST_FILES and _is_inside(included, workspace)
            if new and os.path.isfile(included):
                found[included] = None
                if depth + 1 < _DEEPEST:
                    todo.append((included, depth + 1))
    return list(found)


def _find_included(file: str) -> Iterator[str]:
    text = read_file(file, _MOST_BYTES) or b""
    if b"@" not in text:
        return
    from lockgate.analysis.prompts.mentions import find_mentions

    for name in find_mentions(text.decode("utf-8", "replace")):
        for spelt in dict.fromkeys((name, name.rstrip(".!?:"))):
            yield os.path.normpath(os.path.join(os.path.dirname(file), spelt))
