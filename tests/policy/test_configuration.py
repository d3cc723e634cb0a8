"""The edge: files of every kind, the cache, last good contents, trust."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockgate.configuration import load as configuration
from lockgate.configuration.layers import files as layers
from lockgate.configuration.layers.files import digest_of, trust_name
from lockgate.configuration.load import Configuration, GateOptions, find_workspace, load, places
from lockgate.core.model import LabelState, Verdict
from lockgate.policy.profiles import read_shipped_profiles
from support.prepared import open_new

HEAVY = (
    "yaml jsonschema regex dataclasses inspect pathlib logging argparse subprocess click difflib "
    "importlib.resources importlib.metadata lockgate.policy.lockbox.merging"
)
OBSERVE = "profile: observe\n"
EGRESS = ("egress", LabelState.UNTRUSTED)


def said_by(found: Configuration) -> tuple[object, ...]:
    """What can be compared of a configuration. Its policies are made of ``compiled``."""
    return found.compiled, found.options, found.layers, list(map(str, found.problems)), found.digest


class World:
    """A home, a project and a store."""

    def __init__(self, root: Path) -> None:
        self.home, self.config, self.project = root / "home", root / "home" / ".config" / "lockgate", root / "work"
        for folder in (self.home / ".claude", self.config, self.project / ".claude"):
            folder.mkdir(parents=True)
        self.state = root / "state"
        self.store = open_new(self.state)
        self.user, self.ours = self.home / ".claude" / "lockbox.json", self.config / "lockgate.yaml"
        self.theirs = self.project / "lockgate.yaml"
        self.before: dict[str, Configuration] = {}

    def load(self, workspace: str | None = None) -> Configuration:
        """What holds now: the same for a process that knows what held before as for one that has just begun."""
        where = str(self.project) if workspace is None else workspace
        known, new = (self._load(where, before) for before in (self.before.get(where), None))
        assert said_by(known) == said_by(new)
        self.before[where] = known
        return known

    def _load(self, workspace: str, before: Configuration | None) -> Configuration:
        return load(
            self.store,
            home=str(self.home),
            config_dir=str(self.config),
            workspace=workspace,
            state=str(self.state),
            before=before,
        )

    def trust(self, path: Path, digest: str | None = None) -> None:
        with self.store.transaction() as tx:
            tx.put_setting(trust_name(str(path)), digest or digest_of(path.read_bytes()))

    def cells(self, row: str = "egress", column: LabelState = LabelState.UNTRUSTED) -> list[tuple[Verdict, ...]]:
        return [policy.profile.cell(row, column) for policy in self.load().policies]


SHIPPED_CELL = (Verdict.ASK, Verdict.DENY)
"""What ``quarantine`` says of sending from an untrusted session."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()


def same(one: Configuration, other: Configuration) -> bool:
    """Whether two configurations say the same; their look-ups and errors are objects of their own."""
    return (one.compiled, one.layers, one.options, [*map(str, one.problems)]) == (
        other.compiled, other.layers, other.options, [*map(str, other.problems)],
    )  # fmt: skip


def states(found: Configuration) -> dict[str, str]:
    return {layer.name: layer.state for layer in found.layers}


# ---------------------------------------------------------------- layers


def test_without_files_the_shipped_defaults_hold(world: World) -> None:
    found = world.load()
    assert [policy.profile for policy in found.policies] == [read_shipped_profiles()["quarantine"]]
    assert (found.problems, found.options) == ((), GateOptions())
    assert set(states(found).values()) == {"absent"}


def test_the_layers_from_the_lowest(world: World) -> None:
    names = [place.name for place in places(str(world.home), str(world.config), str(world.project))]
    assert names == [
        "managed lockgate.yaml",
        "user lockbox.json",
        "user lockgate.yaml",
        "project lockbox.json",
        "project lockgate.yaml",
        "project .lockgate.yaml",
    ]


