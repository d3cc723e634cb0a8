"""Where texts come from: files, folders (but what ``.gitignore`` names), and the lines that a git diff adds."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pathspec

from lockgate.errors import LockgateError
from lockgate.record import Record

MOST_BYTES = 10 * 1024 * 1024
"""Larger files are passed over, and named."""
_BINARY_LOOK = 8192
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_GIT_SECONDS = 60


class ScanError(LockgateError):
    """What was to be scanned cannot be read."""


class Source(Record):
    """One text to look at."""

    name: str
    """A path as it was given, or ``<stdin>``. Untrusted text."""
    text: str
    lines: Sequence[int] = ()
    """For lines of a diff: the number of each in the new file. Empty where the text is the whole file."""


class Skipped(Record):
    """A file that was passed over."""

    name: str
    because: str
    failed: bool
    """Whether it could not be read; else it is binary or too large."""


# ---------------------------------------------------------------- files
def files_below(paths: Iterable[str], *, honour_ignore: bool = True) -> Iterator[str]:
    """The files that are meant by paths. A path that is named itself is meant whatever ``.gitignore`` says.

    Symbolic links are followed where they are named, and not within folders.

    Raises:
        ScanError: A path is not there.
    """
    for path in paths:
        if os.path.isdir(path):
            yield from _walk(path, _ignored_above(path) if honour_ignore else [], honour_ignore)
        elif os.path.exists(path):
            yield path
        else:
            raise ScanError(f"{path} is not there")


_Rules = list[tuple[str, pathspec.GitIgnoreSpec]]


def _walk(folder: str, rules: _Rules, honour_ignore: bool) -> Iterator[str]:
    """Files of a folder and of those in it, sorted; ``rules`` are those of the folders around it, outermost first."""
    if honour_ignore:
        rules = [*rules, *_rules_of(folder)]
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise ScanError(f"{folder} cannot be read: {error.strerror}") from None
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or _is_ignored(entry.path, is_folder, rules):
            continue
        if is_folder:
            yield from _walk(entry.path, rules, honour_ignore)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path


def _rules_of(folder: str) -> _Rules:
    try:
        text = Path(folder, ".gitignore").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [(os.path.abspath(folder), pathspec.GitIgnoreSpec.from_lines(text.splitlines()))]


def _ignored_above(folder: str) -> _Rules:
    """The rules of the folders around one, up to the repository's root."""
    found: list[_Rules] = []
    here = os.path.abspath(folder)
    while not os.path.lexists(os.path.join(here, ".git")):
        parent = os.path.dirname(here)
        if parent == here:
            return []  # no repository: nothing above has a say
        here = parent
        found.insert(0, _rules_of(here))
    return [rule for rules in found for rule in rules]


def _is_ignored(path: str, is_folder: bool, rules: _Rules) -> bool:
    """Whether the last rule that speaks of a path ignores it."""
    whole = os.path.abspath(path) + ("/" if is_folder else "")
    for base, spec in reversed(rules):
        said = spec.check_file(os.path.relpath(whole, base) + ("/" if is_folder else "")).include
        if said is not None:
            return said
    return False


def read_file(path: str, most: int = MOST_BYTES) -> Source | Skipped:
    """A file's text. Bytes that are no UTF-8 are kept as lone surrogates, so that offsets stay true."""
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer that never comes.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return Skipped(path, "no regular file", failed=False)
            data = file.read(most + 1)
    except OSError as error:
        return Skipped(path, (error.strerror or "it cannot be read").lower(), failed=True)
    if len(data) > most:
        return Skipped(path, f"larger than {most} bytes", failed=False)
    if b"\0" in data[:_BINARY_LOOK]:
        return Skipped(path, "binary", failed=False)
    return Source(path, data.decode("utf-8", "surrogateescape"))


# ---------------------------------------------------------------- git
def added_lines(folder: str, arguments: Sequence[str]) -> list[Source]:
    """The lines that a diff adds, one text for each file.

    Args:
        folder: A folder of the repository.
        arguments: What follows ``git diff``: ``["--cached"]``, ``["main...HEAD"]``.

    Raises:
        ScanError: git is not there, or says that something is wrong.
    """
    # Nothing that a repository's settings name may run: no pager, no external diff, no text conversion, no monitor.
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-C", folder, "--no-pager", "diff"]
    command += ["--no-ext-diff", "--no-textconv", "--no-color", "--unified=0", "--src-prefix=a/", "--dst-prefix=b/"]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program; revisions come from the person
            [*command, *arguments, "--"], capture_output=True, timeout=_GIT_SECONDS, check=False
        )
    except FileNotFoundError:
        raise ScanError("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise ScanError(f"git diff took longer than {_GIT_SECONDS} s") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ScanError(f"git diff failed: {said[0] if said else done.returncode}")
    return list(_parse_diff(done.stdout.decode("utf-8", "surrogateescape")))


def _parse_diff(text: str) -> Iterator[Source]:
    name, number, inside = "", 0, False
    lines: list[str] = []
    numbers: list[int] = []
    for line in text.split("\n"):
        if line.startswith("diff --git ") and (not inside or number >= 0):
            if lines:
                yield Source(name, "\n".join(lines), tuple(numbers))
            name, lines, numbers, inside = "", [], [], False
        elif not inside and line.startswith("+++ "):
            name = _path_of(line[4:])
        elif match := _HUNK.match(line):
            number, inside = int(match[1]), True
        elif inside and line.startswith("+"):
            lines.append(line[1:])
            numbers.append(number)
            number += 1
    if lines:
        yield Source(name, "\n".join(lines), tuple(numbers))


def _path_of(written: str) -> str:
    """A path in a diff's header: ``b/x``, quoted like a C string where it holds something odd, perhaps with a tab."""
    written = written.rstrip("\t\r")
    if written.startswith('"') and written.endswith('"'):
        raw = written[1:-1].encode("utf-8", "surrogateescape")
        written = raw.decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "surrogateescape")
    return written.removeprefix("b/")
