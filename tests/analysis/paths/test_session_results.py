"""Which stored results the running machine takes for a session's own."""

from __future__ import annotations

import os

import pytest

from lockgate.gate.host.host_view import host_view_of
from lockgate.resources.host_view import AnalysisRules
from lockgate.resources.paths import read_effects
from lockgate.system.folders import Folders

SESSION = "5712da6a-a90b-4424-b0f0-9c56d55425da"


@pytest.fixture
def where(tmp_path):
    home = str(tmp_path / "home")
    return Folders(home, f"{home}/.local/state/lockgate", f"{home}/.config/lockgate")


def labels(where: Folders, path: str) -> set[str]:
    transcript = f"{where.home}/.claude/projects/-work/{SESSION}.jsonl"
    around = host_view_of(where, "/work", transcript, AnalysisRules())
    return {str(effect.gives) for effect in read_effects(path, "/work", around)}


def test_a_background_commands_output_was_labelled_when_it_started(where, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    tasks = f"{tmp_path}/tmp/claude-{os.getuid()}/-work/{SESSION}/tasks"
    assert labels(where, f"{tasks}/bwfnlvxqp.output") == set()
    assert labels(where, f"{tasks}/a114f3203744f2c8a.output") == {"untrusted"}
    assert labels(where, f"{tasks.replace(SESSION, 'other')}/bwfnlvxqp.output") == {"untrusted"}


def test_a_long_result_was_labelled_when_it_came(where):
    folder = f"{where.home}/.claude/projects/-work"
    assert labels(where, f"{folder}/{SESSION}/tool-results/x.txt") == set()
    assert labels(where, f"{folder}/other/tool-results/x.txt") == {"untrusted"}
    assert labels(where, f"{folder}/{SESSION}.jsonl") == {"untrusted"}
    assert labels(where, f"{folder}/{SESSION}/subagents/agent-a1.jsonl") == {"untrusted"}


@pytest.mark.parametrize("transcript", ["", "relative/x.jsonl", "/x/*.jsonl", "/x/s.txt", "/x/.jsonl", "/x/**.jsonl"])
def test_a_strange_transcript_names_no_results(where, transcript):
    assert host_view_of(where, "/work", transcript, AnalysisRules()).session_results == ()
