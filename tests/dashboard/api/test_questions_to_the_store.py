"""However many sessions there are, a page of them and the gauges ask the store the same number of questions.

And however many requests there are, they take the connections that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from lockgate.core.model import Label, LabelState, Subject, Taint
from lockgate.service.http.context import DashboardContext
from lockgate.service.http.views import sessions
from lockgate.service.observability import gauges
from lockgate.store.administration import use_own
from lockgate.store.opening import open_store
from lockgate.store.postgres import statements as postgres_statements
from lockgate.store.postgres.store import PostgresStore
from lockgate.store.postgres.transaction import PostgresTransaction
from lockgate.store.protocol import Store
from lockgate.store.rows import AgentRow, BriefRow, SessionRow
from lockgate.store.sqlite import statements
from lockgate.system.folders import Folders
from support.postgres import use


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    state = tmp_path / "state"
    if request.param == "postgres":
        use(state, request.getfixturevalue("postgres_url"))
    found = open_store(str(state), busy_seconds=5)
    yield found
    found.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], tuple[Any, int]]:
    """Does something; gives what came of it, and how many questions were asked."""
    count = 0

    def counting(run: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            nonlocal count
            count += 1
            return run(*arguments)

        return counted

    for each in (statements.SqliteStatements, postgres_statements.PostgresStatements):
        monkeypatch.setattr(each, "_run", counting(each._run))

    def doing(what: Callable[[], Any]) -> tuple[Any, int]:
        nonlocal count
        count = 0
        return what(), count

    return doing


def begun(store: Store, numbers: range) -> None:
    now = store.clock()
    with store.transaction() as tx:
        for number in numbers:
            session = f"s{number}"
            tx.put_session(SessionRow(session, started_at=now, seen_at=now))
            if number % 2:
                tx.add_taints(Subject(session), [Taint(Label.SECRET, "Read: .env", "Read", "c1", now)])
                tx.block(session, "", "Bash", now)


def test_it_is_the_same_for_one_session_and_for_forty(
    store: Store, tmp_path: Path, asked: Callable[[Callable[[], Any]], tuple[Any, int]]
) -> None:
    def page() -> sessions.SessionPage:
        with store.reading() as tx:
            return sessions.page(tx, store.clock(), text="", live=False, limit=100, offset=0)

    def looked() -> gauges.Gauges:
        return gauges.look(store, str(tmp_path / "state"))

    begun(store, range(1))
    few = [asked(page)[1], asked(looked)[1]]
    begun(store, range(1, 40))
    (shown, of_page), (found, of_gauges) = asked(page), asked(looked)
    assert [of_page, of_gauges] == few
    assert {name: number for name, number in found.sessions.items() if number} == {"clean": 20, "secret": 20}
    odd = [each for each in shown.items if int(each.session[1:]) % 2]
    assert [(each.state, each.labels, each.blocked) for each in odd] == [(LabelState.SECRET, ["secret"], 1)] * 20
    assert sum(each.blocked for each in shown.items) == 20


def test_it_is_the_same_for_one_agent_and_for_forty(
    store: Store, asked: Callable[[Callable[[], Any]], tuple[Any, int]]
) -> None:
    row = SessionRow("s", started_at=1.0, seen_at=1.0)

    def whole() -> Any:
        with store.reading() as tx:
            return sessions.whole(tx, row, store.clock())

    def begin(number: int) -> None:
        subject = Subject("s", f"a{number}")
        with store.transaction() as tx:
            tx.put_session(row)
            tx.put_agent(AgentRow(*subject, "type", state="running", started_at=1.0))
            tx.put_brief(BriefRow(f"b{number}", "s", "", f"c{number}", "0" * 64, "find it", at=1.0))
            tx.add_taints(subject, [Taint(Label.SECRET, f"Read: {number}", "Read", f"c{number}", 2.0 + number)])

    begin(0)
    one = asked(whole)[1]
    for number in range(1, 40):
        begin(number)
    found, of_forty = asked(whole)
    assert of_forty == one
    assert (len(found.agents), len(found.delegates)) == (40, 40)
    labelled = [(each.agent, each.text) for each in found.timeline if each.kind == "label"]
    assert labelled == [(f"a{number}", f"Read: {number}") for number in range(40)]


def test_a_time_line_ends_with_the_newest(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_MOST_SOURCES", 4)
    monkeypatch.setattr(sessions, "_MOST_LABELS", 4)
    row = SessionRow("s", started_at=1.0, seen_at=1.0)
    with store.transaction() as tx:
        tx.add_taints(Subject("s"), [Taint(Label.SECRET, f"{n}", "Read", f"c{n}", 2.0 + n) for n in range(9)])
    with store.reading() as tx:
        shown = sessions.whole(tx, row, store.clock())
    assert [each.text for each in shown.timeline if each.kind == "label"] == ["5", "6", "7", "8"]


def test_requests_one_after_another_take_one_connection(tmp_path: Path, postgres_url: str) -> None:
    """Each in a thread of its own, as the server has it."""
    where = Folders(str(tmp_path), str(use(tmp_path / "state", postgres_url)), "")
    desk = DashboardContext(where, *cast(Any, (None, None, None)))

    def request() -> object:
        with desk.look() as tx:
            assert isinstance(tx, PostgresTransaction)
            return tx._one("SELECT pg_backend_pid()")

    seen = set()
    for _ in range(4):
        with ThreadPoolExecutor(1) as thread:
            seen.add(thread.submit(request).result())
    assert len(seen) == 1
    with desk.store() as store:
        assert isinstance(store, PostgresStore)
    pool = store._open_pool()
    desk.close()
    assert pool.users == 0


def test_requests_find_the_store_where_it_is_by_then(tmp_path: Path, postgres_url: str) -> None:
    state = tmp_path / "state"
    desk = DashboardContext(Folders(str(tmp_path), str(state), ""), *cast(Any, (None, None, None)))

    def records() -> int:
        with desk.look() as tx:
            return -1 if tx is None else tx.audit_head().seq

    found = [records()]
    for number, shared in enumerate((False, True, False), 1):
        if shared:
            use(state, postgres_url)
        store = open_store(str(state))
        with store.transaction() as tx:
            for _ in range(number):
                tx.append_audit(1.0, {"event": "prompt"})
        store.close()
        found.append(records())
        if shared:
            use_own(str(state))
    desk.close()
    assert found == [-1, 1, 2, 4]
