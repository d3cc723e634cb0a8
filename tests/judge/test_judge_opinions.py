"""The same question is not asked twice, any other is, and no failure is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from judge.questions import FINE_COMMAND, judge, plain, question
from lockgate.core.model import EffectKind, Label
from lockgate.core.questions import JudgeQuestion, Opinion
from lockgate.gate.judge import cache as opinions
from lockgate.gate.judge import prompts
from lockgate.gate.judge.cache import MOST, recall, remember
from lockgate.gate.judge.settings import JudgeSettings
from lockgate.store.sqlite.store import SqliteStore
from support.fake_judge import FakeJudge, fine, honest, raw, says
from support.prepared import open_new

KEPT = Opinion(flagged=False, reason="it reads files")
SETTINGS = JudgeSettings(model="m")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = open_new(tmp_path / "state")
    yield made
    made.close()


def test_an_opinion_is_used_again(tmp_path: Path) -> None:
    with FakeJudge(honest) as server:
        first = judge(server, tmp_path / "s").ask(question())
        second = judge(server, tmp_path / "s").ask(question())
        assert len(server.seen) == 1
    assert (first.cached, second.cached) == (False, True)
    assert (second.flagged, second.reason, second.model) == (first.flagged, first.reason, first.model)
    assert second.tokens == (0, 0)


def test_an_objection_is_used_again_too(tmp_path: Path) -> None:
    with FakeJudge(says('{"flagged": true, "reason": "no"}'), fine) as server:
        said = [judge(server, tmp_path / "s").ask(question()) for _ in range(2)]
    assert [opinion.flagged for opinion in said] == [True, True]


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    with FakeJudge(raw(b"{}", 401), honest) as server:
        said = [judge(server, tmp_path / "s").ask(question()) for _ in range(3)]
        assert len(server.seen) == 2
    assert [plain(opinion)[0] for opinion in said] == [True, False, False]


def test_nothing_is_kept_where_the_configuration_says_so(tmp_path: Path) -> None:
    with FakeJudge(honest) as server:
        for _ in range(2):
            assert not judge(server, tmp_path / "s", cache_seconds=0).ask(question()).cached
        assert len(server.seen) == 2


def test_without_a_store_it_is_asked_each_time(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir(mode=0o700)
    (tmp_path / "s" / "lockgate.db").write_bytes(b"no database")
    (tmp_path / "s" / "lockgate.db").chmod(0o600)
    with FakeJudge(honest) as server:
        for _ in range(2):
            assert plain(judge(server, tmp_path / "s").ask(question())) == (False, "")
        assert len(server.seen) == 2


OTHERS: list[Callable[[], JudgeQuestion]] = [
    lambda: question(FINE_COMMAND + " "),
    lambda: question(cwd="/work/other"),
    lambda: question(tool="Monitor"),
    lambda: question(labels=frozenset({Label.SECRET})),
    lambda: question(labels=frozenset({Label.SECRET, Label.UNTRUSTED})),
    lambda: question()._replace(labels=frozenset({Label.SECRET, Label.UNTRUSTED})),
    lambda: question(kind=EffectKind.EGRESS),
]


@pytest.mark.parametrize("other", OTHERS)
def test_another_question_is_asked(store: SqliteStore, other: Callable[[], JudgeQuestion]) -> None:
    remember(store, SETTINGS, question(), KEPT, 100.0)
    assert recall(store, SETTINGS, question(), 100.0) is not None
    assert recall(store, SETTINGS, other(), 100.0) is None


@pytest.mark.parametrize("changed", [{"model": "n"}, {"api": "openai"}, {"base_url": "https://elsewhere.example.com"}])
def test_another_judge_is_asked(store: SqliteStore, changed: dict[str, str]) -> None:
    remember(store, SETTINGS, question(), KEPT, 100.0)
    assert recall(store, SETTINGS._replace(**changed), question(), 100.0) is None


def test_a_judge_is_asked_in_other_words(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(store, SETTINGS, question(), KEPT, 100.0)
    monkeypatch.setattr(opinions, "VERSION", prompts.VERSION + 1)
    assert recall(store, SETTINGS, question(), 100.0) is None


def test_another_installation_keeps_it_under_another_name(store: SqliteStore, tmp_path: Path) -> None:
    other = SqliteStore.open(str(tmp_path / "other"))
    for each in (store, other):
        remember(each, SETTINGS, question(), KEPT, 100.0)
    names = []
    for each in (store, other):
        with each.reading() as tx:
            names += tx.settings("judge:")
    other.close()
    assert len(set(names)) == 2
    assert question().digest not in str(names)


@pytest.mark.parametrize(("after", "known"), [(0, True), (3599, True), (3600, False), (-1, False)])
def test_an_opinion_is_kept_for_a_time(store: SqliteStore, after: float, known: bool) -> None:
    remember(store, SETTINGS, question(), KEPT, 100.0)
    assert (recall(store, SETTINGS, question(), 100.0 + after) is not None) is known


def test_so_many_are_kept(store: SqliteStore) -> None:
    with store.transaction() as tx:
        for number in range(MOST):
            value = {"flagged": False, "reason": "r", "at": float(number)}
            tx.put_setting(f"judge:opinion:{number}", json.dumps(value))
    remember(store, SETTINGS, question(), KEPT, 1000.0)
    with store.reading() as tx:
        kept = tx.settings("judge:opinion:")
    assert len(kept) == MOST - MOST // 2 + 1
    assert f"judge:opinion:{MOST - 1}" in kept
    assert "judge:opinion:0" not in kept
    assert recall(store, SETTINGS, question(), 1000.0) is not None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"flagged": false}', '{"flagged": false, "reason": "r", "at": "x"}'])
def test_what_is_kept_and_makes_no_sense_is_asked_anew(tmp_path: Path, text: str) -> None:
    with FakeJudge(honest) as server:
        judge(server, tmp_path / "s").ask(question())
        store = SqliteStore.open(str(tmp_path / "s"))
        with store.transaction() as tx:
            (name,) = tx.settings("judge:")
            tx.put_setting(name, text)
        store.close()
        opinion = judge(server, tmp_path / "s").ask(question())
        assert len(server.seen) == 2
    assert (plain(opinion), opinion.cached) == ((False, ""), False)


DAMAGED = [
    pytest.param("{", id="no JSON"),
    pytest.param("[]", id="no object"),
    pytest.param('{"flagged": "false", "reason": "fine", "at": 100.0}', id="flagged in words"),
    pytest.param('{"flagged": false, "reason": 7, "at": 100.0}', id="reason is a number"),
    pytest.param('{"flagged": false, "reason": "fine"}', id="no time"),
    pytest.param('{"flagged": false, "reason": "fine", "at": "now"}', id="time in words"),
]


@pytest.mark.parametrize("row", DAMAGED)
def test_a_damaged_opinion_is_none_and_goes_first(store: SqliteStore, row: str) -> None:
    remember(store, SETTINGS, question(), KEPT, 100.0)
    with store.transaction() as tx:
        (name,) = tx.settings("judge:opinion:")
        tx.put_setting(name, row)
        for place in range(MOST):
            tx.put_setting(
                f"judge:opinion:{place:04}", json.dumps({"flagged": False, "reason": "", "at": 100.0 + place})
            )
    assert recall(store, SETTINGS, question(), 100.0) is None
    remember(store, SETTINGS, OTHERS[0](), KEPT, 101.0)
    with store.reading() as tx:
        kept = tx.settings("judge:opinion:")
    assert name not in kept
    assert recall(store, SETTINGS, OTHERS[0](), 101.0) is not None
