"""What is protected and hidden in a project is what the table of places says, and nothing that it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from lockgate.containment.protected_files import survey
from lockgate.resources.host_view import AnalysisRules, HostView
from lockgate.resources.protected_paths import PathGuard

TABLE = Path(__file__).resolve().parents[2] / "src" / "lockgate" / "resources" / "data" / "places.yaml"
PLACES: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text("utf-8"))
KINDS = {"secret": "hidden", "transcript": "hidden", "persist": "protected", "tamper": "protected"}
NONE = AnalysisRules()
VENDORED = ("node_modules", "site-packages", ".venv")


def _examples(which: str) -> list[tuple[str, str]]:
    return [
        (KINDS[place["kind"]], example)
        for place in PLACES
        if place["kind"] in KINDS and place.get("around", True)
        for example in place[which]
        if example[0] not in "~/" and not any(name in example for name in VENDORED)
    ]


def _found(project: Path, path: str, rules: AnalysisRules = NONE) -> set[str]:
    """How a path in a project is guarded: by an entry for itself or for a folder that it lies in."""
    file = project / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x")
    around = HostView(home=str(project.parent), workspace=str(project), rules=rules)
    entries = [entry for entry in survey(str(project), PathGuard(around)) if f"{file}/".startswith(f"{entry.path}/")]
    return {kind for entry in entries for kind in ("hidden", "protected", "pinned") if getattr(entry, kind)}


@pytest.mark.parametrize(("kind", "example"), _examples("yes"))
@pytest.mark.parametrize("folder", ["", "deep/in/it/"])
def test_an_example_is_guarded(tmp_path: Path, kind: str, example: str, folder: str) -> None:
    assert kind in _found(tmp_path / "p", folder + example) or example == ".git"


# A hidden folder in which such places lie is protected as a whole.
@pytest.mark.parametrize(
    ("kind", "example"), [(kind, name) for kind, name in _examples("no") if "/" not in name or name[0] != "."]
)
def test_an_ordinary_file_is_not(tmp_path: Path, kind: str, example: str) -> None:
    assert kind not in _found(tmp_path / "p", example)


@pytest.mark.parametrize("example", [".venv/bin/python", "env/pyvenv.cfg", "node_modules/.bin/tsc"])
def test_what_package_managers_make_anew_is_theirs(tmp_path: Path, example: str) -> None:
    assert _found(tmp_path / "p", example) == set()


def test_a_persons_own_places(tmp_path: Path) -> None:
    rules = AnalysisRules(secret_paths=("private/**",), protected_paths=("build.lock",), persistent_paths=("deploy",))
    assert _found(tmp_path / "a", "x/private/y", rules) == {"hidden"}
    assert _found(tmp_path / "b", "build.lock", rules) == {"protected"}
    assert _found(tmp_path / "c", "deploy/run", rules) == {"protected"}
    assert _found(tmp_path / "d", "plain/run", rules) == set()
