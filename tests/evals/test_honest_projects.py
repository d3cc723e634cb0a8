"""Our own small projects behave in a sandbox as outside; other people's are run by ``make containment``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "evals/containment"
sys.path.append(str(FOLDER))

import honest  # noqa: E402

PROJECTS = {project.get("sdist") or project["name"]: project for project in honest.projects()}


def test_ten_projects_are_other_peoples_and_pinned() -> None:
    pinned = [line.partition("==")[0] for line in (FOLDER / "sdists.lock").read_text("utf-8").splitlines()[1:]]
    assert sorted(project["sdist"] for project in PROJECTS.values() if "sdist" in project) == sorted(pinned)
    assert len(pinned) >= 10


@pytest.mark.parametrize(("name", "way"), [("a library in C", "bubblewrap"), ("scripts", "namespaces")])
def test_the_same_output_and_exit_status(tmp_path: Path, name: str, way: str) -> None:
    for outcome in honest.tried(PROJECTS[name], (way,), tmp_path, None):
        assert not outcome.difference, outcome
        assert outcome.contained.decision == "contain"


def test_a_difference_would_be_seen(tmp_path: Path) -> None:
    project = {
        "name": "x",
        "files": {"a": ""},
        "commands": ["python3 -c 'print(open(\"/proc/1/comm\").read())'; ./none"],
    }
    (outcome,) = honest.tried(project, ("namespaces",), tmp_path, None)
    assert outcome.difference
