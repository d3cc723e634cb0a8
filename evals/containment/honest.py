"""Whether honest work is left alone: projects' own tests and builds, outside and contained, with the same outcome.

    .venv/bin/python evals/containment/honest.py [NAME...] [--way WAY] [--verbose]

Every command of ``projects.yaml`` is given to the real hook, in a session that is untrusted and secret, and what the
hook makes of it is run. Right is: the gate contains it or lets it run, and output and exit status are those of the same
command in a fresh copy of the project without Lockgate, but for durations and addresses. Exit status 0 where all are
right. Other people's projects come from PyPI, pinned by hash, into ``.evals``.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from session import Session

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".evals" / "containment"
WAYS = ("bubblewrap", "namespaces")
_SECONDS = 300
_VARYING = (
    (r"\b\d+\.\d+ ?(seconds|s|ms)\b( \(\d+:\d+:\d+\))?", "<time>"),
    (r"(duration_ms[: ]+)[\d.]+", r"\1<time>"),
    (r"\((\d+\.\d+)ms\)", "(<time>)"),
    (r"0x[0-9a-f]{6,}", "<address>"),
    (r"(=|-)\1{8,}", "<line>"),
    (r"build/bdist\S*|\.tmp-\w+|pytest-\d+|/tmp/\S+", "<temporary>"),
)


class Done(NamedTuple):
    """How a command ended."""

    status: int
    """As a shell gives it."""
    output: str
    seconds: float
    decision: str = ""


class Outcome(NamedTuple):
    """One command of one project."""

    project: str
    command: str
    way: str
    outside: Done
    contained: Done

    @property
    def difference(self) -> str:
        """What is not the same; empty where all is."""
        if self.contained.decision not in ("contain", "allow"):
            return f"the gate says {self.contained.decision}"
        if self.outside.status != self.contained.status:
            return f"status {self.contained.status}, not {self.outside.status}: {self.contained.output[-500:]}"
        before, after = (_plain(done.output).splitlines() for done in (self.outside, self.contained))
        return "\n".join(list(difflib.unified_diff(before, after, "outside", "contained", lineterm="", n=0))[:20])


def projects() -> list[dict[str, Any]]:
    """The projects, in the file's order."""
    return yaml.safe_load((HERE / "projects.yaml").read_text("utf-8"))


def tried(project: dict[str, Any], ways: tuple[str, ...], base: Path, tools: Path | None) -> list[Outcome]:
    """Run a project's commands outside and in each way.

    Args:
        project: An entry of ``projects.yaml``.
        ways: How to contain.
        base: A folder that nothing else is in.
        tools: The folder of programs that comes first in ``PATH``; this interpreter's where there is none.
    """
    place = base / "home" / "code" / "project"
    environment = _environment(project, place, tools or Path(sys.executable).parent)
    outside = _all(project, place, environment, None)
    outcomes = []
    for way in ways:
        session = Session(way, str(base / "home"), str(place), environment)
        session.begin()
        contained = _all(project, place, environment, session)
        name = project.get("sdist") or project["name"]
        outcomes += [
            Outcome(name, command, way, *both)
            for command, both in zip(project["commands"], zip(outside, contained, strict=True), strict=True)
        ]
    return outcomes


def _all(project: dict[str, Any], place: Path, environment: dict[str, str], session: Session | None) -> list[Done]:
    """Run a project's commands in a fresh copy, one after another."""
    shutil.rmtree(place, ignore_errors=True)
    _fill(project, place)
    found = []
    for command in project["commands"]:
        decision, text = session.asked(command) if session else ("", command)
        began = time.monotonic()
        done = subprocess.run(
            ["/bin/bash", "-c", text],
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
        )
        output = done.stdout.decode("utf-8", "replace")
        status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        found.append(Done(status, output, time.monotonic() - began, decision))
    return found


def _fill(project: dict[str, Any], place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if "sdist" in project:
        name = project["sdist"].replace("-", "_")
        archive = next(path for path in sdists().iterdir() if path.name.startswith(f"{name}-"))
        with tarfile.open(archive) as packed:
            packed.extractall(place.parent, filter="data")
        (place.parent / archive.name.removesuffix(".tar.gz")).rename(place)
    for name, text in project.get("files", {}).items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if text.startswith("#!") else 0o644)


