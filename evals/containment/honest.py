"""Whether honest work is left alone: projects' own tests and builds, outside and contained, with the same outcome.

    .venv/bin/python evals/containment/honest.py [NAME...] [--group GROUP] [--way WAY] [--minutes N] [--verbose]

Every command of ``projects/*.yaml`` is given to the real hook, in a session that is untrusted and secret, and what the
hook makes of it is run. Right is: the gate contains it or lets it run, and output and exit status are those of the same
command in fresh copies of the project without Lockgate. What varies between two runs without Lockgate is left out of
account (``comparing.py``). Exit status 0 where all are right. Other people's projects come from PyPI, npm and Debian,
pinned by hash, into ``.evals`` (``fetching.py``).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import sources
import yaml
from comparing import Done, difference, varying
from fetching import MissingError

from session import Session

HERE = Path(__file__).resolve().parent
GROUPS = ("own", "python", "npm", "crates", "go", "c")
WAYS = ("bubblewrap", "namespaces")
_SECONDS = 240
"""For one command, outside or contained."""
_TOO_LONG = 124
_OLD = 2.1
"""Seconds after which the gate takes a file for older than a session."""
_WITHOUT_PRIVILEGES = ("setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all")


class Outcome(NamedTuple):
    """One command of one project."""

    project: str
    command: str
    way: str
    bare: tuple[Done, ...]
    contained: Done
    tries: int
    """How often the contained command was run: twice where the first run differed."""

    @property
    def difference(self) -> str:
        """What is not the same; empty where all is."""
        return difference(self.bare, self.contained)


def projects(group: str = "") -> list[dict[str, Any]]:
    """The projects of a group, by default of all, in the files' order."""
    names = (group,) if group else GROUPS
    found = [(name, yaml.safe_load((HERE / "projects" / f"{name}.yaml").read_text("utf-8"))) for name in names]
    return [{"group": name, **project} for name, listed in found for project in listed]


def tried(project: dict[str, Any], ways: tuple[str, ...], base: Path) -> list[Outcome]:
    """Run a project's commands twice outside and once in each way.

    Where something differs, they are run once more in both: a test that fails now and then shows itself so.

    Args:
        project: An entry of ``projects/*.yaml``.
        ways: How to contain.
        base: A folder that nothing else is in.
    """
    source = sources.Source(project, base / "home")
    bare = [_all(project, source), _all(project, source)]
    outcomes = []
    for way in ways:
        contained, tries = _all(project, source, way), 1
        if any(difference(*both) for both in zip(zip(*bare, strict=True), contained, strict=True)):
            bare.append(_all(project, source))
            contained, tries = _all(project, source, way), 2
        outcomes += [
            Outcome(project["name"], command, way, outside, inside, tries)
            for command, outside, inside in zip(project["commands"], zip(*bare, strict=True), contained, strict=True)
        ]
    return outcomes


def _all(project: dict[str, Any], source: sources.Source, way: str = "") -> list[Done]:
    """Run a project's commands in a fresh copy, one after another; without a way to contain, as they are."""
    source.fill()
    session = _session(source, way) if way else None
    found = []
    for command in project["commands"]:
        decision, text = session.asked(command) if session else ("", command)
        began = time.monotonic()
        status, output = _run(("/bin/bash", "-c", text), source) if session else _run_bare(text, source)
        found.append(Done(status, output, time.monotonic() - began, decision))
    return found


def _session(source: sources.Source, way: str) -> Session:
    """A session that begins when the project is there for longer than clocks differ: it has written none of it."""
    time.sleep(_OLD)
    name = f"5e55{time.monotonic_ns():x}"
    session = Session(way, str(source.home), str(source.place), source.environment, name)
    session.begin()
    return session


def _run_bare(text: str, source: sources.Source) -> tuple[int, str]:
    """Run a shell's text as an ordinary user: what only the machine's root may do, nobody may do contained."""
    ordinary = _WITHOUT_PRIVILEGES if os.getuid() == 0 else ()
    return _run((*ordinary, "/bin/bash", "-c", text), source)


def _run(command: tuple[str, ...], source: sources.Source) -> tuple[int, str]:
    """Run a command as an agent's client does: with no input and no terminal, and not for longer than it may."""
    with tempfile.TemporaryFile() as output:
        running = subprocess.Popen(
            command,
            cwd=source.place,
            env=source.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            ended = running.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            ended = _TOO_LONG
        finally:
            _end_group(running)
        output.seek(0)
        said = output.read().decode("utf-8", "replace")
    return ended if ended >= 0 else 128 - ended, said


def _end_group(running: subprocess.Popen[bytes]) -> None:
    """What a test leaves in the background would disturb the next one."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--group", choices=GROUPS, default="")
    parser.add_argument("--way", choices=WAYS, action="append")
    parser.add_argument("--minutes", type=float, default=120, help="begin no further project after so long")
    parser.add_argument("--verbose", action="store_true", help="show the output of each contained command")
    given = parser.parse_args()
    outcomes, missed = [], 0
    until = time.monotonic() + given.minutes * 60
    for project in projects(given.group):
        if given.names and project["name"] not in given.names:
            continue
        if time.monotonic() > until:
            print(f"not run   {project['name']}: the time is over")
            missed += 1
            continue
        for outcome in _tried_here(project, tuple(given.way or WAYS)):
            outcomes.append(outcome)
            _show(outcome, verbose=given.verbose)
    wrong = [outcome for outcome in outcomes if outcome.difference]
    _sum_up(outcomes, len(wrong))
    raise SystemExit(1 if wrong or missed else 0)


def _tried_here(project: dict[str, Any], ways: tuple[str, ...]) -> Iterator[Outcome]:
    missing = [name for name in project.get("needs", "").split() if not shutil.which(name)]
    if missing:
        print(f"left out  {project['name']}: there is no {' and no '.join(missing)} here")
        return
    with tempfile.TemporaryDirectory(prefix="lockgate-honest-", dir="/var/tmp", ignore_cleanup_errors=True) as base:
        try:
            yield from tried(project, ways, Path(base))
        except MissingError as error:
            print(f"left out  {project['name']}: {error}")


def _sum_up(outcomes: list[Outcome], wrong: int) -> None:
    if not outcomes:
        return
    slower = sorted(outcome.contained.seconds - outcome.bare[0].seconds for outcome in outcomes)
    names = len({outcome.project for outcome in outcomes})
    again = sum(outcome.tries > 1 and not outcome.difference for outcome in outcomes)
    print(
        f"{names} projects, {len(outcomes)} contained commands: {len(outcomes) - wrong} with the same output and "
        f"exit status ({again} at the second try); {slower[len(slower) // 2] * 1000:.0f} ms longer in the middle"
    )


def _show(outcome: Outcome, *, verbose: bool) -> None:
    mark = "OTHER" if outcome.difference else "again" if outcome.tries > 1 else "ok"
    took = f"{outcome.bare[0].seconds:6.2f} s -> {outcome.contained.seconds:6.2f} s"
    varies = varying(outcome.bare)
    print(
        f"{mark:6}{outcome.project:20} {outcome.way:12}{outcome.contained.decision:9}{took}  {outcome.command}"
        + (f"  [varies: {varies}]" if varies else "")
        + (f"  [status {outcome.bare[0].status}]" if outcome.bare[0].status else ""),
        flush=True,
    )
    if outcome.difference or verbose:
        text = outcome.difference or outcome.contained.output
        print("\n".join(f"      {line}" for line in text.splitlines()), flush=True)


if __name__ == "__main__":
    main()
