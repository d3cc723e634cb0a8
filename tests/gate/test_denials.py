"""A person's no is final for its exact call in its session, whatever changes meanwhile, until they take it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gate.world import WORK, World
from lockgate.core.errors import ApprovalError
from lockgate.core.events import Answer, ToolRequested
from lockgate.core.model import Tier, ToolCall, Verdict
from lockgate.core.questions import JudgeQuestion, Opinion, PersonQuestion
from lockgate.gate import Consultants, Monitor
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.approvals.answering import take_back
from lockgate.store.opening import open_store
from support.postgres import use
from support.prepared import give_empty

pytestmark = pytest.mark.sampled

ASK, DENY, ALLOW = Verdict.ASK, Verdict.DENY, Verdict.ALLOW
URL = "https://docs.example/v?d=1234"
FETCH = ToolCall("Bash", {"command": f"curl {URL}"}, WORK, "c1")
SPELT_OTHERWISE = FETCH._replace(tool_input={"command": f"curl  {URL}"}, call_id="c2")
ASKING = "profile: cascade\n"


class Asked:
    """One hook that decides on a call, and waits where a person is asked."""

    def __init__(self, world: Judged, call: ToolCall, agent: str, **event: Any) -> None:
        self._going = world.gate.deliberate(ToolRequested(world.context(agent), call, **(event or {"waits": True})))
        self.question: PersonQuestion | None = None
        self.answer: Answer | None = None
        self.wake()

    def wake(self) -> Asked:
        """Go on until a person is asked (again), or the call is decided."""
        said: Any = None
        try:
            while True:
                need = self._going.send(said)
                said = Opinion(flagged=False, reason="") if isinstance(need, JudgeQuestion) else None
                if isinstance(need, PersonQuestion):
                    self.question = need
                    return self
        except StopIteration as end:
            self.answer = end.value
        return self

    @property
    def id(self) -> str:
        assert self.question is not None, self.answer
        return self.question.approval

    @property
    def verdict(self) -> Verdict:
        assert self.answer is not None, "it waits"
        return self.answer.verdict


class Judged(World):
    """A machine whose person answers, and whose judge lets everything run."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.judging = False
        self.say(ASKING)

    def on(self, store: Any) -> None:
        """Use another store, and the consultants."""
        consultants = Consultants(can_judge=lambda _: self.judging)
        self.store.close()
        self.store = store
        self.gate = Monitor(self.gate.parts._replace(store=store, consultants=consultants))

    def say(self, text: str) -> None:
        (self.config / "lockgate.yaml").write_text(text)

    def put(self, call: ToolCall = FETCH, agent: str = "", **event: Any) -> Asked:
        return Asked(self, call, agent, **event)

    def no(self, question: str, reason: str = "not there") -> None:
        self._answer(question, approve=False, reason=reason)

    def yes(self, question: str) -> None:
        self._answer(question, approve=True)

    def _answer(self, question: str, *, approve: bool, reason: str = "") -> None:
        with self.store.transaction() as tx:
            approvals.decide(tx, question, approve=approve, by="ann", reason=reason, now=self._now())

    def refused(self, call: ToolCall = FETCH, agent: str = "") -> Asked:
        """A call that a person was asked about, and said no to."""
        asked = self.put(call, agent)
        self.no(asked.id)
        assert asked.wake().verdict is DENY
        return asked

    def verdicts(self, call: ToolCall = FETCH) -> list[str]:
        """What the audit says was decided about a call, in order."""
        said = [record for record in self.records("decision") if record["tool"] == call.tool]
        return [record["verdict"] for record in said if record["input"] == dict(call.tool_input)]


