"""What a gate remembers from one request to the next: no more than it may, and for no longer."""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.clients.wire import resident as wire
from lockgate.core.errors import BadInputError
from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.gate.host.assembly import host_view_reader
from lockgate.gate.host.host_view import host_view_of, with_client
from lockgate.resources.host_view import AnalysisRules
from lockgate.service.resident import recent_callers as lately
from lockgate.service.resident.decider import Decider, NotHere
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system import caller
from lockgate.system.folders import Folders
from lockgate.system.ttl_cache import TtlCache
from support.prepared import give_state


def read(head: bytes) -> wire.HookRequest:
    return wire.request(b"\0" + head, b"")


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "KNOWN_ENVIRONMENTS", {})


# ---------------------------------------------------------------- environments
def test_an_environment_is_read_once_for_all_events_of_a_client() -> None:
    first = read(b"7\0code\x001\0PreToolUse\0A=1\0B=2\0")
    second = read(b"8\0code\x002\0PostToolUse\0x\0A=1\0B=2\0")
    assert (first.parent, first.arguments) == (7, ("PreToolUse",))
    assert (second.parent, second.arguments) == (8, ("PostToolUse", "x"))
    assert first.environ is second.environ
    assert first.mark == second.mark


def test_another_environment_is_another_one() -> None:
    first, second = read(b"7\0code\x000\0A=1\0"), read(b"7\0code\x000\0A=2\0")
    assert (first.environ["A"], second.environ["A"]) == ("1", "2")
    assert first.mark != second.mark
    assert read(b"7\0code\x000\0").environ == {}
    assert read(b"7\0code\x001\0A=1\0").environ == {}, "an argument is none of the environment"


def test_nobody_sees_what_is_around_another_session_client_caller_or_rules(tmp_path: Path) -> None:
    where = Folders(str(tmp_path), str(tmp_path / "state"), str(tmp_path / "config"))
    look = host_view_reader(where, TtlCache(60.0))
    asked = [
        (Context(client, Subject("s1"), "/w", workspace, transcript=f"/t/{session}.jsonl"), environ, rules)
        for client in ("claude-code", "codex", "gemini-cli", "python")
        for workspace in ("/w", "/other")
        for session in ("a1", "b2")
        for environ in (caller.Caller({"TMPDIR": f"/tmp/{mark}"}, 1, 1, mark) for mark in (1, 2))
        for rules in (AnalysisRules(), AnalysisRules(), AnalysisRules())
    ]
    fields = ("workspace", "client_paths", "session_results", "shell_stays", "skills_run", "variables")
    for context, environ, rules in (*asked, *reversed(asked), *asked[::7]):
        token = caller.stand_in_for(environ)
        seen = look(context, rules)
        fresh = with_client(host_view_of(where, context.workspace, context.transcript, rules), context.client)
        caller.reset(token)
        assert seen.rules is rules
        assert [getattr(seen, name) for name in fields] == [getattr(fresh, name) for name in fields]


def test_nobody_changes_an_environment_for_others() -> None:
    with pytest.raises(TypeError):
        read(b"7\0code\x000\0A=1\0").environ["A"] = "2"  # type: ignore[index]


def test_so_many_environments_are_remembered_and_none_that_is_long() -> None:
    for number in range(3 * wire.MOST_ENVIRONMENTS):
        assert read(b"7\0code\x000\0A=%d\0" % number).environ == {"A": str(number)}
        assert len(wire.KNOWN_ENVIRONMENTS) <= wire.MOST_ENVIRONMENTS
    count = len(wire.KNOWN_ENVIRONMENTS)
    assert (
        len(read(b"7\0code\x000\0A=" + b"x" * wire.LONGEST_ENVIRONMENT + b"\0").environ["A"])
        == wire.LONGEST_ENVIRONMENT
    )
    assert len(wire.KNOWN_ENVIRONMENTS) == count


@pytest.mark.parametrize(
    "head", [b"", b"\0", b"1\0", b"1\x000", b"1\x001\0", b"x\x000\0", b"1\x00-1\0", b"1\x003\0a\0b\0"]
)
def test_a_head_that_is_none(head: bytes) -> None:
    with pytest.raises(BadInputError):
        read(head)


# ---------------------------------------------------------------- the state folder
@pytest.fixture
def decider(tmp_path: Path) -> Decider:
    return Decider(Folders(str(tmp_path / "home"), str(tmp_path / "state"), str(tmp_path / "config")))


def put(decider: Decider) -> None:
    with decider._parts.store.transaction() as tx:
        tx.put_setting("s", "x")


def kept(decider: Decider) -> str | None:
    other = SqliteStore.open(decider._where.state)
    try:
        with other.reading() as tx:
            return tx.setting("s")
    finally:
        other.close()


def test_a_group_is_kept_in_the_store_that_others_see(decider: Decider) -> None:
    decider.begin_group()
    put(decider)
    assert decider.end_group()
    assert kept(decider) == "x"
    decider.close()


