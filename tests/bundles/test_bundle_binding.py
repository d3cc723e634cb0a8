"""What a fleet's policy means: it is the lowest layer, and nobody above it can loosen what it fixes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bundles.fleets import Machine, packed
from lockgate.configuration.bundles import layers as binding
from lockgate.configuration.layers.files import digest_of, trust_name
from lockgate.configuration.load import Configuration, load
from lockgate.configuration.pattern_library.layers import Gathered, gather, looks_at
from lockgate.core.errors import PatternError
from lockgate.core.model import LabelState, Verdict
from lockgate.patterns.model import Mode
from lockgate.policy.profiles import FIXED_ROWS, read_shipped_profiles
from lockgate.policy.validation import parse
from lockgate.system.folders import Folders
from support.prepared import open_new

CLEAN = LabelState.CLEAN


class World(Machine):
    """A machine with a person's and a project's own files."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.where = Folders(str(root / "home"), str(self.state), str(root / "config"))
        self.user, self.project = root / "config" / "lockgate.yaml", root / "work"
        for folder in (root / "home", root / "config", self.project):
            folder.mkdir()
        self.store = open_new(self.state)

    def put_files(self, serial: int = 1, **files: str) -> None:
        named = {name.replace("_", "."): text.encode() for name, text in files.items()}
        self.put(packed(serial, files=named))

    def load(self, program: Mapping[str, Any] | None = None) -> Configuration:
        return load(
            self.store,
            home=self.where.home,
            config_dir=self.where.config,
            workspace=str(self.project),
            state=self.where.state,
            program=program,
        )

    def verdict(self, row: str = "egress", column: LabelState = CLEAN) -> Verdict:
        """The strictest of all policies, at its mildest."""
        return max(policy.profile.cell(row, column)[0] for policy in self.load().policies)

    def gathered(self) -> Gathered:
        with self.store.reading() as tx:
            return gather(tx, looks_at(self.where, str(self.project)))

    def mode(self, group: str) -> Mode:
        return next(each.mode for each in self.gathered().linked.library.groups if each.id == group)

    def trust(self, path: Path) -> None:
        with self.store.transaction() as tx:
            tx.put_setting(trust_name(str(path)), digest_of(path.read_bytes()))

    def audited(self) -> list[str]:
        with self.store.reading() as tx:
            return [json.loads(row.body)["event"] for row in tx.audit()]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()


def test_without_a_policy_every_effect_is_denied_and_the_session_is_told(world: World) -> None:
    world.user.write_text("profile: observe\n")
    found = world.load()
    for row in read_shipped_profiles()["quarantine"].table.keys() - FIXED_ROWS:
        assert {world.verdict(row, column) for column in LabelState} == {Verdict.DENY}
    assert world.verdict("local") is Verdict.ALLOW
    assert ["no valid policy" in str(problem) for problem in found.problems] == [True]


def test_what_locks_is_a_valid_configuration_that_names_every_row() -> None:
    parsed = parse(json.dumps(binding.make_locked_configuration()).encode(), "locked.json")
    assert parsed.problems == ()
    assert set(binding.make_locked_configuration()["table"]) >= {
        "ingest",
        "egress",
        "execute",
        "persist",
        "tamper",
        "read_secret",
    }


def test_a_new_policy_holds_at_the_next_event_and_is_in_the_audit(world: World) -> None:
    world.put_files(1, lockgate_yaml="table: {egress: deny}\n")
    assert world.verdict() is Verdict.DENY
    world.put_files(2, lockgate_yaml="table: {egress: ask}\n")
    assert world.verdict() is Verdict.ASK
    world.put_files(1, lockgate_yaml="profile: observe\n")
    assert world.verdict() is Verdict.ASK
    assert "old" in str(world.load().problems)
    assert world.audited() == ["policy-accepted", "policy-accepted", "policy-refused"]


