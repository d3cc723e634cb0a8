"""Where values flow, real bash has the last word: what it ran is known to the analysis, or said to be unknown."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from flow_scripts import scripts

from lockgate.core.model import EffectKind
from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell
from support.bash_oracle import run
from support.stress import times

_SCRIPTS = int(os.environ.get("FLOW_SCRIPTS", times(400)))
_SEED = int(os.environ.get("FLOW_SEED", "1"))


def _programs(text: str, around: HostView) -> set[str | None] | None:
    """The programs that a script can run, or ``None`` where the analysis says that they are not known."""
    analysis = analyse_shell(text, "/work/project", around)
    # A canary is a program of which nothing is known: that alone is no sign that others are expected.
    if any(effect.kind is EffectKind.EXECUTE and effect.rule != "shell:unknown-program" for effect in analysis.effects):
        return None
    return None if None in analysis.programs else set(analysis.programs)


def misses(texts: list[str], around: HostView) -> tuple[dict[str, set[str]], int]:
    """The programs that ran without being expected, by script; and how many scripts were followed to their end."""
    found: dict[str, set[str]] = {}
    followed = 0
    for text, commands in zip(texts, run(texts), strict=True):
        expected = _programs(text, around)
        followed += expected is not None
        ran = {command.argv[0].rpartition("/")[2] for command in commands if command.argv}
        if expected is not None and ran - expected:
            found[text] = ran - expected
    return found, followed


@pytest.mark.stress
def test_random_scripts(around: HostView) -> None:
    texts = list(scripts(_SCRIPTS, _SEED))

    found, followed = misses(texts, around)

    assert followed > len(texts) // 5
    assert found == {}


def test_past_misses(around: HostView) -> None:
    table = tomllib.loads((Path(__file__).parent / "flow_past_misses.toml").read_text(encoding="utf-8"))

    assert misses(table["texts"], around)[0] == {}
