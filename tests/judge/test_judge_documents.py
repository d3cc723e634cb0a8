"""What the documents say of the judge is what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lockgate.core.model import LabelState, Verdict
from lockgate.gate.judge import anthropic as anthropic_messages
from lockgate.gate.judge import http as asking
from lockgate.gate.judge import material, settings
from lockgate.policy.profiles import read_shipped_profiles
from lockgate.policy.validation import parse, schema_text

DOCS = Path(__file__).parents[2] / "docs"
KEYS = json.loads(schema_text("lockgate"))["properties"]["judge"]["properties"]


def defaults(document: str) -> dict[str, str]:
    text = (DOCS / document).read_text("utf-8")
    return dict(re.findall(r"^\| `([a-z_]+)` \| (.*?) \|", text, re.MULTILINE))


@pytest.mark.parametrize("document", ["judge.md", "configuration-people.md"])
def test_every_key_is_described_with_its_default(document: str) -> None:
    said = defaults(document)
    assert [key for key in KEYS if key not in said] == []
    assert set(KEYS) <= set(settings.JudgeSettings._fields)
    assert said["model"] == f"`{settings.ANTHROPIC_MODEL}`"
    assert said["timeout_seconds"] == f"{settings.TIMEOUT_SECONDS:g}"
    assert said["max_concurrent"] == str(settings.MAX_CONCURRENT)
    assert said["cache_seconds"] == str(settings.CACHE_SECONDS)


def test_the_limits_are_those_of_the_code() -> None:
    text = (DOCS / "judge.md").read_text("utf-8")
    assert f"{material.MAX_CALL:,} characters" in text
    assert f"{asking.MAX_ANSWER // 1024} KB" in text
    assert asking._TRIES - 1 == 3
    assert "up to three times" in text
    assert settings.ANTHROPIC_MODEL in anthropic_messages._EFFORT


def test_samples_are_valid() -> None:
    samples = re.findall(r"```yaml\n(.*?)```", (DOCS / "judge.md").read_text("utf-8"), re.DOTALL)
    assert len(samples) == 2
    for sample in samples:
        parsed = parse(sample.encode(), "lockgate.yaml")
        assert parsed.problems == ()
        assert parsed.value is not None
        settings.settings_of(parsed.value["judge"])


def test_no_shipped_table_lets_a_judge_decide_alone_where_both_labels_meet_a_way_out() -> None:
    for profile in read_shipped_profiles().values():
        for row in ("egress", "persist", "destroy", "tamper", "tamper_self"):
            assert Verdict.JUDGE not in profile.cell(row, LabelState.BOTH), (profile.name, row)
        assert not any(Verdict.JUDGE in profile.cell(row, LabelState.CLEAN) for row in profile.table)
    assert [name for name, profile in read_shipped_profiles().items() if profile.says(Verdict.JUDGE)] == [
        "cascade",
        "trifecta",
    ]