LOOSER = {
    "another profile": "profile: observe\n",
    "a cell": "table: {egress: allow, execute: allow}\n",
    "not strict": "strict: false\ntable: {egress: allow}\n",
    "a pattern": 'override_safe: [".*"]\nbash_patterns: {safe: [".*"]}\n',
    "a trusted host": "trusted_domains: ['*.example.com']\n",
    "no protection": 'protected_paths: ["!deploy/**"]\n',
}


@pytest.mark.parametrize("text", LOOSER.values(), ids=LOOSER)
def test_a_person_cannot_loosen_what_the_fleet_fixes(world: World, text: str) -> None:
    world.put_files(1, lockgate_yaml="table: {egress: deny}\nprotected_paths: [deploy/**]\n")
    world.user.write_text(text)
    found = world.load()
    assert found.problems == ()
    assert world.verdict() is Verdict.DENY
    floor = found.policies[1].rules
    assert floor.protected_paths == ("deploy/**",)
    assert floor.command_category is not None
    assert found.compiled[1]["patterns"] == []
    assert found.compiled[1]["trusted_domains"] == []


def test_a_program_that_uses_the_gate_cannot_loosen_either(world: World) -> None:
    world.put_files(1, lockgate_yaml="table: {egress: deny}\n")
    found = world.load(program={"profile": "observe", "table": {"egress": "allow"}})
    assert max(policy.profile.cell("egress", CLEAN)[0] for policy in found.policies) is Verdict.DENY