@pytest.fixture(params=["sqlite", "postgresql"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Judged]:
    found = Judged(tmp_path)
    state = tmp_path / "shared"
    if request.param == "postgresql":
        state = use(state, request.getfixturevalue("postgres_url"))
    else:
        give_empty(state)
    store = open_store(str(state), busy_seconds=5)
    with closing(store):
        found.on(store)
        found.start()
        found.run("WebFetch", {"url": "https://forum.example/7"}, "text of a stranger")
        yield found


# ---------------------------------------------------------------- what changes meanwhile
def gains_a_judge(world: Judged) -> None:
    world.judging = True


def observes(world: Judged) -> None:
    world.say("profile: observe\n")


def allows(world: Judged) -> None:
    world.say("profile: cascade\ntable: {fetch: allow}\n")


def reads_the_address(world: Judged) -> None:
    world.say("profile: quarantine\n")
    world.run("WebFetch", {"url": "https://forum.example/7"}, f"see {URL}", call_id="parallel")


CHANGES = [gains_a_judge, observes, allows, reads_the_address]


@pytest.mark.parametrize("change", CHANGES)
def test_a_no_holds_where_the_call_would_need_no_question_any_more(
    world: Judged, change: Callable[[Judged], None]
) -> None:
    asked = world.put()
    world.no(asked.id)
    change(world)
    assert asked.wake().verdict is DENY
    assert asked.answer is not None and asked.answer.decision is not None
    assert asked.answer.decision.tier is Tier.PERSON
    assert "said no: not there" in asked.answer.to_agent
    assert world.verdicts() == ["deny"]


@pytest.mark.parametrize("change", CHANGES)
def test_without_the_no_the_same_change_lets_it_run(world: Judged, change: Callable[[Judged], None]) -> None:
    asked = world.put()
    change(world)
    assert asked.wake().verdict is ALLOW


@pytest.mark.parametrize("change", [lambda _: None, *CHANGES])
@pytest.mark.parametrize(
    ("call", "agent"),
    [(FETCH, ""), (FETCH._replace(call_id="c9"), ""), (FETCH._replace(call_id=""), ""), (FETCH, "a1")],
    ids=["same id", "new id", "no id", "sub-agent"],
)
def test_the_call_stays_refused_however_it_comes_again(
    world: Judged, change: Callable[[Judged], None], call: ToolCall, agent: str
) -> None:
    world.refused()
    change(world)
    again = world.put(call, agent)
    assert (again.verdict, again.question) == (DENY, None)
    assert again.answer is not None and "A person said no to exactly this call before" in again.answer.to_agent
    assert set(world.verdicts()) == {"deny"}
    for event in ({"askable": True}, {"askable": False}, {"headless": True, "askable": False}):
        assert world.put(call._replace(call_id="c10"), agent, **event).verdict is DENY


def test_another_session_is_asked(world: Judged) -> None:
    world.refused()
    context = world.context(session_id="s2")._replace(process="2:2")
    world.start(session_id="s2")
    world.run("WebFetch", {"url": "https://forum.example/7"}, "text", session_id="s2")
    need = world.gate.deliberate(ToolRequested(context, FETCH, waits=True)).send(None)
    assert isinstance(need, PersonQuestion)


# ---------------------------------------------------------------- several who wait
def test_a_hook_that_wakes_late_is_refused(world: Judged) -> None:
    asked = world.put()
    world.no(asked.id)
    world._time = iter(range(9_000_000, 9_001_000))  # type: ignore[assignment]
    assert asked.wake().verdict is DENY
    assert world.put(FETCH._replace(call_id="c2")).verdict is DENY


@pytest.mark.parametrize("change", [lambda _: None, *CHANGES])
def test_two_hooks_that_wait_for_one_question_hear_the_same(world: Judged, change: Callable[[Judged], None]) -> None:
    first, second = (world.put(headless=True, waits=True) for _ in range(2))
    assert first.id == second.id
    world.no(first.id)
    change(world)
    assert (first.wake().verdict, second.wake().verdict) == (DENY, DENY)


@pytest.mark.parametrize("approved", [False, True])
def test_a_no_ends_all_questions_about_the_same_call(world: Judged, approved: bool) -> None:
    first, second = world.put(), world.put(FETCH._replace(call_id="c2"))
    other = world.put(FETCH._replace(tool_input={"command": "curl https://else.example/?x=1"}, call_id="c3"))
    if approved:
        world.yes(second.id)
    world.no(first.id)
    with pytest.raises(ApprovalError):
        world.yes(second.id)
    world.yes(other.id)
    assert [asked.wake().verdict for asked in (second, first, other)] == [DENY, DENY, ALLOW]


# ---------------------------------------------------------------- the same, spelt otherwise
@pytest.mark.parametrize("change", CHANGES)
def test_what_does_the_same_to_the_same_target_is_asked_and_not_let_run(
    world: Judged, change: Callable[[Judged], None]
) -> None:
    world.refused()
    change(world)
    assert world.put(SPELT_OTHERWISE, askable=False).verdict is DENY
    asked = world.put(SPELT_OTHERWISE._replace(call_id="c3"))
    assert asked.question is not None
    world.yes(asked.id)
    assert asked.wake().verdict is ALLOW, "a yes to it is a yes"
    assert world.put(SPELT_OTHERWISE._replace(call_id="c4")).verdict is ALLOW, "the last word was a yes"
    assert world.put().verdict is DENY, "not to the call that was refused"


def test_what_reaches_another_target_is_not_asked_for_that(world: Judged) -> None:
    world.refused()
    allows(world)
    other = FETCH._replace(tool_input={"command": "curl https://else.example/"}, call_id="c5")
    assert world.put(other).verdict is ALLOW


# ---------------------------------------------------------------- taking it back
def test_a_person_takes_a_no_back_and_is_asked_again(world: Judged) -> None:
    refused = world.refused()
    take_back(world.store, refused.id, by="ann (terminal)")
    with pytest.raises(ApprovalError, match="no refusal to take back"):
        take_back(world.store, refused.id, by="ann (terminal)")
    asked = world.put(FETCH._replace(call_id="c2"))
    world.yes(asked.id)
    assert asked.wake().verdict is ALLOW
    told = [record["event"] for record in world.records() if record["event"] in ("retract", "asked")]
    assert told == ["asked", "retract", "asked"]
    assert world.verdicts() == ["deny", "allow"]


def test_only_a_no_can_be_taken_back(world: Judged) -> None:
    asked = world.put()
    for question in ("nothing", asked.id):
        with pytest.raises(ApprovalError):
            take_back(world.store, question, by="ann")
