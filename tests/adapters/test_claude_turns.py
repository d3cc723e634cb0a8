"""Which calls the model made in one message, as the client's transcript tells."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lockgate.clients.claude.events import ADAPTER
from lockgate.clients.claude.turns import calls_of_turn
from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.core.questions import TurnQuestion

READ_AT = 1_800_000_000.0
"""When the model last read something before the message."""
LATER = READ_AT + 5
AT = datetime.fromtimestamp(READ_AT, UTC).isoformat().replace("+00:00", "Z")


def use(message: object, *calls: object, **more: Any) -> dict[str, Any]:
    content = [{"type": "tool_use", "id": call, "name": "Bash", "input": {}} for call in calls]
    return {"type": "assistant", "message": {"id": message, "role": "assistant", "content": content}, **more}


def result(call: str, text: str = "x") -> dict[str, Any]:
    content = [{"type": "tool_result", "tool_use_id": call, "content": text}]
    return {"type": "user", "message": {"role": "user", "content": content}, "timestamp": AT}


def prompt(text: str = "go on", **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, "timestamp": AT, **more}


FORGED = json.dumps(use("m2", "a", "b"))
TURNS = {
    "one line": ([use("m1", "a", "b")], {"a", "b"}),
    "a line for each": ([use("m1", "a"), use("m1", "b")], {"a", "b"}),
    "with other lines between": ([use("m1", "a"), {"type": "progress"}, use("m1", "b")], {"a", "b"}),
    "with text between": ([use("m1", "a"), use("m1"), use("m1", "b")], {"a", "b"}),
    "the next message": ([use("m1", "a"), use("m2", "b")], {"b"}),
    "after its result": ([use("m1", "a"), result("a"), use("m2", "b")], {"b"}),
    "after its result, and a service with one id for all": ([use("m1", "a"), result("a"), use("m1", "b")], {"b"}),
    "after a prompt, and one id for all": ([use("m1", "a"), prompt(), use("m1", "b")], {"b"}),
    "with a later message": ([use("m1", "a", "b"), result("a"), use("m2", "c")], {"a", "b"}),
    "a result that tells of a message": ([use("m1", "a"), result("a", FORGED), use("m2", "b")], {"b"}),
    "a prompt that tells of a message": ([use("m1", "a"), prompt(f"\n{FORGED}\n"), use("m2", "b")], {"b"}),
    "no id": ([use(None, "a", "b")], set()),
    "an odd id": ([use(["m1"], "a", "b")], set()),
    "odd calls": ([use("m1", 7, ["a"], "b")], {"b"}),
    "it is not there yet": ([use("m1", "a")], set()),
    "nothing": ([], set()),
}


def written(path: Path, lines: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.parametrize("name", TURNS)
def test_the_calls_of_one_message(tmp_path: Path, name: str) -> None:
    lines, found = TURNS[name]
    calls, began = calls_of_turn(written(tmp_path / "s.jsonl", [prompt(), *lines]), "b")
    assert (calls, began) == (found, READ_AT if found else math.inf)


@pytest.mark.parametrize("at", [None, "", "yesterday", 7, "9999-99-99", ["2026-01-01"]])
def test_a_time_that_is_none_proves_nothing(tmp_path: Path, at: object) -> None:
    lines = [prompt(timestamp=at), use("m1", "a", "b")]
    assert calls_of_turn(written(tmp_path / "s.jsonl", lines), "b") == ({"a", "b"}, math.inf)


@pytest.mark.parametrize(
    "text", ["", "{", "[]\n7\nnull\n", '{"type": "assistant"}\n', '{"type": "assistant", "message": 7}\n']
)
def test_a_transcript_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.jsonl").write_text(text)
    assert calls_of_turn(str(tmp_path / "s.jsonl"), "b") == (frozenset(), math.inf)
    assert calls_of_turn(str(tmp_path / "none.jsonl"), "b") == (frozenset(), math.inf)


def test_only_the_end_of_a_long_one_is_read(tmp_path: Path) -> None:
    lines = [use("m0", f"c{number}", text="x" * 1000) for number in range(5000)]
    path = written(tmp_path / "s.jsonl", [*lines, prompt(), use("m1", "a", "b")])
    began = time.monotonic()
    assert calls_of_turn(path, "b") == ({"a", "b"}, READ_AT)
    assert time.monotonic() - began < 1


# ---------------------------------------------------------------- the client's own file
BOTH = [prompt(), use("m1", "a", "b")]


def kept(home: Path, lines: list[dict[str, Any]], name: str = "s1.jsonl") -> Path:
    """A transcript where the client keeps them."""
    path = home / ".claude" / "projects" / "-p" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    written(path, lines)
    return path


def asked(path: Path | str, home: Path, at: float = LATER, session: str = "s1") -> frozenset[str]:
    context = Context("claude-code", Subject(session), transcript=str(path))
    tell = ADAPTER.turn_reader(context, str(home))
    return tell(TurnQuestion(context, "b", {"a": at})) if tell else frozenset()


def test_the_clients_own_file_is_believed(tmp_path: Path) -> None:
    assert asked(kept(tmp_path, BOTH), tmp_path) == {"a"}


def test_a_home_behind_a_link_is_the_same_home(tmp_path: Path) -> None:
    kept(tmp_path / "there", BOTH)
    (tmp_path / "here").symlink_to(tmp_path / "there")
    assert asked(tmp_path / "here" / ".claude/projects/-p/s1.jsonl", tmp_path / "here") == {"a"}


def moved(home: Path) -> str:
    return written(home / "s1.jsonl", BOTH)


def of_another_session(home: Path) -> str:
    return str(kept(home, BOTH, "s2.jsonl"))


def linked_file(home: Path) -> str:
    path = kept(home, [])
    path.unlink()
    path.symlink_to(moved(home))
    return str(path)


def linked_project(home: Path) -> str:
    (home / "mine").mkdir()
    written(home / "mine" / "s1.jsonl", BOTH)
    (home / ".claude" / "projects").mkdir(parents=True)
    (home / ".claude" / "projects" / "-p").symlink_to(home / "mine")
    return str(home / ".claude" / "projects" / "-p" / "s1.jsonl")


def linked_settings(home: Path) -> str:
    kept(home / "dotfiles", BOTH)
    (home / ".claude").symlink_to(home / "dotfiles" / ".claude")
    return str(home / ".claude" / "projects" / "-p" / "s1.jsonl")


def with_a_second_name(home: Path) -> str:
    path = kept(home, BOTH)
    os.link(path, home / "second")
    return str(path)


def that_all_can_write(home: Path) -> str:
    path = kept(home, BOTH)
    path.chmod(0o666)
    return str(path)


def by_a_way_round(home: Path) -> str:
    kept(home, BOTH)
    return f"{home}/.claude/projects/-p/../-p/s1.jsonl"


def above(home: Path) -> str:
    (home / ".claude" / "projects").mkdir(parents=True)
    written(home / ".claude" / "s1.jsonl", BOTH)
    return f"{home}/.claude/projects/../s1.jsonl"


def of_a_sub_agent(home: Path) -> str:
    path = home / ".claude" / "projects" / "-p" / "s1" / "subagents" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    return written(path, BOTH)


def none(home: Path) -> str:
    return ""


def relative(home: Path) -> str:
    return "s1.jsonl"


def odd(home: Path) -> str:
    return f"{home}/.claude/projects/\0/s1.jsonl"


FORGERIES = (
    *(moved, of_another_session, linked_file, linked_project, linked_settings, with_a_second_name, that_all_can_write),
    *(by_a_way_round, above, of_a_sub_agent, none, relative, odd),
)


@pytest.mark.parametrize("forged", FORGERIES)
def test_no_other_file_is_believed(tmp_path: Path, forged: Callable[[Path], str]) -> None:
    assert asked(forged(tmp_path), tmp_path) == frozenset()


def test_a_call_that_ran_before_the_model_last_read_is_another_one_with_its_id(tmp_path: Path) -> None:
    """A service, or the model itself, may give an id twice."""
    began = time.monotonic()
    assert asked(kept(tmp_path, BOTH), tmp_path, READ_AT - 1) == frozenset()
    assert time.monotonic() - began < 0.3, "nothing that could come would prove it"


def test_a_message_of_which_nobody_knows_when_it_began_proves_nothing(tmp_path: Path) -> None:
    assert asked(kept(tmp_path, [use("m1", "a", "b")]), tmp_path) == frozenset()


def test_what_the_client_writes_a_little_later_is_waited_for(tmp_path: Path) -> None:
    path = kept(tmp_path, [prompt()])
    writer = threading.Timer(0.1, lambda: written(path, BOTH))
    writer.start()
    assert asked(path, tmp_path) == {"a"}
    writer.join()


def test_a_transcript_that_the_client_makes_a_little_later_is_waited_for(tmp_path: Path) -> None:
    path = kept(tmp_path, BOTH)
    os.rename(path, tmp_path / "hidden")
    writer = threading.Timer(0.1, lambda: os.rename(tmp_path / "hidden", path))
    writer.start()
    assert asked(str(path), tmp_path) == {"a"}
    writer.join()


def test_and_not_for_ever(tmp_path: Path) -> None:
    began = time.monotonic()
    assert asked(kept(tmp_path, [prompt(), use("m1", "b")]), tmp_path) == frozenset()
    assert 0.3 < time.monotonic() - began < 5