def test_an_unsigned_managed_file_cannot_loosen_either(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etc").mkdir()
    monkeypatch.setattr("lockgate.configuration.load.find_managed_folder", lambda: str(tmp_path / "etc"))
    (tmp_path / "etc" / "lockgate.yaml").write_text('profile: observe\noverride_safe: [".*"]\n')
    world.put_files(1, lockgate_yaml="table: {egress: deny}\n")
    assert world.verdict() is Verdict.DENY
    assert world.load().compiled[1]["patterns"] == []


def test_a_person_can_tighten(world: World) -> None:
    world.put_files(1, lockgate_yaml="table: {egress: ask}\n")
    world.user.write_text("table: {egress: deny}\n")
    assert world.verdict() is Verdict.DENY


def test_a_trusted_project_cannot_loosen_either(world: World) -> None:
    world.put_files(1, lockgate_yaml="table: {egress: deny}\n")
    (world.project / "lockgate.yaml").write_text("table: {egress: allow}\n")
    world.trust(world.project / "lockgate.yaml")
    assert world.verdict() is Verdict.DENY


SINGLE = {
    "the judge": (
        "judge",
        "judge: {model: fleet-model}\n",
        "judge: {api: openai, model: mine, base_url: 'http://127.0.0.1:1/v1'}\n",
    ),
    "whom to ask": ("approvals", "approvals: {headless: deny}\n", "approvals: {headless: wait}\n"),
    "the deadline": ("deadline_seconds", "deadline_seconds: 2\n", "deadline_seconds: 1\n"),
    "how long is kept": ("retention_days", "retention_days: 90\n", "retention_days: 1\n"),
}


@pytest.mark.parametrize(("key", "fleet", "user"), SINGLE.values(), ids=SINGLE)
def test_a_single_value_of_the_fleet_holds(world: World, key: str, fleet: str, user: str) -> None:
    world.user.write_text(user)
    own = getattr(world.load().options, key)
    world.put_files(1, lockgate_yaml=fleet)
    found = world.load()
    assert getattr(found.options, key) != own
    assert any(f"user lockgate.yaml:{key}" == note[0] for note in found.compiled[0]["notes"])
    world.put_files(2, lockgate_yaml="table: {egress: deny}\n")
    assert getattr(world.load().options, key) == own  # what the fleet does not say is the person's


def test_plugins_and_rules_of_git_are_of_both(world: World) -> None:
    from lockgate.gate.objections import rule_sets

    world.put_files(1, lockgate_yaml="plugins: [fleet]\ngit: {push: deny}\n")
    world.user.write_text("plugins: [mine]\ngit: {push: allow}\n")
    sets = rule_sets(world.load())
    assert {plugin.text for plugin in sets.plugins} == {"fleet", "mine"}
    assert len(sets.git) == 2


def test_lockboxs_own_file_binds_too(world: World) -> None:
    world.put_files(1, lockbox_json='{"bash_patterns": {"acting": ["^deploy"]}}')
    world.user.write_text('bash_patterns: {safe: ["^deploy"], acting: ["!^deploy"]}\n')
    floor = world.load().compiled[-1]
    assert [(step, written) for step, _, _, _, written in floor["patterns"]] == [("acting", "^deploy")]


def test_a_policy_that_this_version_cannot_read_locks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.put_files(1, lockgate_yaml="profile: cascade\n")
    assert world.verdict("ingest") is Verdict.ALLOW

    def refuse(data: bytes, file: str) -> Any:
        return parse(b"profil: x", file)

    monkeypatch.setattr("lockgate.policy.validation.parse", refuse)
    monkeypatch.setattr("lockgate.configuration.load.__version__", "another")
    assert world.verdict("ingest") is Verdict.DENY
    assert "fleet lockgate.yaml" in str(world.load().problems)


def test_a_policy_that_is_damaged_on_the_disk_locks_until_it_is_whole_again(world: World) -> None:
    world.put_files(1, lockgate_yaml="profile: cascade\n")
    digest = world.look().digest
    path = world.state / "policy" / f"{digest}.bundle"
    data = path.read_bytes()
    path.write_bytes(data[:100])
    assert world.verdict("ingest") is Verdict.DENY
    path.write_bytes(data)
    assert world.verdict("ingest") is Verdict.ALLOW


# ---------------------------------------------------------------- patterns

GROUP = "secrets_detection"
OFF = "patterns: {input: {%s: {mode: 'off'}}}\n"
BLOCK = "patterns: {input: {%s: {mode: block}}}\n"


def test_patterns_of_the_fleet_bind_those_of_a_person_and_of_a_trusted_project(world: World) -> None:
    world.put_files(1, lockgate_yaml="{}\n")
    users = world.user.with_name("patterns.yaml")
    users.write_text(OFF % GROUP)
    assert world.mode(GROUP) is Mode.OFF  # a bundle without patterns leaves them to the machine
    world.put_files(2, patterns_yaml=BLOCK % GROUP)
    assert world.mode(GROUP) is Mode.BLOCK
    theirs = world.project / "lockgate.patterns.yaml"
    theirs.write_text(OFF % GROUP)
    world.trust(theirs)
    found = world.gathered()
    assert world.mode(GROUP) is Mode.BLOCK
    states = {layer.name: layer.state for layer in found.layers}
    assert states["fleet patterns.yaml"] == "valid"
    assert states["user patterns.yaml"] == states["project lockgate.patterns.yaml"] == "bound"
    world.put_files(3, patterns_yaml=OFF % GROUP)
    assert world.mode(GROUP) is Mode.OFF


def test_a_note_says_that_the_fleet_binds(world: World) -> None:
    world.put_files(1, patterns_yaml="patterns: {}\n")
    world.user.with_name("patterns.yaml").write_text(f"patterns: {{input: {{{GROUP}: {{timeout_ms: 1}}}}}}\n")
    assert "it can only tighten where the fleet's policy binds" in "".join(world.gathered().notes)


def test_without_a_policy_no_pattern_is_loosened(world: World) -> None:
    world.put_files(1, lockgate_yaml="{}\n")
    world.user.with_name("patterns.yaml").write_text(OFF % GROUP)
    world.pin("bob")
    assert world.mode(GROUP) is Mode.BLOCK


def test_patterns_that_cannot_be_read_stop_every_call(world: World) -> None:
    world.put_files(1, patterns_yaml="patterns: {}\n")
    world.load()
    (world.state / "policy" / f"{world.look().digest}.bundle").unlink()
    with pytest.raises(PatternError, match="the fleet's patterns"):
        world.gathered()
