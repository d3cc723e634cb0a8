"""Which calls a client is not to ask about where a person's configuration says ``prompts: fewer``."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.test_containment import Containing
from lockgate.core.model import Verdict

LOCAL = {
    "look": "ls -la src",
    "pipe": "grep -rn TODO src | sort | uniq -c | head",
    "folder first": "cd src && ls",
    "a loop": "for name in a b c; do echo $name; done",
    "a variable in front": "LC_ALL=C sort names.txt",
    "a new folder": "mkdir -p src/parts",
    "a commit": "git add -A && git commit -qm 'Add parts'",
    "own history": "git log --oneline -5",
}
SEEN = {
    "code of the project": "python3 tool.py",
    "sends": "curl -d @notes.txt https://example.org/",
    "pushes": "git push origin main",
    "fetches": "curl https://example.org/",
    "reads a secret": "cat .env",
    "a later shell runs it": "echo alias ls=x >> ~/.bashrc",
    "cannot be read": "$CMD now",
    "removes for good": "rm -rf ~/music",
}
LEAVES = {
    "a new folder": "mkdir -p src/parts",
    "a commit": "git add -A && git commit -qm 'Add parts'",
    "a file": "echo 'import os' > conftest.py",
}


@pytest.fixture
def world(tmp_path: Path) -> Containing:
    made = Containing(tmp_path)
    configured(made, "prompts: fewer")
    return made


def configured(world: Containing, text: str) -> None:
    (world.config / "lockgate.yaml").write_text(f"{text}\n")


def harmless(world: Containing, command: str) -> bool:
    return world.ask("Bash", {"command": command})[0].harmless


@pytest.mark.parametrize("command", LOCAL.values(), ids=LOCAL)
def test_a_clean_session_asks_about_no_local_command(world: Containing, command: str) -> None:
    assert harmless(world, command)


@pytest.mark.parametrize("command", SEEN.values(), ids=SEEN)
def test_what_is_not_proven_to_be_local_stays_the_clients_question(world: Containing, command: str) -> None:
    assert not harmless(world, command)


@pytest.mark.parametrize("command", LEAVES.values(), ids=LEAVES)
def test_with_a_label_nothing_is_left_behind_unseen(world: Containing, command: str) -> None:
    assert harmless(world, command)
    world.taint()
    assert not harmless(world, command)
    assert harmless(world, "ls -la src")


def test_what_runs_contained_needs_no_question(world: Containing) -> None:
    world.taint()
    answer, _ = world.ask("Bash", {"command": "./build.sh"})
    assert (answer.verdict, answer.harmless) == (Verdict.CONTAIN, True)
    world.able = False
    answer, _ = world.ask("Bash", {"command": "./build.sh"})
    assert not answer.harmless


@pytest.mark.parametrize(
    ("tool", "given_input"),
    [
        ("Write", {"file_path": "/home/u/work/a.txt", "content": "x"}),
        ("Edit", {"file_path": "/home/u/work/a.txt", "old_string": "x", "new_string": "y"}),
        ("mcp__tracker__list", {}),
        ("Agent", {"prompt": "look", "subagent_type": "general-purpose"}),
        ("Read", {"file_path": "/home/u/work/a.txt"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_only_shell_commands_count(world: Containing, tool: str, given_input: dict[str, str]) -> None:
    """What a person did not see in an edit could be what the next command runs."""
    assert not world.ask(tool, given_input)[0].harmless


@pytest.mark.parametrize("text", ["", "prompts: client"], ids=["nothing said", "said"])
def test_the_client_asks_as_ever_without_it(world: Containing, text: str) -> None:
    configured(world, text)
    assert not harmless(world, "ls")


def test_no_project_may_say_so(world: Containing) -> None:
    configured(world, "")
    (world.project / "lockgate.yaml").write_text("prompts: fewer\n")
    assert not harmless(world, "ls")


def test_a_fleet_may_forbid_it(world: Containing) -> None:
    configured(world, "prompts: client\nstrict: true")
    assert not harmless(world, "ls")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(parts=st.lists(st.sampled_from([*LOCAL.values(), *SEEN.values()]), min_size=1, max_size=4), label=st.booleans())
def test_no_verdict_changes(tmp_path_factory: pytest.TempPathFactory, parts: list[str], label: bool) -> None:
    """Whatever is joined: the verdict is that without the setting."""
    verdicts = []
    for text in ("prompts: fewer", ""):
        world = Containing(tmp_path_factory.mktemp("world"))
        configured(world, text)
        if label:
            world.taint()
        answer, _ = world.ask("Bash", {"command": " && ".join(parts)})
        verdicts.append(answer.verdict)
        assert not answer.harmless or answer.verdict in (Verdict.ALLOW, Verdict.CONTAIN)
        assert not answer.harmless or text
        assert not (answer.harmless and answer.verdict is Verdict.ALLOW and set(parts) & set(SEEN.values()))
    assert verdicts[0] is verdicts[1]
