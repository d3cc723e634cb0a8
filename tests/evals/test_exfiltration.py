"""A part of the ways out is tried: heard without a sandbox, and not in one. All of them: ``make containment``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "evals/containment"
sys.path.append(str(FOLDER))

import exfiltration  # noqa: E402
from starting import LAUNCHERS  # noqa: E402

ATTACKS = exfiltration.attacks()
PART = (
    "tcp",
    "a question for a name, by hand",
    "the kernel's calls, by number",
    "docker, by another process's root",
    "the gate's own socket",
    "a letter to a name without a file",
    "a hook of git",
    "a pipe of a player, deep in the home folder",
    "the memory of another process, as a file",
    "what is left for later",
)


@pytest.fixture(scope="module")
def kept() -> dict[str, str]:
    return exfiltration.begun()


def test_there_are_enough_of_every_kind() -> None:
    names = [attack["name"] for attack in ATTACKS]
    assert len(set(names)) == len(names) >= 60
    assert {attack["by"] for attack in ATTACKS} == set(LAUNCHERS)
    assert set(PART) <= set(names)


@pytest.mark.parametrize("name", PART)
def test_nothing_gets_out(name: str, kept: dict[str, str]) -> None:
    attack = next(attack for attack in ATTACKS if attack["name"] == name)
    outcome = exfiltration.tried(attack, exfiltration.WAYS, kept)
    assert outcome.proves, outcome
    assert not outcome.leaks, outcome


def test_a_leak_would_be_seen(kept: dict[str, str]) -> None:
    """With a way to contain that contains nothing."""
    attack = next(attack for attack in ATTACKS if attack["name"] == "a pipe in the project")
    outcome = exfiltration.tried(attack, ("none",), kept)
    assert outcome.leaks
