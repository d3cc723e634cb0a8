"""Reads public sessions of agents: whole transcripts that people keep in their repositories' Git objects.

Three formats: Claude Code's and Codex's own lines, and OpenCode's export. Nothing of them is kept here: which files
are read stands in ``sessions.tsv``, with their digests. This prints rows for projects that are to be added:

    .venv/bin/python evals/days/transcripts.py --from FOLDER --half HALF [--per-session N] [--per-project N] PROJECT...
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_TRANSCRIPT = re.compile(r"(^|/)full\.jsonl(\.\d+)?$")
_LIST = Path(__file__).resolve().parent / "sessions.tsv"
_PER_SESSION, _PER_PROJECT = 100, 300
"""Most calls of one session and of one project: many authors count for more than long sessions."""
_LEFT_OUT = {"Skill", "mcp__skill"}
"""The text of a skill lies in its author's home folder, and is not to be had."""
_FEWEST = 5
"""A session of fewer calls is left out."""
_OPENCODE = {
    "bash": "Bash",
    "read": "Read",
    "edit": "Edit",
    "write": "Write",
    "grep": "Grep",
    "glob": "Glob",
    "list": "LS",
    "webfetch": "WebFetch",
    "task": "Task",
    "todowrite": "TodoWrite",
    "todoread": "TodoRead",
    "question": "AskUserQuestion",
}
_OPENCODE_INPUT = {"filePath": "file_path", "oldString": "old_string", "newString": "new_string", "include": "glob"}
_TIME = re.compile(rb'"timestamp"\s*:\s*"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)"')
"""When something was said: the first one is when a session began."""
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.M)


class Made(NamedTuple):
    """One call that an agent made."""

    tool: str
    """In Claude Code's vocabulary."""
    given: Mapping[str, Any]
    answer: Any
    """The result as it was recorded; ``None`` where there is none."""

    @property
    def digest(self) -> str:
        """Of tool and input: labels are kept by it."""
        return hashlib.sha256(json.dumps([self.tool, self.given], sort_keys=True).encode()).hexdigest()[:16]


class Session(NamedTuple):
    """One agent's session."""

    project: str
    """``owner/name``."""
    name: str
    cwd: str
    source: tuple[str, str, str]
    """Commit, path and SHA-256 of the file."""
    calls: tuple[Made, ...]
    began: str = ""
    """The first time that the file tells."""


class Listed(NamedTuple):
    """One row of ``sessions.tsv``."""

    project: str
    source: tuple[str, str, str]
    taken: int
    """How many calls: the first ones, without those that are left out."""
    half: str


def listed() -> list[Listed]:
    """Read ``sessions.tsv``."""
    rows = [line.split("\t") for line in _LIST.read_text("utf-8").splitlines() if not line.startswith("#")]
    return [Listed(row[0], (row[1], row[2], row[3]), int(row[4]), row[5]) for row in rows]


def sessions(folder: Path, half: str = "") -> list[Session]:
    """Read the sessions of ``sessions.tsv`` in its order, from a folder of snapshots ``OWNER+NAME/repo``.

    Args:
        folder: It may hold snapshots of other projects, too.
        half: Of the list; all sessions where it is empty.

    Raises:
        LookupError: A file of the list is not there, or is not the one that was read.
    """
    found = []
    for row in listed():
        if half and row.half != half:
            continue
        commit, path, digest = row.source
        data = _git(_snapshot(folder, row.project), "cat-file", "blob", f"{commit}:{path}")
        read = _read(row.project, row.source, data.decode("utf-8", "replace"))
        if read is None or hashlib.sha256(data).hexdigest() != digest:
            raise LookupError(f"{row.project}: {commit}:{path} is not there, or is another file")
        began = _TIME.search(data)
        found.append(read._replace(calls=_kept(read)[: row.taken], began=began[1].decode() if began else ""))
    return found


def chosen(
    folder: Path, projects: Sequence[str], per_session: int = _PER_SESSION, per_project: int = _PER_PROJECT
) -> list[Session]:
    """Choose a bounded number of calls of each project, in an order that nobody sets: by a digest of the names."""
    found = []
    for project in sorted(projects):
        taken = 0
        every = _of_project(project, _snapshot(folder, project))
        for session in sorted(every, key=lambda one: hashlib.sha256(one.name.encode()).digest()):
            calls = _kept(session)[: min(per_session, per_project - taken)]
            if len(calls) >= _FEWEST:
                found.append(session._replace(calls=calls))
                taken += len(calls)
    return found


def _kept(session: Session) -> tuple[Made, ...]:
    return tuple(made for made in session.calls if made.tool not in _LEFT_OUT)


def _snapshot(folder: Path, project: str) -> Path:
    return folder / project.replace("/", "+", 1) / "repo"


def _of_project(project: str, place: Path) -> list[Session]:
    """The longest transcript of each session: checkpoints hold the same session again and again."""
    longest: dict[str, Session] = {}
    for commit, path, blob in _blobs(place):
        data = _git(place, "cat-file", "blob", blob)
        source = commit, path, hashlib.sha256(data).hexdigest()
        read = _read(project, source, data.decode("utf-8", "replace"))
        if not read or not read.cwd.startswith("/"):
            continue
        known = longest.get(read.name)
        if known is None or len(read.calls) > len(known.calls):
            longest[read.name] = read
    return list(longest.values())


