"""Whoever waits for an answer is woken by the database, on whatever host the answer was given."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from contract import APPROVAL

from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.core.questions import PersonQuestion
from lockgate.gate.approvals import waiting
from lockgate.gate.approvals.answering import answer
from lockgate.gate.approvals.proof import as_asked
from lockgate.store.opening import open_store
from lockgate.store.postgres import notifications as listening
from lockgate.store.postgres.store import PostgresStore
from support.postgres import Server, use

WAKE = 20.0
"""Less than a question is open here, and more than a loaded machine takes."""


@pytest.fixture
def asker(tmp_path: Path, postgres_url: str) -> Path:
    return use(tmp_path / "asker", postgres_url)


@pytest.fixture
def person(tmp_path: Path, postgres_url: str) -> Iterator[PostgresStore]:
    """The store as another machine opens it, whose sockets nobody here wakes."""
    store = _opened(use(tmp_path / "person", postgres_url))
    yield store
    store.close()


@pytest.fixture(autouse=True)
def _no_slow_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LOOK_SECONDS", 1000.0)


def _opened(state: Path) -> PostgresStore:
    store = open_store(str(state), busy_seconds=10)
    assert isinstance(store, PostgresStore)
    return store


def _ask(store: PostgresStore) -> PersonQuestion:
    row = APPROVAL._replace(asked_at=store.clock(), expires_at=store.clock() + 600)
    with store.transaction() as tx:
        tx.put_approval(as_asked(tx, row))
    return PersonQuestion(Context("claude-code", Subject(row.session, row.agent)), row.approval, row.expires_at)


def _block(state: Path, question: PersonQuestion) -> None:
    waiting.wait(str(state), question, lambda: open_store(str(state), busy_seconds=10))


def _await(state: Path, question: PersonQuestion) -> None:
    asyncio.run(waiting.wait_in_loop(str(state), question, lambda: open_store(str(state), busy_seconds=10)))


def _listens(store: PostgresStore) -> bool:
    with store.reading() as tx:
        where = "application_name = 'lockgate listens' AND datname = current_database() AND state = 'idle'"
        return bool(tx._all(f"SELECT 1 FROM pg_stat_activity WHERE {where} AND query NOT LIKE 'SET%%'"))


def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + WAKE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.005)


@pytest.mark.parametrize("no_sockets", [False, True], ids=["sockets", "no sockets"])
@pytest.mark.parametrize("wait", [_block, _await], ids=["sync", "async"])
def test_an_answer_on_another_host_wakes_at_once(
    asker: Path, person: PostgresStore, wait: Callable[[Path, PersonQuestion], None], no_sockets: bool
) -> None:
    if no_sockets:
        (asker / "bells").write_text("")  # no socket can be bound here
    question = _ask(person)
    thread = threading.Thread(target=wait, args=(asker, question))
    thread.start()
    _until(lambda: _listens(person))
    answer(person, "/nonexistent", question.approval, approve=True, by="ann")
    thread.join(WAKE)
    assert not thread.is_alive()


def test_a_listener_that_was_cut_off_listens_again_and_has_missed_nothing(
    asker: Path, person: PostgresStore, postgres_server: Server
) -> None:
    question = _ask(person)
    thread = threading.Thread(target=_block, args=(asker, question))
    thread.start()
    _until(lambda: _listens(person))
    postgres_server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        f" WHERE application_name = 'lockgate listens' AND datname = '{person._open_pool().address['dbname']}'"
    )
    answer(person, "/nonexistent", question.approval, approve=True, by="ann")
    thread.join(WAKE)
    assert not thread.is_alive()


def test_hearers_who_come_and_go_leave_a_lost_database_its_pause() -> None:
    listener = listening._NotificationThread(None)  # type: ignore[arg-type] # it never connects
    try:
        os.write(listener._change, b"www")
        listener._pause(WAKE)
        assert select.select([listener._changed], [], [], 0)[0] == []
    finally:
        listener.end()


def test_a_listener_that_is_ended_while_it_connects_keeps_its_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    connecting, on = threading.Event(), threading.Event()

    def slowly(*_: object) -> None:
        connecting.set()
        on.wait(WAKE)
        raise OSError("it is not to be had")

    monkeypatch.setattr(listening, "open_connection", slowly)
    monkeypatch.setattr(listening, "_CONNECT_SECONDS", -1.0)  # the end does not wait
    listener = listening._NotificationThread(SimpleNamespace(address={}, limits=None))  # type: ignore[arg-type]
    token = listener.add(lambda _: None, watching=False)
    assert connecting.wait(WAKE)
    listener.remove(token)
    listener.end()
    os.fstat(listener._changed)  # no other file can have its number yet
    on.set()
    assert listener._thread is not None
    listener._thread.join(WAKE)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(listener._changed)


def test_only_the_question_that_changed_is_told_and_everybody_hears(asker: Path, person: PostgresStore) -> None:
    heard: list[list[str]] = [[], []]
    store = _opened(asker)
    with store.listen(heard[0].append), store.listen(heard[1].append, watching=True):
        assert heard[0] == [""], "from here on nothing is missed"
        _ask(person)
        _until(lambda: all(APPROVAL.approval in each for each in heard))
        assert {*heard[0], *heard[1]} == {"", APPROVAL.approval}
    store.close()


def test_who_watches_on_another_host_is_known_until_they_are_gone(asker: Path, person: PostgresStore) -> None:
    store = _opened(asker)
    assert not store.is_watched()
    with person.listen(lambda _: None):
        assert not store.is_watched()
        with person.listen(lambda _: None, watching=True):
            _until(store.is_watched)
            assert waiting.waits_for_person(str(asker), {}, store.is_watched)
            with store.transaction():
                assert store.is_watched(), "also asked within a step"
        _until(lambda: not store.is_watched())
    assert not waiting.waits_for_person(str(asker), {}, store.is_watched)
    store.close()


def test_nobody_is_left_listening(asker: Path, person: PostgresStore) -> None:
    store = _opened(asker)
    before = threading.active_count()
    for _ in range(3):
        with store.listen(lambda _: None), store.listen(lambda _: None, watching=True):
            pass
    assert threading.active_count() == before
    _until(lambda: not _listens(person))
    store.close()


def test_a_clock_of_this_machine_that_is_wrong_changes_nothing(
    asker: Path, person: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = time.time()
    monkeypatch.setattr(time, "time", lambda: right + 86400.0)
    question = _ask(person)
    assert abs(person.clock() - right) < 600
    row = answer(person, "/nonexistent", question.approval, approve=True, by="ann")
    assert row.state == "approved"
    assert row.decided_at - row.asked_at < 600


WATCH = """
import sys
from lockgate.cli.main import cli
cli(["approvals", "watch", "--json"])
"""


def test_watch_shows_a_question_of_another_host(tmp_path: Path, person: PostgresStore, postgres_url: str) -> None:
    home = tmp_path / "home"
    use(home / ".local/state/lockgate", postgres_url)
    environ = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / ".local/state")}
    process = subprocess.Popen([sys.executable, "-c", WATCH], stdout=subprocess.PIPE, text=True, env=environ)
    try:
        _until(person.is_watched)
        _ask(person)
        assert process.stdout is not None
        assert APPROVAL.approval in process.stdout.readline()
    finally:
        process.kill()
        process.communicate()
