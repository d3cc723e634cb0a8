"""``lockgate demo``: what a newcomer sees first has to be true."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

from support import forked


def _demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return forked.run_text(["demo", *arguments], cwd=os.getcwd(), env=os.environ | {"NO_COLOR": "1"})


@pytest.mark.parametrize(("answer", "after", "blocked"), [("--yes", 2, 6), ("--no", 1, 6)])
def test_nothing_leaves_but_what_the_person_lets_through(answer, after, blocked):
    done = _demo("--json", answer)
    assert (done.returncode, done.stderr) == (0, "")
    measured: dict[str, Any] = json.loads(done.stdout)
    assert (measured["commits_pushed_before"], measured["commits_pushed_after"]) == (1, after)
    assert measured["calls_blocked"] == blocked
    # Where this machine has no sandbox, the project's code is a question.
    assert measured["calls_contained"] + measured["questions_to_the_person"] == 2
    assert measured["audit_chain_holds"]


def test_it_shows_what_stops_and_what_goes_on():
    done = _demo("--yes")
    assert (done.returncode, done.stderr) == (0, "")
    for line in (
        "    goes on  git diff --stat",
        "    blocked  git push origin main",
        "   delegate  git push origin main",
    ):
        assert line in done.stdout.splitlines()
    assert "\x1b" not in done.stdout
