"""``lockgate scan``: look for secrets and personal data in files, folders, standard input and diffs."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from lockgate.cli.common.colour import paint
from lockgate.cli.common.state import WRONG, make_state
from lockgate.cli.scan.findings import (
    KINDS,
    Finding,
    FindingFilter,
    Scanned,
    brief,
    check,
    matches_in,
    sarif,
    scan,
    whole,
)
from lockgate.cli.scan.sources import (
    MOST_BYTES,
    ScanError,
    ScannedText,
    Skipped,
    files_below,
    read_added_lines,
    read_file,
)
from lockgate.core.display_text import visible
from lockgate.core.errors import PatternError
from lockgate.core.version import __version__
from lockgate.patterns.model import Kind, Severity

if TYPE_CHECKING:
    from lockgate.patterns.engine.scanner import Scanner

INCOMPLETE = 3
"""Exit status where something could not be looked at."""
_COMPILING = 120.0
"""Seconds that compiling the library may take."""
_COLOURS = {Severity.CRITICAL: "red", Severity.HIGH: "red", Severity.MEDIUM: "yellow", Severity.LOW: "cyan"}


@click.command("scan", short_help="Look for secrets and personal data in files or diffs.")
@click.argument("paths", nargs=-1, type=click.Path(allow_dash=True))
@click.option("--staged", is_flag=True, help="Look at what git is about to commit: the lines that are added.")
@click.option("--diff", metavar="REVISIONS", help="Look at the lines that a git diff adds, such as main...HEAD.")
@click.option(
    "--jsonl", is_flag=True, help='Read one {"text": ...} a line from standard input, answer each with a line.'
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print a SARIF 2.1.0 log.")
@click.option(
    "--severity",
    type=click.Choice([severity.word for severity in Severity]),
    default=Severity.MEDIUM.word,
    show_default=True,
    help="The least severity that counts.",
)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice([kind.value for kind in Kind]),
    multiple=True,
    help="What to look for; may be given several times.  [default: secret, pii, other]",
)
@click.option("--known", is_flag=True, help="Look for the secrets of this machine by value, too.")
@click.option("--no-ignore", is_flag=True, help="Look at what .gitignore names, too.")
@click.option("--max-bytes", type=click.IntRange(min=1), default=MOST_BYTES, show_default=True, help="Of one file.")
def scan_command(
    paths: Sequence[str],
    *,
    staged: bool,
    diff: str | None,
    jsonl: bool,
    as_json: bool,
    as_sarif: bool,
    severity: str,
    kinds: Sequence[str],
    known: bool,
    no_ignore: bool,
    max_bytes: int,
) -> None:
    """Look for secrets and personal data in files and folders, or in the current folder; - is standard input.

    What was found is never printed: only where it is, what it is, and whether a checksum or its structure proves it.

    Exit status: 0 nothing found, 1 something found, 2 wrong usage, 3 something could not be looked at.
    """
    wanted = FindingFilter(Severity[severity.upper()], tuple(map(Kind, kinds)) or KINDS)
    _check_sources(paths, staged=staged, diff=diff, jsonl=jsonl)
    if as_json and as_sarif:
        raise click.UsageError("--json and --sarif exclude each other")
    scanner = _scanner(known=known)
    if jsonl:
        _answer_lines(scanner, wanted)
        return
    report = _Report(wanted)
    sources: Iterable[ScannedText | Skipped]
    try:
        if staged or diff is not None:
            sources = read_added_lines(os.getcwd(), ["--cached"] if diff is None else [diff])
        else:
            sources = _read(list(dict.fromkeys(_read_named(paths, not no_ignore))), max_bytes)
        for source in sources:
            report.take(scanner, source)
    except ScanError as error:
        click.echo(f"lockgate: {visible(str(error))}", err=True)
        sys.exit(INCOMPLETE)
    if as_json or as_sarif:
        log = report.as_json() if as_json else sarif(report.findings, report.incomplete(), __version__)
        click.echo(json.dumps(log, indent=2))
    else:
        report.print()
    sys.exit(report.status())


def _check_sources(paths: Sequence[str], *, staged: bool, diff: str | None, jsonl: bool) -> None:
    """Make sure that the command line names one source of texts.

    Raises:
        UsageError: It names two, or what follows ``--diff`` is an option of git.
    """
    if sum((staged, diff is not None, jsonl)) > 1:
        raise click.UsageError("--staged, --diff and --jsonl exclude each other")
    if (staged or diff is not None or jsonl) and paths:
        raise click.UsageError("--staged, --diff and --jsonl take no paths")
    if diff is not None and (not diff or diff.startswith("-")):
        raise click.UsageError("--diff takes revisions")


def _scanner(*, known: bool) -> Scanner:
    """The scanner of the current folder's project; known secrets of this machine are looked for if a person says so."""
    from lockgate.configuration.load import find_workspace
    from lockgate.configuration.pattern_library.opening import open_scanner
    from lockgate.system.folders import folders

    where = folders()
    try:
        with make_state() as store:
            return open_scanner(store, where, find_workspace(os.getcwd(), where.home), _COMPILING, known=known)
    except PatternError as error:
        click.echo(f"lockgate: {visible(str(error))}", err=True)
        raise click.exceptions.Exit(INCOMPLETE) from error


