"""What counts as a client's record of a session, which nobody but the client may write."""

from __future__ import annotations

import pytest

from lockgate.gate.host.host_view import host_view_of
from lockgate.resources.host_view import AnalysisRules, records_folder
from lockgate.resources.paths import write_effects
from lockgate.system.folders import Folders

HOME, PROJECT, TASKS = "/home/user", "/home/user/project", "/tmp/claude-1000"
ROOTS = (HOME, PROJECT, "", TASKS)


@pytest.mark.parametrize(
    ("transcript", "records"),
    [
        pytest.param("", (), id="none"),
        pytest.param("relative/s1.jsonl", (), id="not absolute"),
        pytest.param(
            "/home/user/.client/sessions/s1.jsonl", ("/home/user/.client/sessions",), id="a folder of its own"
        ),
        pytest.param("/home/username/s1.jsonl", ("/home/username",), id="a name that begins alike"),
        pytest.param("/home/user/s1.jsonl", ("/home/user/s1.jsonl", "/home/user/s1"), id="in the home folder"),
        pytest.param("/home/user/a/../s1.jsonl", ("/home/user/a/../s1.jsonl", "/home/user/a/../s1"), id="by a detour"),
        pytest.param("/home/s1.jsonl", ("/home/s1.jsonl", "/home/s1"), id="above it"),
        pytest.param("/s1.jsonl", ("/s1.jsonl", "/s1"), id="at the root"),
        pytest.param(f"{PROJECT}/s1.jsonl", (f"{PROJECT}/s1.jsonl", f"{PROJECT}/s1"), id="in the project"),
        pytest.param("/tmp/s1.jsonl", ("/tmp/s1.jsonl", "/tmp/s1"), id="among temporary files"),
        pytest.param("/tmp/x/s1.jsonl", ("/tmp/x",), id="below temporary files"),
    ],
)
def test_the_folder_of_a_transcript_holds_records_unless_it_holds_other_files_too(transcript, records):
    assert records_folder(transcript, ROOTS) == records


def test_a_project_below_the_transcripts_folder_can_be_written(tmp_path):
    where = Folders(str(tmp_path), f"{tmp_path}/.local/state/lockgate", f"{tmp_path}/.config/lockgate")
    project = f"{tmp_path}/project"
    around = host_view_of(where, project, f"{tmp_path}/s1.jsonl", AnalysisRules())

    def rules(path: str) -> set[str]:
        return {effect.rule for effect in write_effects(path, project, around)}

    assert rules("file.txt") == set()
    assert rules(f"{tmp_path}/other.jsonl") & {"place:tamper/client"} == set()
    for record in ("s1.jsonl", "s1/subagents/a1.jsonl"):
        assert "place:tamper/client" in rules(f"{tmp_path}/{record}")
