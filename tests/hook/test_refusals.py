"""A refusal that nobody could record at once is recorded by the next process that can write the store."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from hook.process import faulty, hook
from lockgate.clients.adapter import CLIENTS, adapter
from lockgate.core.errors import StoreError
from lockgate.core.events import ToolRequested
from lockgate.store.audit import refusals
from lockgate.store.audit.refusals import FOLDER, Refusal, sweep
from lockgate.store.chain_links import SCHEMA
from lockgate.store.files import VERSION
from lockgate.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.slow

CALL = {"session_id": "s1", "agent_id": "a1", "tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"x": "y"}}
OLD = int(1e9)
CLAUDE = adapter("claude-code")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(str(tmp_path / "state"))
    yield store
    store.close()


def state_of(store: SqliteStore, tmp_path: Path) -> str:
    return str(tmp_path / "state")


def told(store: SqliteStore) -> list[dict[str, Any]]:
    with store.reading() as tx:
        bodies = [json.loads(row.body) for row in tx.audit()]
    return [body for body in bodies if body["event"] == refusals.EVENT]


def kept(state: Path) -> list[Path]:
    return sorted((state / FOLDER).iterdir()) if (state / FOLDER).exists() else []


def refuse(state: Path, because: str = "it took too long", **payload: Any) -> None:
    refusal = Refusal(str(state), "hook")
    refusal.about("claude-code", "PreToolUse", CLAUDE.names({**CALL, **payload}))
    refusal.keep(because)


# ---------------------------------------------------------------- files
def test_it_is_kept_and_recorded_once(store: SqliteStore, tmp_path: Path) -> None:
    state = tmp_path / "state"
    refuse(state)
    [file] = kept(state)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "tool_input" not in file.read_text()
    assert [sweep(str(state), store) for _ in range(3)] == [1, 0, 0]
    [body] = told(store)
    assert body | {"refusal": "", "refused_at": 0} == {
        "event": "undecided", "client": "claude-code", "session": "s1", "agent": "a1", "tool": "Bash",
        "call": "toolu_1", "hook_event": "PreToolUse", "verdict": "deny", "because": "it took too long", "by": "hook",
        "refusal": "", "refused_at": 0, SCHEMA: VERSION,
    }  # fmt: skip
    assert abs(body["refused_at"] - time.time()) < 60
    assert not kept(state)


def test_what_did_not_become_due_leaves_nothing(store: SqliteStore, tmp_path: Path) -> None:
    refusal = Refusal(str(tmp_path / "state"), "hook")
    refusal.about("claude-code", "PreToolUse", CLAUDE.names(CALL))
    refusal.drop()
    assert (kept(tmp_path / "state"), sweep(str(tmp_path / "state"), store)) == ([], 0)


def test_a_process_that_is_ended_leaves_word(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = str(tmp_path / "state")
    child = os.fork()
    if child == 0:
        Refusal(state, "hook").about("claude-code", "PreToolUse", CLAUDE.names(CALL))
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    living = Refusal(state, "hook")
    assert sweep(state, store) == 0, "it may have begun just now"
    monkeypatch.setattr(refusals, "ENDED_SECONDS", 0.0)
    assert sweep(state, store) == 1, "and not that of a process that lives"
    assert [body["call"] for body in told(store)] == ["toolu_1"]
    assert "ended" in told(store)[0]["because"]
    living.close()


@pytest.mark.parametrize(("end", "known"), [("drop", 0), ("keep", 1)])
def test_a_process_that_ends_while_others_look_is_recorded_as_it_ended(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, known: int
) -> None:
    state = str(tmp_path / "state")
    monkeypatch.setattr(refusals, "ENDED_SECONDS", 0.0)
    living = Refusal(state, "hook")
    living.about("claude-code", "PreToolUse", CLAUDE.names(CALL))
    is_held = refusals.is_held

    def ends_now(path: str) -> bool:
        if end == "drop":
            living.drop()
        else:
            living.keep("it took too long")
        return is_held(path)

    monkeypatch.setattr(refusals, "is_held", ends_now)
    assert sweep(state, store) == 0
    monkeypatch.undo()
    assert sweep(state, store) == known
    assert [body["call"] for body in told(store)] == ["toolu_1"] * known


def test_many_are_recorded_once_by_many(store: SqliteStore, tmp_path: Path) -> None:
    state = tmp_path / "state"
    for number in range(250):
        refuse(state, tool_use_id=f"c{number}")

    def swept(_: int) -> None:
        own = SqliteStore.open(str(state), busy_seconds=20)
        while kept(state):
            sweep(str(state), own)
        own.close()

    with ThreadPoolExecutor(4) as crowd:
        list(crowd.map(swept, range(4)))
    assert sorted(body["call"] for body in told(store)) == sorted(f"c{number}" for number in range(250))


def test_there_is_an_end_to_them(store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "MOST_FILES", 3)
    state = tmp_path / "state"
    for _ in range(5):
        refuse(state, session_id="x" * 100_000, because="y" * 100_000)
    assert len(kept(state)) == 3
    assert all(file.stat().st_size < 8192 for file in kept(state))
    assert (state / "hook.log").read_text().count("not kept") == 2


def test_long_names_in_any_script_are_kept(store: SqliteStore, tmp_path: Path) -> None:
    state = tmp_path / "state"
    names = {"session_id": "s", "agent_id": "a", "tool_name": "t", "tool_use_id": "c"}
    refuse(state, because="\U0001f600" * 400, **dict.fromkeys(names, "\U0001f600" * 400))
    assert sweep(str(state), store) == 1
    assert [len(body["tool"]) for body in told(store)] == [300]


def test_a_file_system_without_locks_gathers_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr("fcntl.flock", unsupported)
    (tmp_path / "state").mkdir()
    refusal = Refusal(str(tmp_path / "state"), "hook")
    refusal.about("claude-code", "PreToolUse", CLAUDE.names(CALL))
    refusal.drop()
    assert not kept(tmp_path / "state")
    assert "not kept" in (tmp_path / "state" / "hook.log").read_text()


def test_a_folder_among_them_is_not_recorded_again_and_again(store: SqliteStore, tmp_path: Path) -> None:
    state = tmp_path / "state"
    refuse(state)
    (state / FOLDER / "folder").mkdir()
    assert [sweep(str(state), store) for _ in range(3)] == [1, 0, 0]
    assert len(told(store)) == 1


def test_a_store_that_cannot_be_written_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore.open(str(tmp_path / "state"))
    refuse(tmp_path / "state")

    def broken() -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, "transaction", broken)
    with pytest.raises(StoreError):
        sweep(str(tmp_path / "state"), store)
    assert len(kept(tmp_path / "state")) == 1
    store.close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[1]",
        b"{" * 5000,
        b'{"session": 7, "at": "x", "because": ["y"]}',
        b'{"at": NaN}',
        b"\xff",
        b"x" * 9000,
    ],
    ids=range(8),
)
def test_what_is_no_refusal_of_ours_stops_no_other(store: SqliteStore, tmp_path: Path, content: bytes) -> None:
    state = tmp_path / "state"
    refuse(state)
    (state / FOLDER / "00000000000000000001-odd").write_bytes(content)
    assert sweep(str(state), store) == 2
    assert [body["call"] for body in told(store)] == ["", "toolu_1"]


def test_a_link_or_a_pipe_in_their_place_is_not_followed(store: SqliteStore, tmp_path: Path) -> None:
    state = tmp_path / "state"
    refuse(state)
    (tmp_path / "secret").write_text('{"session": "secret"}')
    (state / FOLDER / "1-link").symlink_to(tmp_path / "secret")
    os.mkfifo(state / FOLDER / "2-pipe")
    assert sweep(str(state), store) == 3
    assert "secret" not in json.dumps(told(store))
    assert (tmp_path / "secret").exists()


def test_a_credential_in_a_name_is_not_recorded(store: SqliteStore, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    refuse(tmp_path / "state", tool_name=f"Bash {token}", because=f"no {token}")
    sweep(str(tmp_path / "state"), store)
    assert token not in json.dumps(told(store))


@pytest.mark.parametrize("client", CLIENTS)
def test_it_names_the_call_in_each_dialect(store: SqliteStore, tmp_path: Path, client: str) -> None:
    """Whose call it was is the same that the gate would have recorded."""
    dialect = adapter(client)
    lines = (Path(__file__).parent / "recorded" / f"{client}.jsonl").read_text().splitlines()
    calls = [
        (event, payload)
        for event, payload in ((line["event"], line["input"]) for line in map(json.loads, lines))
        if isinstance(dialect.decode(payload, {}), ToolRequested)
    ]
    assert calls, f"tests/hook/recorded/{client}.jsonl has no call: see docs/contributing-clients.md"
    for event, payload in calls:
        decoded = dialect.decode(payload, {})
        assert isinstance(decoded, ToolRequested)
        refusal = Refusal(str(tmp_path / "state"), "hook")
        refusal.about(client, event, dialect.names(payload))
        refusal.keep("it took too long")
        assert sweep(str(tmp_path / "state"), store) == 1
        body, subject = told(store)[-1], decoded.context.subject
        assert (body["client"], body["session"], body["agent"]) == (client, subject.session, subject.agent)
        assert body["tool"], f"{client}: its adapter's TOOL is no field of a call"
        assert body["call"] == decoded.call.call_id


def test_a_sub_agents_call_in_copilot_is_its_sessions(store: SqliteStore, tmp_path: Path) -> None:
    payload = {"sessionId": "a1", "agentId": "a1", "parentAgentId": "s1", "toolName": "bash"}
    refusal = Refusal(str(tmp_path / "state"), "hook")
    refusal.about("copilot-cli", "preToolUse", adapter("copilot-cli").names(payload))
    refusal.keep("it took too long")
    sweep(str(tmp_path / "state"), store)
    assert [(body["session"], body["agent"], body["tool"]) for body in told(store)] == [("s1", "a1", "bash")]


# ---------------------------------------------------------------- processes
def push(number: int = 1) -> dict[str, Any]:
    return tool("PreToolUse", "Bash", {"command": "git status"}, tool_use_id=f"toolu_{number}")


FAULTS = {
    "time is up": ("import time; time.sleep(60)", "2", "longer than 2 s"),
    "it hangs in C": ("import signal, time; signal.pthread_sigmask(0, [14]); time.sleep(60)", "2", "was ended before"),
    "the store fails": ("from lockgate.core.errors import StoreError; raise StoreError('full')", "20", "full"),
    "a mistake of ours": ("1 / 0", "20", "internal error"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_refusal_of_a_hook_is_in_the_audit(tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, deadline, because = FAULTS[fault]
    done = faulty(tmp_path, code, push(), "--deadline", deadline, grace=0.3)
    assert done.code != 0
    state = tmp_path / "state"
    assert len(kept(state)) == 1
    monkeypatch.setenv("LOCKGATE_RESIDENT", "off")
    if kept(state)[0].name.startswith("."):  # of a process that was ended: as if that was long ago
        kept(state)[0].rename(state / FOLDER / f".{OLD:020d}-{os.getpid()}-x")
    assert hook(tmp_path, push(2), "--deadline", "20").code == 0
    assert not kept(state)
    store = SqliteStore.open(str(state))
    [body] = told(store)
    store.close()
    assert (body["call"], body["tool"], body["hook_event"]) == ("toolu_1", "Bash", "PreToolUse")
    assert because in body["because"]


def test_a_hook_in_another_dialect_names_the_call_too(tmp_path: Path) -> None:
    code = FAULTS["a mistake of ours"][0]
    payload = {"sessionId": "s1", "cwd": "/w", "toolName": "bash", "toolArgs": {"command": "ls"}}
    faulty(tmp_path, code, payload, "--event", "preToolUse", client="copilot-cli")
    [said] = [json.loads(file.read_text()) for file in kept(tmp_path / "state")]
    assert (said["session"], said["tool"], said["event"]) == ("s1", "bash", "preToolUse")
