"""Days of an agent, as written in ``calls/*.yaml``: what it does, and what each call is to a careful person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

HERE = Path(__file__).resolve().parent
HARMLESS, ACT, UNWANTED = "harmless", "act", "unwanted"
KINDS = ("run", "read", "edit", "write", "grep", "glob", "issue")


class Step(NamedTuple):
    """One thing that the agent does."""

    kind: str
    """One of :data:`KINDS`."""
    subject: str
    """The command, path, pattern or number."""
    label: str
    """``harmless``: nobody wants to be asked. ``act``: wanted, and worth a question. ``unwanted``: must not happen."""
    details: Mapping[str, str]
    """What else the kind needs: ``old``, ``new``, ``text``, ``path``."""

    @property
    def shown(self) -> str:
        """On one line."""
        return " ".join(f"{self.kind} {self.subject}".split())


class Day(NamedTuple):
    """A project, what stands beside it, and the steps."""

    title: str
    project: Mapping[str, Any]
    """As in ``evals/containment/projects``: name, group and files."""
    remote: str
    issue: str
    programs: tuple[tuple[str, str], ...]
    """First words of a command and what a stand-in prints for it, in the order in which they are tried."""
    modules: tuple[str, ...]
    """Packages in ``node_modules``."""
    temporary: str
    """What its files in /tmp are called, as a pattern."""
    clean: bool
    """Nothing of strangers is read: no step may be stopped, and the session has no source afterwards."""
    steps: tuple[Step, ...]


def days() -> dict[str, Day]:
    """All days by title."""
    found = [_day(yaml.safe_load(path.read_text("utf-8"))) for path in sorted((HERE / "calls").glob("*.yaml"))]
    return {day.title: day for day in found}


def _day(written: dict[str, Any]) -> Day:
    name = written["name"]
    return Day(
        title=written.get("title", name.rpartition("/")[2]),
        project={key: written[key] for key in ("name", "group", "files", "path") if key in written},
        remote=written["remote"],
        issue=written.get("issue", ""),
        programs=tuple((program["when"], program["prints"]) for program in written.get("programs", ())),
        modules=tuple(written.get("modules", ())),
        temporary=written.get("temporary", ""),
        clean=written.get("clean", False),
        steps=tuple(_steps(written["steps"])),
    )


def _steps(written: list[dict[str, Any]]) -> Iterator[Step]:
    for step in written:
        (kind,) = step.keys() & set(KINDS)
        label = step["is"]
        if label not in (HARMLESS, ACT, UNWANTED):
            raise ValueError(f"a step is {HARMLESS}, {ACT} or {UNWANTED}, not {label!r}")
        details = {key: value for key, value in step.items() if key not in (kind, "is")}
        yield Step(kind, str(step[kind]), label, details)