def test_a_group_is_not_kept_where_the_store_was_replaced_meanwhile(decider: Decider) -> None:
    decider.begin_group()
    put(decider)
    for name in ("lockgate.db", "lockgate.db-wal", "lockgate.db-shm"):
        os.unlink(os.path.join(decider._where.state, name))
    assert not decider.end_group()
    assert kept(decider) is None
    asked = wire.HookRequest(1, ("claude-code",), {}, b"{}")
    decider.begin_group()
    assert not decider.end_group(), "nor is any other"
    with pytest.raises(NotHere):
        decider.step(decider.begin(asked._replace(arguments=arguments(decider)), 1))
    decider.close()


def arguments(decider: Decider) -> tuple[str, ...]:
    home, state, config = decider._where
    return ("claude-code", "--home", home, "--state", state, "--config", config)


# ---------------------------------------------------------------- the machine
PUSH = b"""{"session_id": "s", "cwd": "/work", "hook_event_name": "PreToolUse", "tool_use_id": "t", "tool_name": "Bash",
"tool_input": {"command": "git push origin main"}}"""


def decide(decider: Decider, environ: dict[str, str] | None = None, cwd: str = "/work") -> str:
    """What is said to a push of a new session."""
    payload = {
        "session_id": os.urandom(4).hex(),
        "cwd": cwd,
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "git push origin main"},
        "tool_use_id": os.urandom(4).hex(),
    }
    found = environ or {}
    asked = wire.HookRequest(1, arguments(decider), found, json.dumps(payload).encode(), hash(frozenset(found.items())))
    answer = decider.step(decider.begin(asked, 1))
    assert len(answer) == 3
    return str(answer[0])


@pytest.fixture
def ready(tmp_path: Path) -> Iterator[Decider]:
    give_state(tmp_path / "state")
    (tmp_path / "config").mkdir()
    made = Decider(Folders(str(tmp_path / "home"), str(tmp_path / "state"), str(tmp_path / "config")))
    made._cache.seconds = 1000.0
    yield made
    made.close()


def deny_all(decider: Decider) -> None:
    Path(decider._where.config, "lockgate.yaml").write_text("table:\n  egress: deny\n")


def test_what_was_looked_up_holds_for_a_while(ready: Decider) -> None:
    """The control of those that follow."""
    assert "deny" not in decide(ready)
    deny_all(ready)
    assert "deny" not in decide(ready)


def test_a_look_ahead_sees_what_has_changed(ready: Decider) -> None:
    assert "deny" not in decide(ready)
    deny_all(ready)
    ready.look_ahead()
    assert "deny" in decide(ready)


def test_nobody_is_looked_ahead_for_who_asked_long_ago(ready: Decider, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "deny" not in decide(ready)
    deny_all(ready)
    monkeypatch.setattr(lately, "SECONDS", -1.0)
    ready.look_ahead()
    assert "deny" not in decide(ready)


def test_the_secrets_of_each_environment_are_looked_up_for_it(ready: Decider, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    look = ready._exercise
    monkeypatch.setattr(ready, "_exercise", lambda context: (seen.append(caller.environ()["A"]), look(context)))
    for value in ("1", "2", "1"):
        decide(ready, {"A": value})
    ready.look_ahead()
    assert seen == ["2", "1"]
    assert caller.environ() is os.environ


def test_the_last_few_are_looked_ahead_for(ready: Decider) -> None:
    for number in range(20):
        decide(ready, cwd=f"/work/{number}")
    assert [name[0] for name in ready._lately._asked] == [f"/work/{number}" for number in range(12, 20)]


def test_an_error_in_a_look_ahead_is_left_to_the_next_question(ready: Decider, monkeypatch: pytest.MonkeyPatch) -> None:
    decide(ready)

    def fail(_: object) -> None:
        raise RuntimeError("by the test")

    with monkeypatch.context() as patch:
        patch.setattr(ready, "_exercise", fail)
        ready.look_ahead()
    assert ready._cache.seconds == 1000.0
    assert "RuntimeError" in Path(ready._where.state, "hook.log").read_text()
    assert "deny" not in decide(ready)


# ---------------------------------------------------------------- time
@pytest.mark.parametrize(("configured", "most"), [("", "0.05"), ("9", "0.05"), ("0.06", "0.06")])
def test_the_shorter_deadline_holds(
    ready: Decider, monkeypatch: pytest.MonkeyPatch, configured: str, most: str
) -> None:
    """That of the hook's command line, or that of the configuration."""
    asked = wire.HookRequest(1, (*arguments(ready), "--deadline", "0.05" if configured != "0.06" else "8"), {}, PUSH)
    if configured:
        Path(ready._where.config, "lockgate.yaml").write_text(f"deadline_seconds: {configured}\n")
    step = ready._step
    monkeypatch.setattr(ready, "_step", lambda *given: (time.sleep(0.07), step(*given))[1])
    stdout, stderr, _ = ready.step(ready.begin(asked, 1))
    assert f"longer than {most} s" in stdout + stderr


# ---------------------------------------------------------------- memory
def test_nothing_of_a_decision_is_left_for_the_garbage_collector(ready: Decider) -> None:
    for _ in range(3):
        decide(ready)
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            decide(ready)
        assert gc.collect() < 20, "something that each decision leaves points at itself"
    finally:
        gc.enable()
