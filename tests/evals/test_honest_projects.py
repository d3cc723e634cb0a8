"""Our own small projects behave in a sandbox as outside; other people's are run by ``make containment``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "evals/containment"
sys.path.append(str(FOLDER))

import comparing  # noqa: E402
import fetching  # noqa: E402
import honest  # noqa: E402
from comparing import Done  # noqa: E402

PROJECTS = {project["name"]: project for project in honest.projects()}


def _names(group: str) -> list[str]:
    return sorted(project["name"] for project in honest.projects(group))


def test_other_peoples_projects_are_pinned() -> None:
    assert _names("python") == sorted(name for name, _, _ in fetching.locked("sdists.lock"))
    assert _names("c") == sorted(name for name, _, _ in fetching.locked("upstream.lock"))
    packages = json.loads((FOLDER / "npm" / "package-lock.json").read_text("utf-8"))["packages"]
    assert all(f"node_modules/{name}" in packages for name in _names("npm"))
    assert all("integrity" in package for path, package in packages.items() if path)
    packaged = {name for name, _, _ in fetching.locked("debs.lock")}
    assert all(f"librust-{name.replace('_', '-')}-dev" in packaged for name in _names("crates"))
    assert "golang-1.19-go" in packaged
    digests = [each[2] for name in ("sdists", "tools", "debs", "upstream") for each in fetching.locked(f"{name}.lock")]
    assert all(len(digest) == 64 for digest in digests)


def test_there_are_fifty_other_peoples_projects_of_five_registries() -> None:
    groups = [group for group in honest.GROUPS if group != "own"]
    assert len(groups) == 5
    assert sum(len(_names(group)) for group in groups) >= 50
    assert all(1 <= len(project["commands"]) <= 4 for project in PROJECTS.values() if project["group"] != "own")


@pytest.mark.parametrize(("name", "way"), [("a library in C", "bubblewrap"), ("scripts", "namespaces")])
def test_the_same_output_and_exit_status(tmp_path: Path, name: str, way: str) -> None:
    for outcome in honest.tried(PROJECTS[name], (way,), tmp_path):
        assert not outcome.difference, outcome
        assert outcome.contained.decision == "contain"


def test_a_difference_would_be_seen(tmp_path: Path) -> None:
    project = {
        "name": "x",
        "files": {"a": ""},
        "commands": ["python3 -c 'print(open(\"/proc/1/comm\").read())'; ./none"],
    }
    (outcome,) = honest.tried(project, ("namespaces",), tmp_path)
    assert outcome.difference


@pytest.mark.parametrize(
    ("bare", "contained", "same"),
    [
        (("a\nb", "a\nb"), "a\nb", True),
        (("a\nb", "a\nb"), "b\na", False),
        (("a\nb", "b\na"), "b\na", True),
        (("a\nb", "b\na"), "a\nc", False),
        (("port 4000", "port 4000"), "port 4001", False),
        (("port 4000", "port 5000"), "port 6000", True),
        (("port 4000", "port 5000"), "no port", False),
        (("x 1\ny 2", "y 3\nx 4"), "y 5\nx 6", True),
        (("took 0.3 s", "took 0.3 s"), "took 2.5 s", True),
        (("a", "b"), "a", False),
    ],
)
def test_only_what_varies_by_itself_may_vary(bare: tuple[str, ...], contained: str, same: bool) -> None:
    outside = [Done(0, text, 0.0) for text in bare]
    assert (not comparing.difference(outside, Done(0, contained, 0.0, "contain"))) is same


def test_an_exit_status_never_varies() -> None:
    assert comparing.difference([Done(0, "", 0.0)] * 2, Done(1, "", 0.0, "contain"))
    assert comparing.difference([Done(0, "", 0.0), Done(1, "", 0.0)], Done(1, "", 0.0, "contain"))