def _environment(project: dict[str, Any], place: Path, tools: Path) -> dict[str, str]:
    """A developer's environment; tests take their random choices from a fixed seed."""
    kept = {name: os.environ[name] for name in ("LANG", "RUSTUP_HOME") if name in os.environ}
    if shutil.which("cargo") and "RUSTUP_HOME" not in kept:
        kept["RUSTUP_HOME"] = os.path.expanduser("~/.rustup")
    home = str(place.parents[1])
    path = [
        str(tools),
        *dict.fromkeys(os.path.dirname(found) for name in ("node", "cargo") if (found := shutil.which(name))),
    ]
    return {
        **kept,
        "HOME": home,
        "PATH": ":".join([*path, "/usr/local/bin", "/usr/bin", "/bin"]),
        "SHELL": "/bin/bash",
        "PYTHONPATH": str(place / project.get("path", "")) if "sdist" in project else "",
        "PYTHONHASHSEED": "0",
        "HYPOTHESIS_STORAGE_DIRECTORY": ".hypothesis",
        "CI": "1",
    }


def _plain(output: str) -> str:
    for pattern, shown in _VARYING:
        output = re.sub(pattern, shown, output)
    return output


# ---------------------------------------------------------------- what comes from PyPI
def sdists() -> Path:
    """The folder with the source distributions of ``sdists.lock``."""
    folder = CACHE / "sdists"
    if not folder.exists():
        lines = [line for line in (HERE / "sdists.lock").read_text("utf-8").splitlines() if line[0] != "#"]
        names = ",".join(line.partition("==")[0] for line in lines)
        made = CACHE / "sdists.new"
        options = ["--require-hashes", "--no-deps", "--no-binary", names, "--dest", str(made)]
        _pip(sys.executable, "download", *options, "-r", str(HERE / "sdists.lock"))
        made.rename(folder)
    return folder


def tools() -> Path:
    """The folder of programs of an environment with what the projects' tests and builds need."""
    folder = CACHE / "tools"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        _pip(str(folder / "bin" / "python"), "install", "--require-hashes", "-r", str(HERE / "tools.lock"))
        (folder / "ready").touch()
    return folder / "bin"


def _pip(python: str, *arguments: str) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE.parent / ".gitignore").write_text("*\n")
    subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--way", choices=WAYS, action="append")
    parser.add_argument("--verbose", action="store_true", help="show the output of each contained command")
    given = parser.parse_args()
    ways, outcomes = tuple(given.way or WAYS), []
    for project in projects():
        name = project.get("sdist") or project["name"]
        if given.names and name not in given.names:
            continue
        if not shutil.which(project.get("needs", "python3")):
            print(f"left out  {name}: there is no {project['needs']} here")
            continue
        with tempfile.TemporaryDirectory(prefix="lockgate-honest-", dir="/var/tmp") as base:
            for outcome in tried(project, ways, Path(base), tools()):
                outcomes.append(outcome)
                _show(outcome, verbose=given.verbose)
    wrong = [outcome for outcome in outcomes if outcome.difference]
    slower = sorted(outcome.contained.seconds - outcome.outside.seconds for outcome in outcomes)
    names = len({outcome.project for outcome in outcomes})
    print(
        f"{names} projects, {len(outcomes)} contained commands: {len(outcomes) - len(wrong)} with the same output and "
        f"exit status; {slower[len(slower) // 2] * 1000:.0f} ms longer in the middle"
    )
    raise SystemExit(1 if wrong else 0)


def _show(outcome: Outcome, *, verbose: bool) -> None:
    mark = "ok" if not outcome.difference else "OTHER"
    took = f"{outcome.outside.seconds:6.2f} s -> {outcome.contained.seconds:6.2f} s"
    print(f"{mark:6}{outcome.project:20}{outcome.way:12}{outcome.contained.decision:9}{took}  {outcome.command}")
    if outcome.difference or verbose:
        print(
            "\n".join(f"      {line}" for line in (outcome.difference or outcome.contained.output).splitlines()),
            flush=True,
        )


if __name__ == "__main__":
    main()
