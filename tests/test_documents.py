"""What the documents say is so: their tables, their samples of configuration and their samples of output."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockgate.cli.main import cli
from lockgate.core.model import LabelState, Verdict
from lockgate.policy.decide import possible
from lockgate.policy.profiles import read_shipped_profiles
from lockgate.policy.validation import parse, schema_text

ROOT = Path(__file__).resolve().parents[1]
DOCS = {path.name: path.read_text("utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]}

CONFIGURATION = sorted(name for name in DOCS if name.startswith("configuration"))
"""The pages of the keys of lockgate.yaml."""
KEYS = "\n".join(DOCS[name] for name in CONFIGURATION)

SAMPLES = [
    pytest.param(sample, id=f"{name}-{number}")
    for name in (*CONFIGURATION, "approvals-told.md", "guide.md", "lockbox-compatibility.md")
    for number, sample in enumerate(re.findall(r"```yaml\n(.*?)```", DOCS[name], re.DOTALL), 1)
]

ROWS = {
    "local": "local",
    "fetch: a new address": "fetch",
    "fetch: a known address": "fetch_known",
    "egress": "egress",
    "execute: code that cannot be seen through": "execute",
    "persist": "persist",
    "destroy on another machine": "destroy_remote",
    "destroy on this machine, tamper": "destroy",
    "tampering with Lockgate, approving oneself": "tamper_self",
}


@pytest.mark.parametrize("name", ["quarantine", "cascade", "trifecta"])
def test_the_tables_of_the_profiles_are_the_profiles(name: str) -> None:
    table = DOCS["profiles-tables.md"].partition(f"### {name}\n")[2].partition("\n#")[0]
    told = {row: cells.split(" | ") for row, cells in re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)}
    profile = read_shipped_profiles()[name]
    assert set(told) == set(profile.table)
    for row, cells in told.items():
        due = [", else ".join(verdict.word for verdict in profile.cell(row, column)) for column in LabelState]
        assert cells == due, row


@pytest.mark.parametrize("sample", SAMPLES)
def test_samples_of_configuration_are_valid(sample: str) -> None:
    assert parse(sample.encode(), "lockgate.yaml").problems == ()


def test_the_sample_of_patterns_is_valid_and_its_examples_hold(tmp_path: Path) -> None:
    sample = re.search(r"```yaml\n(schema_version.*?)```", DOCS["patterns.md"], re.DOTALL)
    assert sample
    (tmp_path / "patterns.yaml").write_text(sample[1])
    assert CliRunner().invoke(cli, ["patterns", "test", str(tmp_path / "patterns.yaml")]).exit_code == 0


def test_every_key_of_the_schema_is_described_and_in_the_example() -> None:
    keys = [key for key in json.loads(schema_text("lockgate"))["properties"] if key != "$schema"]
    example = (ROOT / "examples" / "lockgate.yaml").read_text("utf-8")
    assert [key for key in keys if f"`{key}`" not in KEYS] == []
    assert [key for key in keys if not re.search(rf"^{key}:", example, re.MULTILINE)] == []


def test_every_row_of_the_table_is_described() -> None:
    rows = {row for profile in read_shipped_profiles().values() for row in profile.table} - {"local", "tamper_self"}
    assert {row for row in rows if f"| `{row}` |" not in KEYS} == set()


@pytest.mark.parametrize(("title", "row"), ROWS.items())
def test_the_default_table_is_shown(title: str, row: str) -> None:
    able = frozenset({Verdict.CONTAIN, Verdict.ASK})
    chains = [read_shipped_profiles()["quarantine"].cell(row, column) for column in LabelState]
    # A star: only where a person is proven to be there.
    cells = [possible(chain, able).word + "\\*" * (chain == (Verdict.ASK, Verdict.DENY)) for chain in chains]
    assert f"| {title} | {' | '.join(cells)} |" in DOCS["how-it-decides.md"]


def test_every_extra_is_named() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    told = DOCS["install.md"].partition("### Extras\n")[2].partition("There are")[2].partition("\n\n")[0]
    together, _, others = told.partition("together")
    whole = set(extras.pop("all")[0].removeprefix("lockgate[").removesuffix("]").split(","))
    assert set(re.findall(r"`([a-z-]+)`", together)) - {"all"} == whole
    assert set(re.findall(r"`([a-z-]+)`", others)) == set(extras) - whole


def test_each_sample_of_explain_is_what_it_prints() -> None:
    samples = re.findall(r"^\$ lockgate (explain .*)\n((?:.*\n)*?)```", DOCS["explain.md"], re.MULTILINE)
    assert len(samples) == 3
    for words, printed in samples:
        assert CliRunner().invoke(cli, shlex.split(words)).output == printed


def test_the_architecture_names_modules_that_are_there() -> None:
    there = [*(ROOT / "src").rglob("*.*"), *(ROOT / "evals").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    named = set(re.findall(r"[\w/*]+\.(?:py|yaml)\b", DOCS["architecture.md"])) - {"lockgate.yaml"}
    assert {name for name in named if not any(path.match(name) for path in there)} == set()
