"""Codex's trust in hooks: it silently skips hooks that a person has not reviewed.

What is trusted is a digest of the hook's entry, in the person's ``config.toml``. Codex itself says which digest an
entry has (``codex app-server``, method ``hooks/list``; seen with 0.169.0): nothing here computes one.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lockgate.clients.common.folders import client_folder
from lockgate.clients.common.hook_command import is_own_command
from lockgate.clients.install.claude import put_file
from lockgate.core.errors import InstallError

_SECONDS = 20.0


class CodexHook(NamedTuple):
    """One of the gate's hooks, as Codex sees it."""

    key: str
    digest: str
    trusted: bool
    file: str


def hooks(project: str, home: str) -> list[CodexHook]:
    """The gate's hooks that Codex finds for a project.

    Raises:
        InstallError: There is no Codex, or it does not answer.
    """
    program = shutil.which("codex")
    if program is None:
        again = "when it is, run: lockgate install codex --trust"
        raise InstallError(f"codex is not in PATH, so its trust in the hooks is not known; {again}")
    listed = _list_hooks(program, project, home)
    found = [entry for group in listed.get("data", ()) for entry in group.get("hooks", ())]
    return [
        CodexHook(str(entry["key"]), str(entry["currentHash"]), entry.get("trustStatus") == "trusted", _file(entry))
        for entry in found
        if is_own_command(entry.get("command"))
    ]


def _file(entry: Mapping[str, Any]) -> str:
    return str(entry.get("sourcePath") or str(entry["key"]).rsplit(":", 3)[0])


def trust(file: str, project: str, home: str) -> int:
    """Trust the gate's hooks that stand in a file. Returns how many there are.

    Raises:
        InstallError: Codex does not answer, or finds no hook of the gate there.
    """
    ours = [hook for hook in hooks(project, home) if os.path.realpath(hook.file) == os.path.realpath(file)]
    if not ours:
        raise InstallError(f"Codex finds no hook of Lockgate in {file}")
    config = os.path.join(_codex_home(home), "config.toml")
    try:
        before = Path(config).read_text("utf-8")
    except FileNotFoundError:
        before = ""
    text = before
    for hook in ours:
        text = _with_digest(text, hook)
    if text != before:
        put_file(os.path.realpath(config), text.encode(), None if before else 0o600)
    return len(ours)


def own_keys(file: str) -> list[str]:
    """The names under which Codex keeps its trust in the gate's hooks of a file: ``FILE:EVENT:GROUP:PLACE``.

    Raises:
        InstallError: The file holds something else than hooks.
    """
    try:
        events = json.loads(Path(file).read_text("utf-8").removeprefix("\ufeff"))["hooks"]
        return [
            f"{file}:{_snake(event)}:{number}:{place}"
            for event, groups in events.items()
            for number, group in enumerate(groups)
            for place, entry in enumerate(group["hooks"])
            if is_own_command(entry.get("command"))
        ]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InstallError(f"the hooks in {file} cannot be read: {type(error).__name__}") from None


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def forget(keys: Iterable[str], home: str) -> int:
    """Take the trust in hooks out of the person's ``config.toml``, and leave the rest as it is. Returns how many.

    Args:
        keys: As :func:`own_keys` gives them.
        home: The home folder.

    Raises:
        InstallError: The file cannot be written.
    """
    config = os.path.realpath(os.path.join(_codex_home(home), "config.toml"))
    try:
        before = Path(config).read_text("utf-8")
    except (OSError, ValueError):
        return 0
    text, count = before, 0
    for key in keys:
        # Only what was added for it: a table in which somebody has written something else stays.
        header = re.escape(f"[hooks.state.{json.dumps(key)}]")
        found = re.search(rf'(?:\A|\n){header}\ntrusted_hash = "[^"\n]*"(?:\n(?=[\n\[]|\Z)|\Z)', text)
        if found is None:
            continue
        head, tail = text[: found.start()], text[found.end() :]
        text = f"{head}\n{tail}" if head and tail and not head.endswith("\n") and tail[0] != "\n" else head + tail
        count += 1
    if text != before and text:
        put_file(config, text.encode(), None)
    elif text != before:
        os.unlink(config)
    return count


def _with_digest(text: str, hook: CodexHook) -> str:
    header = f"[hooks.state.{json.dumps(hook.key)}]"
    line = f"trusted_hash = {json.dumps(hook.digest)}"
    start = text.find(header)
    if start < 0:
        gap = "\n" if text else ""  # one, so that it is known what is to be taken out again
        return f"{text}{gap}{header}\n{line}\n"
    end = text.find("\n[", start)
    table = text[start:] if end < 0 else text[start:end]
    changed, count = re.subn(r"(?m)^trusted_hash\s*=.*$", lambda _: line, table)
    return text.replace(table, changed if count else f"{header}\n{line}{table[len(header) :]}", 1)


def _codex_home(home: str) -> str:
    return client_folder("CODEX_HOME", os.path.join(home, ".codex"), os.environ)


def _list_hooks(program: str, project: str, home: str) -> Mapping[str, Any]:
    process = subprocess.Popen(  # noqa: S603 - the person's own client
        [program, "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",  # not the project: managers of versions take from files there which program is started
        env={**os.environ, "HOME": home},
    )
    try:
        about = {"clientInfo": {"name": "lockgate", "version": "1"}}
        _send(process, {"id": 1, "method": "initialize", "params": about})
        answers = _answers(process)
        next(answer for answer in answers if answer.get("id") == 1)
        _send(process, {"method": "initialized"})
        _send(process, {"id": 2, "method": "hooks/list", "params": {"cwds": [project]}})
        result = next(answer for answer in answers if answer.get("id") == 2).get("result")
    except (OSError, StopIteration):
        raise InstallError("codex does not say which hooks it trusts (codex app-server)") from None
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
    if not isinstance(result, dict):
        raise InstallError("this version of Codex does not say which hooks it trusts")
    return result


def _send(process: subprocess.Popen[bytes], message: Mapping[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def _answers(process: subprocess.Popen[bytes]) -> Iterator[Mapping[str, Any]]:
    assert process.stdout is not None
    descriptor, end, held = process.stdout.fileno(), time.monotonic() + _SECONDS, b""
    while (left := end - time.monotonic()) > 0:
        if not select.select([descriptor], [], [], left)[0]:
            return
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            return
        *lines, held = (held + chunk).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if isinstance(message, dict):
                yield message