@pytest.mark.parametrize(
    ("platform", "path"),
    [("linux", "/etc/lockgate/lockgate.yaml"), ("darwin", "/Library/Application Support/lockgate/lockgate.yaml")],
)
def test_the_managed_layer(platform: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert places("/home/u", "/c", "")[0].path == path


def test_who_has_a_file_of_lockbox_is_refused_as_before(world: World) -> None:
    """Unless a layer names a profile: a project that nobody trusts can only tighten by that."""
    world.user.write_text("{}")
    assert [policy.profile for policy in world.load().policies] == [read_shipped_profiles()["quarantine-strict"]]
    assert world.cells() == [(Verdict.DENY,)]
    theirs = world.project / "lockgate.yaml"
    theirs.write_text("profile: quarantine\n")
    assert world.cells() == [(Verdict.DENY,), SHIPPED_CELL]
    world.ours.write_text("profile: quarantine\n")
    assert world.cells() == [SHIPPED_CELL, SHIPPED_CELL]


def test_a_projects_file_of_lockbox_chooses_no_profile(world: World) -> None:
    (world.project / ".claude").mkdir(exist_ok=True)
    (world.project / ".claude" / "lockbox.json").write_text("{}")
    assert set(world.cells()) == {SHIPPED_CELL}


def test_our_file_is_above_lockboxs(world: World) -> None:
    world.user.write_text('{"mcp_default": "safe"}')
    world.ours.write_text("mcp_default: acting\ndeadline_seconds: 2\nretention_days: 9\n")
    found = world.load()
    assert found.compiled[0]["scalars"]["mcp_default"] == ["acting", "user lockgate.yaml"]
    assert found.options == GateOptions(2, 9)


@pytest.mark.parametrize("workspace", ["", "relative/path", "/nowhere/at/all", "/a\0b", "/\udcff", "/" + "x" * 300])
def test_a_workspace_that_is_none(world: World, workspace: str) -> None:
    world.ours.write_text(OBSERVE)
    assert [policy.profile.name for policy in world.load(workspace).policies] == ["observe"]


def test_a_session_in_the_home_folder_has_no_project_files(world: World) -> None:
    world.user.write_text('{"mcp_default": "safe"}')
    found = world.load(str(world.home))
    assert len(found.policies) == 1
    assert "project lockbox.json" not in states(found)


def test_a_link_to_the_users_own_file_is_no_project_file(world: World) -> None:
    world.ours.write_text(OBSERVE)
    (world.project / "lockgate.yaml").symlink_to(world.ours)
    assert len(world.load().policies) == 1


# ---------------------------------------------------------------- trust


def test_a_project_only_tightens_until_its_content_is_trusted(world: World) -> None:
    world.theirs.write_text("table: {egress: ask, fetch: deny}\n")
    assert world.cells() == [SHIPPED_CELL, (Verdict.ASK,)]
    assert world.cells("fetch") == [SHIPPED_CELL, (Verdict.DENY,)]
    assert states(world.load())["project lockgate.yaml"] == "untrusted"
    world.trust(world.theirs)
    assert world.cells() == [(Verdict.ASK,)]
    assert states(world.load())["project lockgate.yaml"] == "valid"


def test_one_byte_ends_trust(world: World) -> None:
    world.theirs.write_text(OBSERVE)
    world.trust(world.theirs)
    assert world.cells() == [(Verdict.ALLOW,)]
    world.theirs.write_text(OBSERVE + "\n")
    assert world.cells() == [SHIPPED_CELL, (Verdict.ALLOW,)]


def test_trust_is_for_one_path(world: World) -> None:
    world.theirs.write_text(OBSERVE)
    world.trust(world.project / ".lockgate.yaml", digest_of(OBSERVE.encode()))
    assert len(world.cells()) == 2


def test_options_come_from_trusted_layers(world: World) -> None:
    world.theirs.write_text("deadline_seconds: 60\n")
    assert world.load().options.deadline_seconds is None
    world.trust(world.theirs)
    assert world.load().options.deadline_seconds == 60


def test_a_project_is_the_same_by_whichever_link(world: World, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(world.project)
    world.theirs.write_text(OBSERVE)
    world.trust(world.theirs)
    assert len(world.load(str(tmp_path / "link")).policies) == 1


def test_a_strict_layer_binds_also_trusted_projects(world: World) -> None:
    world.ours.write_text("strict: true\n")
    world.theirs.write_text(OBSERVE)
    world.trust(world.theirs)
    assert sorted(world.cells()) == [(Verdict.ALLOW,), SHIPPED_CELL]


# ---------------------------------------------------------------- what is not valid


def test_the_last_good_content_stands_in(world: World) -> None:
    world.ours.write_text("table: {egress: ask}\n")
    world.load()
    world.ours.write_text("table: {egres: ask}\n")
    found = world.load()
    assert [str(problem) for problem in found.problems] == [
        f"{world.ours}:1: table.egres: unknown key; did you mean `egress`?"
    ]
    assert states(found)["user lockgate.yaml"] == "last good"
    assert world.cells() == [(Verdict.ASK,)]
    assert same(world.load(), found)


def test_without_a_good_content_the_other_layers_hold(world: World) -> None:
    world.user.write_text('{"mcp_default": "safe"}')
    world.ours.write_text("profile: [")
    found = world.load()
    assert states(found)["user lockgate.yaml"] == "invalid"
    assert found.compiled[0]["scalars"]["mcp_default"][0] == "safe"
    assert world.cells() == [(Verdict.DENY,)]


def test_a_file_that_was_removed_leaves_nothing_behind(world: World) -> None:
    world.ours.write_text("table: {egress: ask}\n")
    world.load()
    world.ours.unlink()
    assert world.cells() == [SHIPPED_CELL]
    world.ours.write_text("profile: [")
    assert world.cells() == [SHIPPED_CELL]


def test_the_last_good_content_is_the_newest_that_any_workspace_saw(world: World, tmp_path: Path) -> None:
    world.ours.write_text("table: {egress: ask}\n")
    world.load()
    world.ours.write_text("profile: [")
    assert world.cells() == [(Verdict.ASK,)]
    world.ours.write_text("table: {egress: allow}\n")
    world.load(str(tmp_path))
    world.ours.write_text("profile: [")
    assert world.cells() == [(Verdict.ALLOW,)]


def test_a_broken_project_file_keeps_the_trust_of_its_last_good_content_and_no_more(world: World) -> None:
    world.theirs.write_text(OBSERVE)
    world.trust(world.theirs)
    world.load()
    world.theirs.write_text("profile: observ\n")
    assert world.cells() == [(Verdict.ALLOW,)]
    world.theirs.write_text("table: {egress: ask}\n")
    world.load()
    world.theirs.write_text("profile: observ\n")
    assert world.cells() == [SHIPPED_CELL, (Verdict.ASK,)]


def broken(path: Path, kind: str) -> None:
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "large":
        path.write_bytes(b"#" * 1_000_001)
    else:
        path.write_bytes(b"\xff")


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("folder", "not a regular file"),
        ("pipe", "not a regular file"),
        ("loop", "cannot be read: too many levels of symbolic links"),
        ("device", "not a regular file"),
        ("large", "larger than 1000000 bytes"),
        ("bytes", "not UTF-8"),
    ],
)
@pytest.mark.parametrize("layer", ["user", "ours", "theirs"])
def test_what_cannot_be_read_is_a_problem_and_the_last_good_content_holds(
    world: World, layer: str, kind: str, problem: str
) -> None:
    path: Path = getattr(world, layer)
    path.write_text('{"mcp_default": "acting"}')
    before = world.load()
    broken(path, kind)
    found = world.load()
    assert [(error.file, problem in error.problem) for error in found.problems] == [(str(path), True)]
    assert found.compiled == before.compiled


