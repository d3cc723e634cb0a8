"""A person's word that a stop was needless, over the API: the case becomes a file, and nothing else happens."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.api_server import Machine

TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture
def reports(machine: Machine) -> Iterator[Path]:
    """The folder of the reports; what a test has written there is gone after it."""
    folder = Path(machine.state, "reports")
    yield folder
    for file in folder.glob("*"):
        file.unlink()


@pytest.mark.parametrize("what", ["question", "refusal", "asked in the client"])
def test_a_stop_becomes_a_file(machine: Machine, person: httpx.Client, reports: Path, what: str) -> None:
    command = f"git push https://{TOKEN}@git.example.com/x && cat {machine.home}/notes"
    approval = machine.asked(command)
    verdict = "ask" if what.startswith("asked") else "deny"
    stop = f"approvals/{approval}" if what == "question" else f"decisions/{machine.decided('s1', command, verdict)}"
    answer = person.post(f"{stop}/needless")
    assert answer.status_code == 200, answer.text
    [report] = reports.glob("*")
    assert answer.json() == {"file": str(report)}
    text = report.read_text()
    assert "git push" in text
    assert "**Decided then**:" in text
    assert TOKEN not in text
    assert str(machine.home) not in text
    assert (stat.S_IMODE(report.stat().st_mode), stat.S_IMODE(reports.stat().st_mode)) == (0o600, 0o700)
    assert machine.row(approval).state == "pending", "it is no answer"


def test_what_was_not_stopped_is_none(machine: Machine, person: httpx.Client, reports: Path) -> None:
    answer = person.post(f"decisions/{machine.decided(verdict='allow')}/needless")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_stopped")
    other = machine.recorded({"event": "outcome", "session": "s1"})
    for stop in ("approvals/nobody", "decisions/999999", f"decisions/{other}"):
        assert person.post(f"{stop}/needless").status_code == 404
    assert list(reports.glob("*")) == []


@pytest.mark.parametrize("program", ["reader", "approver"])
def test_no_program_says_so(
    machine: Machine, request: pytest.FixtureRequest, reports: Path, program: str, approval: str
) -> None:
    client: httpx.Client = request.getfixturevalue(program)
    for stop in (f"approvals/{approval}", f"decisions/{machine.decided()}"):
        assert client.post(f"{stop}/needless").status_code == 403
    assert list(reports.glob("*")) == []


def test_a_record_that_somebody_wrote_does_no_harm(machine: Machine, person: httpx.Client, reports: Path) -> None:
    odd = {"event": "decision", "verdict": "deny", "tool": ["\x1b"], "input": 7, "reasons": {"a": 1}, "cwd": None}
    answer = person.post(f"decisions/{machine.recorded(odd)}/needless")
    assert answer.status_code == 200, answer.text
    [report] = reports.glob("*")
    assert "\x1b" not in report.read_text()


def test_a_folder_that_cannot_be_written_is_told(machine: Machine, person: httpx.Client, approval: str) -> None:
    folder = Path(machine.state, "reports")
    if folder.is_dir():
        folder.rmdir()
    folder.write_text("no folder")
    try:
        answer = person.post(f"approvals/{approval}/needless")
    finally:
        folder.unlink()
    assert (answer.status_code, answer.json()["code"]) == (503, "state")
    assert str(machine.home) not in answer.text