# ---------------------------------------------------------------- what to look at
def _read_named(paths: Sequence[str], honour_ignore: bool) -> Iterator[str | Skipped]:
    for path in paths or ["."]:
        if path == "-":
            yield path
        else:
            yield from files_below([path], honour_ignore=honour_ignore)


def _read(names: Sequence[str | Skipped], most: int) -> Iterator[ScannedText | Skipped]:
    """Read files one after the other, with a progress bar where a person waits for long."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    shown = console.is_terminal and len(names) > 100
    for name in track(names, "scanning", console=console, transient=True) if shown else names:
        if isinstance(name, Skipped):
            yield name
        else:
            yield _standard_input() if name == "-" else read_file(name, most)


def _standard_input() -> ScannedText:
    return ScannedText("<stdin>", sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))


# ---------------------------------------------------------------- what comes of it
class _Report:
    """What all texts came to."""

    def __init__(self, wanted: FindingFilter) -> None:
        self.wanted = wanted
        self.findings: list[Finding] = []
        self.skipped: list[Skipped] = []
        self.unfinished: list[tuple[str, str]] = []
        self.texts = 0

    def take(self, scanner: Scanner, source: ScannedText | Skipped) -> None:
        if isinstance(source, Skipped):
            self.skipped.append(source)
            return
        self.texts += 1
        scanned: Scanned = scan(scanner, source, self.wanted)
        self.findings += scanned.findings
        self.unfinished += [(source.name, group) for group in scanned.unfinished]

    def status(self) -> int:
        if self.incomplete():
            return INCOMPLETE
        return WRONG if self.findings else 0

    def incomplete(self) -> list[str]:
        """What could not be looked at, in words for a person."""
        failed = [f"{visible(each.name, 500)}: not looked at: {each.because}" for each in self.skipped if each.failed]
        return failed + [f"{visible(name, 500)}: not finished: {group}" for name, group in self.unfinished]

    def as_json(self) -> dict[str, Any]:
        return {
            "findings": [whole(finding) for finding in self.findings],
            "skipped": [{"file": each.name, "because": each.because} for each in self.skipped],
            "unfinished": [{"file": name, "group": group} for name, group in self.unfinished],
            "texts": self.texts,
        }

    def print(self) -> None:
        for finding in self.findings:
            match = finding.match
            place = f"{visible(finding.name, 500)}:{finding.line}:{finding.column}"
            word = paint(match.severity.word, _COLOURS[match.severity])
            proof = ", validated" if match.validated else ""
            coded = f", in {' of '.join(match.encoding)}" if match.encoding else ""
            click.echo(f"{place}: {word}: {visible(match.type, 100)} ({visible(match.rule, 200)}{proof}{coded})")
        for line in self.incomplete():
            click.echo(line, err=True)
        click.echo(self._summary(), err=True)

    def _summary(self) -> str:
        counts = Counter(finding.match.severity for finding in self.findings)
        found = ", ".join(f"{counts[severity]} {severity.word}" for severity in reversed(Severity) if counts[severity])
        passed = f", {_count_text(len(self.skipped), 'file')} passed over" if self.skipped else ""
        return f"{_count_text(self.texts, 'text')}, {found or 'nothing found'}{passed}"


def _count_text(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _answer_lines(scanner: Scanner, wanted: FindingFilter) -> None:
    """One line of JSON out for each line in. A line that is no such object ends it with status 2."""
    output = sys.stdout
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        try:
            text = json.loads(line)["text"]
            if not isinstance(text, str):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise click.UsageError(f'line {number} is not a JSON object with a string "text"') from None
        result = check(scanner, text)
        answer: dict[str, Any] = {"findings": [brief(match) for match in matches_in(result, wanted)]}
        if result.expired:
            answer["unfinished"] = [each.group for each in result.expired]
        output.write(json.dumps(answer) + "\n")
        output.flush()  # who asks may wait for the answer before it asks again