def _blobs(place: Path) -> Iterator[tuple[str, str, str]]:
    seen = set()
    for line in _git(place, "for-each-ref", "--format=%(objectname) %(refname)").decode().splitlines():
        commit, _, name = line.partition(" ")
        if "entire/" not in name or name.startswith("refs/pull/"):
            continue
        for entry in _git(place, "ls-tree", "-r", commit).decode("utf-8", "replace").splitlines():
            about, _, path = entry.partition("\t")
            blob = about.split()[2]
            if _TRANSCRIPT.search(path) and blob not in seen:
                seen.add(blob)
                yield commit, path, blob


def _git(place: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(place), *words], check=False, capture_output=True).stdout


# ---------------------------------------------------------------- formats
def _read(project: str, source: tuple[str, str, str], text: str) -> Session | None:
    if text.lstrip()[:1] != "{":
        return None
    if re.match(r'\{\s*"info"', text):
        return _opencode(project, source, text)
    lines = [line for line in map(_parsed, text.splitlines()) if isinstance(line, dict)]
    if any(line.get("type") == "session_meta" for line in lines[:5]):
        return _codex(project, source, lines)
    return _claude(project, source, lines)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _claude(project: str, source: tuple[str, str, str], lines: list[dict[str, Any]]) -> Session | None:
    name, cwd, answers, made = "", "", {}, []
    for line in lines:
        name, cwd = name or str(line.get("sessionId") or ""), cwd or str(line.get("cwd") or "")
        message = line.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use":
                made.append((block.get("id"), block["name"], block.get("input") or {}))
            elif block.get("type") == "tool_result":
                whole = line.get("toolUseResult")
                answers[block["tool_use_id"]] = whole if isinstance(whole, dict) else _text(block.get("content"))
    calls = tuple(Made(tool, given, answers.get(call)) for call, tool, given in made if isinstance(given, dict))
    return Session(project, name, cwd, source, calls) if name and cwd else None


def _codex(project: str, source: tuple[str, str, str], lines: list[dict[str, Any]]) -> Session | None:
    name, cwd, answers, made = "", "", {}, []
    for line in lines:
        body = line.get("payload") or {}
        if line.get("type") == "session_meta":
            name, cwd = name or str(body.get("id", "")), cwd or str(body.get("cwd", ""))
        elif body.get("type") in ("function_call", "custom_tool_call", "local_shell_call"):
            made.append((body.get("call_id"), body))
        elif str(body.get("type", "")).endswith("_output"):
            answers[body.get("call_id")] = _text(body.get("output"))
    calls = [Made(*found, answers.get(call)) for call, body in made for found in _of_codex(body)]
    return Session(project, name, cwd, source, tuple(calls)) if name and cwd else None


def _of_codex(body: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Codex runs nearly everything in a shell, and changes files by patches."""
    name = str(body.get("name", "shell"))
    given = _parsed(str(body.get("arguments", ""))) or {}
    if name == "apply_patch":
        for path in _PATCHED.findall(str(body.get("input", ""))):
            yield "Edit", {"file_path": path, "old_string": "a", "new_string": str(body.get("input"))}
        return
    command = given.get("cmd") or given.get("command") or (body.get("action") or {}).get("command")
    if isinstance(command, list):
        command = command[-1] if command[:1] and command[0] in ("bash", "zsh", "sh") else " ".join(map(str, command))
    if command:
        yield "Bash", {"command": str(command)}
    elif name in ("update_plan", "view_image"):
        yield "TodoWrite", {"todos": []}


def _opencode(project: str, source: tuple[str, str, str], text: str) -> Session | None:
    whole = _parsed(text)
    if not isinstance(whole, dict):
        return None
    info, made = whole.get("info") or {}, []
    for message in whole.get("messages") or ():
        for part in message.get("parts") or ():
            if part.get("type") != "tool":
                continue
            state = part.get("state") or {}
            given = {_OPENCODE_INPUT.get(key, key): value for key, value in (state.get("input") or {}).items()}
            made.append(Made(_OPENCODE.get(part.get("tool"), f"mcp__{part.get('tool')}"), given, state.get("output")))
    return Session(project, str(info.get("id")), str(info.get("directory", "")), source, tuple(made))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return json.dumps(content) if content is not None else ""


def main() -> None:
    """Print the rows of projects that are to be added to the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="folder", type=Path, required=True)
    parser.add_argument("--half", required=True)
    parser.add_argument("--per-session", type=int, default=_PER_SESSION)
    parser.add_argument("--per-project", type=int, default=_PER_PROJECT)
    parser.add_argument("projects", nargs="+", metavar="PROJECT", help="OWNER/NAME")
    given = parser.parse_args()
    for session in chosen(given.folder, given.projects, given.per_session, given.per_project):
        print(session.project, *session.source, len(session.calls), given.half, sep="\t")


if __name__ == "__main__":
    main()
