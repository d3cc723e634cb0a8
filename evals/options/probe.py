"""Tries whether the value of an option that an entry calls harmless is opened, connected to or started after all.

Usage: ``python evals/options/probe.py [--options="--x= -y="] [--operands "a.txt"] COMMAND...``, a command being a
program and its subcommand in quotes. Without `--options` every option of the role `local` that takes a value is tried.
`README.md` says what that proves and what it does not.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from boxed import SECONDS, box, variables
from listed import entry
from packages import place

from lockgate.shell.knowledge.lookup import OPTIONAL, TWO, VALUE

_TOKEN = "kanarie7"
_ADDRESS = "203.0.113.7"
_FILE, _NEW, _FOLDER, _PROGRAM = (
    f"/tmp/project/{_TOKEN}.txt",
    f"/tmp/project/{_TOKEN}-new",
    f"/tmp/project/{_TOKEN}.d",
    f"/tmp/project/{_TOKEN}-run",
)
VALUES = (
    _FILE, _NEW, _FOLDER, _PROGRAM, f"@{_FILE}", f"|{_PROGRAM}", f"!{_PROGRAM}", f"x={_FILE}", f"file:{_FILE}",
    f"../project/{_TOKEN}.txt",
    f"http://{_ADDRESS}:4097/x", f"{_ADDRESS}:4097", f"{_TOKEN}.invalid", f"$({_PROGRAM})", f"`{_PROGRAM}`",
)  # fmt: skip
_CALLS = "open,openat,openat2,creat,execve,execveat,connect,sendto,sendmsg,sendmmsg,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,symlink,symlinkat,link,linkat,chmod,fchmodat,chown,fchownat,truncate,chdir,mount"  # noqa: E501
_SETUP = f"""
cp -r /tmp/template/. /tmp/project && cd /tmp/project || exit 99
exec strace -f -s 300 -e signal=none -e trace={_CALLS} -o /tmp/out/trace -- "$@"
"""


class Failure(NamedTuple):
    """An option whose value does something."""

    command: str
    option: str
    value: str
    call: str


def probe(
    command: tuple[str, ...], options: list[tuple[str, int]], operands: list[str]
) -> tuple[list[Failure], list[str]]:
    """The options that fail, and those that the program did not take with any value: of these nothing is known."""
    where = place(command[0])
    if where is None:
        raise SystemExit(f"{command[0]} is not here, and packages.tsv does not name it")
    failures, refused = [], []
    with tempfile.TemporaryDirectory(prefix="probe-") as folder:
        template = _template(Path(folder))
        # A program that walks through the folder meets the canaries without any option.
        alone = [where.name or command[0], *command[1:], *operands]
        usual = {_call(line) for line in _traced(alone, template, where.path, where.libraries)[0]}
        for name, words in options:
            taken = False
            for value in VALUES:
                spelled = (
                    [f"{name}={value}" if name.startswith("--") else f"{name}{value}"]
                    if words == OPTIONAL
                    else [name, value]
                )
                spelled += ["x"] if words == TWO else []
                full = [where.name or command[0], *command[1:], *spelled, *operands]
                calls, status = _traced(full, template, where.path, where.libraries)
                taken = taken or status == 0
                if calls := [line for line in calls if _call(line) not in usual]:
                    failures.append(Failure(" ".join(command), name, value, calls[0]))
                    break
            if not taken and not any(one.option == name for one in failures):
                refused.append(name)
    return failures, refused


def _traced(
    command: list[str], template: Path, path: tuple[Path, ...], libraries: tuple[Path, ...]
) -> tuple[list[str], int]:
    with tempfile.TemporaryDirectory(prefix="probe-out-") as out:
        words = [*box([template], {Path(out): "/tmp/out"}), "--ro-bind", str(template), "/tmp/template"]
        words += ["--ro-bind", str(template / ".resolv"), str(Path("/etc/resolv.conf").resolve())]
        try:
            done = subprocess.run(
                [*words, "--", "sh", "-c", _SETUP, "sh", *command], stdin=subprocess.DEVNULL, capture_output=True,
                timeout=SECONDS, check=False, env=variables(path, libraries),
            )  # fmt: skip
            status = done.returncode
        except subprocess.TimeoutExpired:
            status = -1
        trace = Path(out, "trace")
        text = trace.read_text("utf-8", "replace") if trace.exists() else ""
    lines = text.splitlines()
    return [line[:200] for line in lines if _does(line)], status


def _call(line: str) -> str:
    """A traced call without its process and its result."""
    return line.lstrip("0123456789 ").rpartition(" = ")[0]


def _does(line: str) -> bool:
    """Whether a traced call is about the value: not one that only hands it to a process as a word."""
    call = re.match(r"(?:\d+ +)?(\w+)\((.*)", line)
    if call is None:
        return False
    what = call.group(2)
    if call.group(1).startswith("execve"):
        what = what.partition("[")[0]
    return _TOKEN in what or _ADDRESS in what


def _template(folder: Path) -> Path:
    """A small project, in which the canaries lie."""
    (folder / f"{_TOKEN}.d").mkdir()
    (folder / f"{_TOKEN}.d" / "inside").write_text("x\n")
    for name in (f"{_TOKEN}.txt", "a.txt", "b.txt"):
        (folder / name).write_text("1 one\n2 two\n3 three\n")
    (folder / "a.json").write_text('{"a": [1, 2]}\n')
    (folder / "a.py").write_text("x = 1\n")
    (folder / f"{_TOKEN}-run").write_text("#!/bin/sh\nexit 0\n")
    (folder / f"{_TOKEN}-run").chmod(0o755)
    (folder / ".resolv").write_text("nameserver 127.0.0.1\n")
    _git(folder, "init", "-q")
    _git(folder, "add", "a.txt", "a.py")
    _git(folder, "-c", "user.name=x", "-c", "user.email=x@x.example", "commit", "-q", "-m", "one")
    return folder


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, env={**variables(), "HOME": str(folder)})


def harmless(command: tuple[str, ...], asked: str) -> Iterator[tuple[str, int]]:
    """The options to try: those that are asked for (``-y=~ --x=``), or all harmless ones of the entry with a value."""
    if asked:
        for word in asked.split():
            name = word.rstrip("=~")
            yield name, {"=": VALUE, "=~": OPTIONAL, "==": TWO}.get(word[len(name) :], VALUE)
        return
    below = entry(command)
    for name, (role, words) in below.options.items() if below else ():
        if role in ("local", "composed") and words in (VALUE, OPTIONAL, TWO):
            yield name, words


def main(argv: list[str] | None = None) -> int:
    """Probe, print what fails; the exit status is 1 where something does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="+", metavar="COMMAND")
    parser.add_argument("--options", default="", help="try these instead: -y= --x=~")
    parser.add_argument("--operands", default="a.txt", help="what stands behind the option")
    asked = parser.parse_args(argv)
    failed = False
    with ThreadPoolExecutor(2) as pool:
        commands = [tuple(shlex.split(command)) for command in asked.commands]
        tried = pool.map(
            lambda one: probe(one, list(harmless(one, asked.options)), shlex.split(asked.operands)), commands
        )
        for command, (failures, refused) in zip(commands, tried, strict=True):
            failed = failed or bool(failures)
            for one in failures:
                print(f"{one.command} {one.option} {one.value}: {one.call}")
            if refused:
                print(f"{' '.join(command)}: never taken, so nothing is known: {' '.join(refused)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
