"""What contributors meet: templates, hooks, workflows and targets name what is there, and agree with each other."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = set(re.findall(r"^([a-z0-9]+):", MAKEFILE, re.MULTILINE))
ELSEWHERE = {"dashboard", "e2e", "evals", "native", "support"}
"""Folders of tests that no room's quick tests have: they need a browser, clients, minutes or a compiler."""

WHOLE = {"test_documents.py", "test_packaging.py"}
"""Tests of no room: of what is written and published."""


def workflow(name: str) -> dict[str, Any]:
    """A workflow of GitHub."""
    found = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def commands(steps: list[dict[str, Any]]) -> str:
    """All that the steps of a job run."""
    return "\n".join(step.get("run", "") for step in steps)


def test_the_reference_is_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference.py", "--check"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_tests_are_compiled_once_whatever_the_environment_says() -> None:
    probe = "probe: ; @printenv PYTHONDONTWRITEBYTECODE || echo unset"
    done = subprocess.run(
        ["make", "--no-print-directory", "--eval", probe, "probe"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.stdout == "unset\n", done.stderr


def test_every_room_has_quick_tests_and_every_folder_of_tests_a_room() -> None:
    rows = [line.split("\t") for line in (ROOT / "scripts" / "house" / "tests.tsv").read_text("utf-8").splitlines()]
    package = ROOT / "src" / "lockgate"
    assert sorted(room for room, _ in rows) == sorted(path.parent.name for path in package.glob("*/__init__.py"))
    paths = [path for _, paths in rows for path in paths.split()]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert len(paths) == len(set(paths))
    about_rooms = {
        str(file.relative_to(ROOT))
        for folder in ("tests", "tests/analysis")
        for file in (ROOT / folder).glob("test_*.py")
        if re.search(r"^from lockgate\.", file.read_text("utf-8"), re.MULTILINE) and file.name not in WHOLE
    }
    assert about_rooms - set(paths) == set()
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")} - ELSEWHERE
    assert {name for name in folders if not any(path.split("/")[1] == name for path in paths)} == set()


def test_the_release_builds_what_ci_builds_and_asks_for_the_native_programs() -> None:
    release, ci = workflow("release")["jobs"], workflow("ci")["jobs"]
    assert release["wheels"]["strategy"]["matrix"] == {"os": ci["wheels"]["strategy"]["matrix"]["os"]}
    (build,) = (step for step in release["wheels"]["steps"] if "hatchling build" in step.get("run", ""))
    assert build["env"] == {"LOCKGATE_NATIVE": "required"}
    (install,) = (step for step in release["wheels"]["steps"] if "--only-binary :all:" in step.get("run", ""))
    assert install["env"] == {"CC": "false"}
    assert "--target sdist" in commands(release["source"]["steps"])


def test_only_the_last_job_of_a_release_has_rights_and_it_runs_nothing_of_ours() -> None:
    release = workflow("release")
    assert release["permissions"] == {"contents": "read"}
    assert {name for name, job in release["jobs"].items() if "permissions" in job} == {"publish"}
    publish = release["jobs"]["publish"]
    assert not any(step.get("uses", "").startswith("actions/checkout") for step in publish["steps"])
    assert {"make ", ".venv/", "python"}.isdisjoint(commands(publish["steps"]))
    assert set(publish["needs"]) == set(release["jobs"]) - {"publish"}


@pytest.mark.parametrize("name", ["ci", "nightly", "release"])
def test_workflows_run_targets_that_exist(name: str) -> None:
    run = "\n".join(commands(job["steps"]) for job in workflow(name)["jobs"].values())
    words = [word for line in re.findall(r"\bmake ([^\n&|]*)", run) for word in line.split()]
    assert {word for word in words if "=" not in word} <= TARGETS


NEWS = re.compile(r"(\+[a-z0-9-]+|\d+)\.(security|added|changed|removed|fixed)\.md")
"""The name of a file in ``changes/``."""


def test_files_about_what_is_new_have_names_that_are_understood() -> None:
    files = [file for file in (ROOT / "changes").iterdir() if file.name != "README.md"]
    assert [file.name for file in files if not NEWS.fullmatch(file.name)] == []
    assert [file.name for file in files if not 3 <= len(file.read_text("utf-8").split()) <= 120] == []
    examples = re.findall(r"`changes/(\S+)`", (ROOT / "changes" / "README.md").read_text("utf-8"))
    assert len(examples) == 3
    assert [name for name in examples if not NEWS.fullmatch(name)] == []


def test_the_release_finds_what_the_files_in_changes_say(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    changes = tmp_path / "changes"
    changes.mkdir()
    (changes / "README.md").write_text("not news\n", "utf-8")
    (changes / "+pause.added.md").write_text("A pause.\n", "utf-8")
    (changes / "7.security.md").write_text("A hole is closed.\n", "utf-8")
    command = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", "9.8.7", "--dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [file.name for file in changes.iterdir()] == ["README.md"]
    steps = commands(workflow("release")["jobs"]["source"]["steps"])
    (awk,) = re.findall(r"^ *awk -v .*?CHANGELOG\.md(?= >)", steps, re.MULTILINE | re.DOTALL)
    notes = subprocess.run(
        ["bash", "-euc", awk],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"GITHUB_REF_NAME": "v9.8.7"},
        check=True,
    )
    assert " ".join(notes.stdout.split()) == "### Security - A hole is closed. (#7) ### Added - A pause."
    before, after = (ROOT / "CHANGELOG.md").read_text("utf-8"), (tmp_path / "CHANGELOG.md").read_text("utf-8")
    assert after.endswith(before.partition("Semantic Versioning](https://semver.org/).\n")[2])


def test_hooks_run_what_lint_runs() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    hooks = yaml.safe_load(text)["repos"][0]["hooks"]
    entries = [hook["entry"].removesuffix(" --force-exclude") for hook in hooks]
    lint = MAKEFILE.partition("\nlint:")[2].partition("\n\n")[0]
    for entry in entries[:2]:
        assert entry.replace(".venv/bin", "$(BIN)") in lint
    assert entries[2:] == [".venv/bin/lockgate scan", "make --no-print-directory lint"]
    assert "site" in lint


def test_code_owners_own_what_is_there() -> None:
    lines = (ROOT / ".github" / "CODEOWNERS").read_text("utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    assert [path for path, *_ in rows if path != "*" and not (ROOT / path.strip("/")).exists()] == []
    assert all(owner.startswith("@") for _, *owners in rows for owner in owners)


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem
)
def test_issue_templates_are_forms(path: Path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    if path.stem == "config":
        assert form["contact_links"][0]["url"].startswith("https://")
        return
    assert {"name", "description", "body"} <= set(form)
    ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 0
    assert all(part["attributes"].get("label") or part["type"] == "markdown" for part in form["body"])


def test_the_container_for_developers_sets_up_by_targets_that_exist() -> None:
    text = (ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8")
    told = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    program, *words = told["postCreateCommand"].split()
    assert program == "make"
    assert {word for word in words if "=" not in word} <= TARGETS