def test_a_link_to_nothing_is_absent(world: World) -> None:
    world.ours.symlink_to("/nowhere")
    assert world.load().problems == ()


def test_a_folder_that_is_a_file_is_absent(world: World) -> None:
    (world.project / ".claude").rmdir()
    (world.project / ".claude").write_text("x")
    assert world.load().problems == ()


# ---------------------------------------------------------------- what is kept


def count_parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    from lockgate.policy import validation

    asked: list[str] = []
    parse = validation.parse

    def counted(data: bytes, file: str) -> Any:
        asked.append(file)
        return parse(data, file)

    monkeypatch.setattr(validation, "parse", counted)
    return asked


def test_nothing_is_read_twice(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = count_parses(monkeypatch)
    world.user.write_text('{"mcp_default": "safe"}')
    world.theirs.write_text("profile: [")
    first = world.load()
    assert asked == [str(world.user), str(world.theirs)]
    assert same(world.load(), first)
    assert len(asked) == 2
    world.user.write_text('{"mcp_default": "unsafe"}')
    world.load()
    assert len(asked) == 4


def test_another_version_reads_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = count_parses(monkeypatch)
    world.ours.write_text(OBSERVE)
    world.load()
    monkeypatch.setattr(configuration, "__version__", "another")
    world.load()
    assert len(asked) == 2


def test_what_was_kept_and_is_no_json_is_made_anew(world: World) -> None:
    world.ours.write_text(OBSERVE)
    first = world.load()
    with world.store.transaction() as tx:
        for name in tx.settings("config:compiled:"):
            tx.put_setting(name, "{")
    assert same(world.load(), first)


def test_a_folder_whose_name_is_not_text(world: World, tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    Path(folder).mkdir()
    Path(folder, "lockgate.yaml").write_text(OBSERVE)
    assert len(world.load(folder).policies) == 2
    Path(folder, "lockgate.yaml").write_text("profile: [")
    assert len(world.load(folder).policies) == 2


def test_not_more_than_some_workspaces_are_kept(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(configuration, "KEPT", 3)
    for number in range(10):
        world.load(str(tmp_path / str(number)))
    with world.store.reading() as tx:
        assert 1 <= len(tx.settings("config:compiled:")) <= 3


def test_a_hook_imports_nothing_heavy_when_nothing_changed(world: World) -> None:
    world.user.write_text('{"bash_patterns": {"safe": ["^x"]}, "mcp_tools": {"mcp__a__b": "safe"}}')
    world.theirs.write_text("profile: [")
    world.load()
    script = f"""
import sys
from lockgate.configuration.load import load
from lockgate.policy.decide import decide
from lockgate.store.sqlite.store import SqliteStore
store = SqliteStore.open_existing({str(world.state)!r})
where = dict(home={str(world.home)!r}, config_dir={str(world.config)!r}, workspace={str(world.project)!r})
found = load(store, state={str(world.state)!r}, **where)
assert len(found.problems) == 1, found.problems
heavy = {HEAVY!r}.split()
print(" ".join(name for name in heavy if name in sys.modules))
"""
    command = [sys.executable, "-I", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_kept_configuration_is_what_was_read(world: World) -> None:
    world.user.write_text('{"bash_patterns": {"safe": ["^x"]}, "tools": {"X": "safe"}}')
    world.theirs.write_text("services: {s: {public_sink: false}}\ntrusted_domains: [h]\nsecret_paths: [p]\n")
    read, kept = world.load(), world.load()
    assert kept.compiled == read.compiled
    for one, other in zip(read.policies, kept.policies, strict=True):
        assert one.profile == other.profile
        assert one.rules.trusted_domains == other.rules.trusted_domains
        assert one.rules.service("s") == other.rules.service("s")
        assert one.rules.command_category("x", ("x",)) == other.rules.command_category("x", ("x",))
    assert json.dumps(read.compiled) == json.dumps(kept.compiled)


# ---------------------------------------------------------------- the workspace around a folder


@pytest.mark.parametrize(
    ("mark", "start", "found"),
    [
        (".git", "a/b", "a"),
        ("lockgate.yaml", "a/b", "a"),
        (".lockgate.yaml", "a", "a"),
        (None, "a/b", "a/b"),
    ],
)
def test_find_workspace(tmp_path: Path, mark: str | None, start: str, found: str) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    if mark:
        (tmp_path / "a" / mark).touch()
    assert find_workspace(str(tmp_path / start), str(tmp_path)) == str(tmp_path / found)


def test_a_repository_around_the_home_folder_is_no_project(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "home" / "work").mkdir(parents=True)
    assert find_workspace(str(tmp_path / "home" / "work"), str(tmp_path / "home")) == str(tmp_path / "home" / "work")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        layers.read_file(str(tmp_path / "pipe"))
