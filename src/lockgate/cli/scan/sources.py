"""Reads the texts to scan: files, folders without ignored files, and lines that a git diff adds."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pathspec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from lockgate.core.errors import LockgateError
from lockgate.core.record import Record

MOST_BYTES = 10 * 1024 * 1024
"""Larger files are not looked at, and named."""
_BINARY_LOOK = 8192
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_GIT_SECONDS = 60
_HIGH = {byte: 0xE000 + byte for byte in range(0x80, 0x100)}
_NO_FILTER = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
_NO_FETCHING = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
"""What a repository lacks and says that another one has is fetched by a command that it names. Versions before 2.44 do
not know the first of these; the second is a list of protocols, of which there is none."""


class ScanError(LockgateError):
    """A source of texts cannot be read."""


class ScannedText(Record):
    """A text to scan."""

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
    """Whether it should have been looked at and was not; else it is binary."""


# ---------------------------------------------------------------- files
def files_below(paths: Iterable[str], *, honour_ignore: bool = True) -> Iterator[str | Skipped]:
    """The files that are meant by paths. A path that is named itself is meant whatever ``.gitignore`` says.

    Symbolic links are followed where they are named, and not within folders.
    """
    for path in paths:
        if os.path.isdir(path):
            yield from _walk(path, _rules_above(path) if honour_ignore else [], honour_ignore)
        else:
            yield path


_Rules = list[tuple[str, pathspec.GitIgnoreSpec]]


def _walk(folder: str, rules: _Rules, honour_ignore: bool) -> Iterator[str | Skipped]:
    """Files of a folder and of those in it, sorted; ``rules`` are those of the folders around it, outermost first."""
    if honour_ignore:
        rules = [*rules, *_rules_of(folder)]
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Skipped(folder, _because(error), failed=True)
        return
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or _is_ignored(entry.path, is_folder, rules):
            continue
        if is_folder:
            yield from _walk(entry.path, rules, honour_ignore)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path


def _rules_of(folder: str) -> _Rules:
    file = Path(folder, ".gitignore")
    try:
        data = b"" if file.is_symlink() else file.read_bytes()  # git follows no link here
    except OSError:
        return []
    # Lines end where they end for git: at no other character that Python takes for the end of a line.
    lines = _decode_bytewise(data.removeprefix(BOM_UTF8)).split("\n")
    patterns = [pattern for line in lines for pattern in _patterns(line.removesuffix("\r"))]
    return [(os.path.abspath(folder), pathspec.GitIgnoreSpec(patterns))]


def _decode_bytewise(data: bytes) -> str:
    """A text with one character for each byte, as git compares: ``?`` is one byte. None of them counts as a space."""
    return data.decode("latin-1").translate(_HIGH)


def _patterns(line: str) -> Sequence[GitIgnoreSpecPattern]:
    try:
        return list(pathspec.GitIgnoreSpec.from_lines([line]).patterns)
    except ValueError:
        return ()  # no pattern, such as a lone "!": it matches nothing


def _rules_above(folder: str) -> _Rules:
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
        below = _decode_bytewise(os.fsencode(os.path.relpath(whole, base)))
        said = spec.check_file(below + ("/" if is_folder else "")).include
        if said is not None:
            return said
    return False


def read_file(path: str, most: int = MOST_BYTES) -> ScannedText | Skipped:
    """A file's text: of UTF-16 where a byte order mark says so, else of UTF-8.

    Bytes that are no UTF-8 are kept as lone surrogates, so that offsets stay true.
    """
    name = path.removeprefix("./")
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer that never comes.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return Skipped(name, "no regular file", failed=True)
            data = file.read(most + 1)
    except OSError as error:
        return Skipped(name, _because(error), failed=True)
    wide = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    if not wide and b"\0" in data[:_BINARY_LOOK]:
        return Skipped(name, "binary", failed=False)
    if len(data) > most:
        return Skipped(name, f"larger than {most} bytes", failed=True)
    return ScannedText(name, data.decode("utf-16", "replace") if wide else data.decode("utf-8", "surrogateescape"))


def _because(error: OSError) -> str:
    return (error.strerror or "it cannot be read").lower()


# ---------------------------------------------------------------- git
def read_added_lines(folder: str, arguments: Sequence[str]) -> list[ScannedText | Skipped]:
    """The lines that a diff adds, one text for each file; of the whole repository, whatever its settings are.

    Args:
        folder: A folder of the repository.
        arguments: What follows ``git diff``: ``["--cached"]``, ``["main...HEAD"]``.

    Raises:
        ScanError: git is not there, or says that something is wrong.
    """
    # Nothing that a repository's settings name may run: no pager, no external diff, no text conversion, no monitor, no
    # hook, no filter, no way to another repository; and nothing of the settings of a submodule, for which these do not
    # hold.
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"]
    command += ["-C", folder, "--no-pager", "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"]
    command += ["--src-prefix=a/", "--dst-prefix=b/", "--unified=0", "--inter-hunk-context=0", "--text"]
    command += ["--submodule=short", "--ignore-submodules=dirty"]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program; revisions come from the person
            [*command, *arguments, "--"],
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
            env={**os.environ, **_NO_FETCHING, **_without_filters(folder)},
        )
    except FileNotFoundError:
        raise ScanError("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise ScanError(f"git diff took longer than {_GIT_SECONDS} s") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        if not _is_in_repository(folder):
            raise ScanError("this folder is in no git repository; name files or folders to scan, or run it in one")
        raise ScanError(f"git diff failed: {said[0] if said else done.returncode}")
    return list(_parse_diff(done.stdout.decode("utf-8", "surrogateescape")))


def _without_filters(folder: str) -> dict[str, str]:
    """Variables by which git runs none of the filters that settings name: a diff with files on the disk runs them."""
    asked = ["git", "-C", folder, "config", "--includes", "--null", "--name-only", "--get-regexp", r"^filter\."]
    named = subprocess.run(asked, capture_output=True, timeout=_GIT_SECONDS, check=False).stdout  # noqa: S603
    filters = {name.rpartition(b".")[0].decode("utf-8", "surrogateescape") for name in named.split(b"\0") if name}
    # By variables and not by -c, for a filter's name may hold the sign that ends it there.
    keys = [(f"{each}.{key}", value) for each in sorted(filters) for key, value in _NO_FILTER]
    # Behind those that are there: a person may have said so that the repository is theirs (safe.directory).
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    settings = {"GIT_CONFIG_COUNT": str(first + len(keys))} if keys else {}
    for number, (key, value) in enumerate(keys, first):
        settings |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return settings


def _is_in_repository(folder: str) -> bool:
    asked = ["git", "-C", folder, "rev-parse", "--git-dir"]
    try:
        return subprocess.run(asked, capture_output=True, timeout=_GIT_SECONDS, check=False).returncode == 0  # noqa: S603
    except subprocess.TimeoutExpired:
        return True


def _parse_diff(text: str) -> Iterator[ScannedText | Skipped]:
    name, number, inside = "", 0, False
    lines: list[str] = []
    numbers: list[int] = []
    # Within a hunk each line begins with + or -, so nothing in a file can be taken for the head of another.
    for line in [*text.split("\n"), "diff --git "]:
        if line.startswith("diff --git "):
            if lines:
                yield _read_added(name, "\n".join(lines), numbers)
            name, lines, numbers, inside = "", [], [], False
        elif not inside and line.startswith("+++ "):
            name = _path_of(line[4:])
        elif match := _HUNK.match(line):
            number, inside = int(match[1]), True
        elif inside and line.startswith("+"):
            lines.append(line[1:])
            numbers.append(number)
            number += 1


def _read_added(name: str, text: str, numbers: Sequence[int]) -> ScannedText | Skipped:
    if "\0" in text[:_BINARY_LOOK]:
        return Skipped(name, "binary", failed=False)
    return ScannedText(name, text, tuple(numbers))


def _path_of(written: str) -> str:
    """A path in a diff's header: ``b/x``, quoted like a C string where it holds something odd, perhaps with a tab."""
    written = written.rstrip("\t\r")
    if written.startswith('"') and written.endswith('"'):
        raw = written[1:-1].encode("utf-8", "surrogateescape")
        written = raw.decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "surrogateescape")
    return written.removeprefix("b/")
