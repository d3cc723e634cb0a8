"""What a call brings counts for every later call, but not for those that were written together with it.

The model of the client: the model writes messages of calls; the client asks the hooks of one message in any order, also
while others of it run; each result comes, fails, or is lost on the way to the gate (then the model has read it all the
same). Only when all calls of a message have an answer is the next message written.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.world import WORK, World
from lockgate.core.events import ToolFailed, ToolFinished, ToolRequested
from lockgate.core.model import Subject, TaintState, ToolCall, Verdict
from lockgate.core.questions import TurnQuestion
from lockgate.gate import Consultants, Monitor

ISSUE = ("mcp__github__get_issue", {"number": 7})
PUSH = ("Bash", {"command": "git push https://git.example.com/x.git HEAD:main"})
LS = ("Bash", {"command": "ls"})
PAGE = ("WebFetch", {"url": "https://page.example.com/", "prompt": "x"})
SECRET = ("Bash", {"command": "cat ~/.aws/credentials"})
SEARCH = ("WebSearch", {"query": "x"})
KINDS = {"issue": ISSUE, "push": PUSH, "ls": LS}

Messages = list[list[tuple[str, str]]]


class Client(World):
    """A client that writes down which calls were made in one message."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.messages: list[set[str]] = []
        self.looked = 0
        contain = lambda _, call, __: {**call.tool_input, "contained": True}  # noqa: E731
        parts = self.gate.parts._replace(consultants=Consultants(turn=lambda _: self._turn), contain=contain)
        self.gate = Monitor(parts)

    def _turn(self, question: TurnQuestion) -> frozenset[str]:
        self.looked += 1
        [mine] = [each for each in self.messages if question.call_id in each] or [set()]
        return frozenset(mine) & question.among.keys()

    def asked(self, kind: tuple[str, dict[str, Any]], call_id: str, **more: Any) -> Verdict:
        call = ToolCall(*kind, WORK, call_id)
        return self.gate.handle(ToolRequested(self.context(**more), call)).verdict

    def came(self, kind: tuple[str, dict[str, Any]], call_id: str, how: str, session_id: str = "s1") -> None:
        call, context = ToolCall(*kind, WORK, call_id), self.context(session_id=session_id)
        if how == "finished":
            self.gate.handle(ToolFinished(context, call, "text of a stranger", "text of a stranger"))
        elif how == "failed":
            self.gate.handle(ToolFailed(context, call, "error of a stranger"))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    return Client(tmp_path_factory.mktemp("client"))


SESSIONS = itertools.count()
CALLS = st.tuples(st.sampled_from(list(KINDS)), st.sampled_from(["finished", "failed", "lost"]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(st.lists(CALLS, min_size=1, max_size=4), min_size=1, max_size=3), data=st.data())
def test_a_call_is_refused_just_where_its_model_may_have_read_a_stranger(
    client: Client, messages: Messages, data: st.DataObject
) -> None:
    """In every order of a message's events."""
    session = f"turns-{next(SESSIONS)}"
    client.start(session_id=session)
    has_read = False
    for number, message in enumerate(messages):
        names = [f"{session}-{number}-{place}" for place in range(len(message))]
        client.messages.append(set(names))
        waiting, out = list(range(len(message))), []
        reads = False
        while waiting or out:
            if waiting and (not out or data.draw(st.booleans())):
                place = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
                kind, how = message[place]
                verdict = client.asked(KINDS[kind], names[place], session_id=session)
                # A result that has come was not read by who had written the message before.
                assert (verdict is Verdict.DENY) == (kind != "ls" and has_read)
                if verdict is not Verdict.DENY:
                    out.append(place)
            else:
                place = out.pop(data.draw(st.integers(0, len(out) - 1)))
                kind, how = message[place]
                client.came(KINDS[kind], names[place], how, session)
                reads = reads or kind in ("issue", "push")
        has_read = has_read or reads


def test_without_proof_everything_that_is_out_counts(client: Client) -> None:
    """As for a client that tells nothing of its messages."""
    client.start(session_id="silent")
    assert client.asked(ISSUE, "silent-1", session_id="silent") is Verdict.ALLOW
    assert client.asked(PUSH, "silent-2", session_id="silent") is Verdict.DENY


def test_a_clean_call_asks_nobody(client: Client) -> None:
    client.start(session_id="quick")
    before = client.looked
    client.asked(ISSUE, "quick-1", session_id="quick")
    client.asked(LS, "quick-2", session_id="quick")
    assert client.looked == before


def test_a_contained_call_asks_nobody_because_of_what_has_come(client: Client) -> None:
    """It would wait for a file, and nothing would be gained for a person."""
    client.start(session_id="make")
    client.messages.append({"make-1", "make-2"})
    client.asked(ISSUE, "make-1", session_id="make")
    client.came(ISSUE, "make-1", "finished", "make")
    before = client.looked
    call = ToolCall("Bash", {"command": "make"}, WORK, "make-2")
    answer = client.gate.handle(ToolRequested(client.context(session_id="make"), call))
    assert (answer.new_input, client.looked) == ({"command": "make", "contained": True}, before)


def test_what_came_long_ago_is_of_no_message_of_now(client: Client) -> None:
    client.start(session_id="old")
    client.messages.append({"old-1", "old-2"})
    client.asked(ISSUE, "old-1", session_id="old")
    client.came(ISSUE, "old-1", "finished", "old")
    client._time = itertools.count(client._now() + 3600)
    before = client.looked
    assert client.asked(PUSH, "old-2", session_id="old") is Verdict.DENY
    assert client.looked == before


def test_what_a_sub_agent_inherits_counts(client: Client) -> None:
    """It began after the message was written, whoever else stands in it."""
    client.start(session_id="sub")
    client.messages.append({"sub-1", "sub-2"})
    client.asked(ISSUE, "sub-1", session_id="sub")
    assert client.asked(PUSH, "sub-2", agent="a1", session_id="sub") is Verdict.DENY


def test_what_came_while_somebody_looked_was_not_read_either(client: Client) -> None:
    client.start(session_id="late")
    client.messages.append({"late-1", "late-2"})
    client.asked(ISSUE, "late-1", session_id="late")
    going = client.gate.deliberate(ToolRequested(client.context(session_id="late"), ToolCall(*PUSH, WORK, "late-2")))
    assert isinstance(going.send(None), TurnQuestion)
    client.came(ISSUE, "late-1", "finished", "late")
    with pytest.raises(StopIteration) as end:
        going.send(frozenset({"late-1"}))
    assert end.value.value.verdict is Verdict.ALLOW


def test_what_came_while_somebody_looked_counts_without_proof(client: Client) -> None:
    client.start(session_id="apart")
    client.messages.append({"apart-1", "apart-2"})
    client.asked(ISSUE, "apart-1", session_id="apart")
    going = client.gate.deliberate(ToolRequested(client.context(session_id="apart"), ToolCall(*PUSH, WORK, "apart-2")))
    assert isinstance(going.send(None), TurnQuestion)
    client.came(ISSUE, "apart-1", "finished", "apart")
    with pytest.raises(StopIteration) as end:
        going.send(frozenset())
    assert end.value.value.verdict is Verdict.DENY


def test_no_call_of_a_message_that_a_stranger_may_have_written_is_left_out(client: Client) -> None:
    """They work together without anybody reading a result: the first puts away what the second sends."""
    client.start(session_id="led")
    client.asked(ISSUE, "led-1", session_id="led")
    client.came(ISSUE, "led-1", "finished", "led")
    client.messages.append({"led-2", "led-3"})
    assert client.asked(SECRET, "led-2", session_id="led") is Verdict.ALLOW
    assert client.asked(SEARCH, "led-3", session_id="led") > Verdict.ALLOW


def test_nor_where_a_result_of_an_earlier_message_was_lost(client: Client) -> None:
    client.start(session_id="half")
    client.asked(ISSUE, "half-1", session_id="half")
    client.messages.append({"half-2", "half-3"})
    client.asked(SECRET, "half-2", session_id="half")
    assert client.asked(SEARCH, "half-3", session_id="half") > Verdict.ALLOW


@pytest.mark.parametrize("first", ["gh issue view 1 > a.sh", "curl -o a.sh https://example.com/a"])
def test_a_call_that_keeps_what_it_brings_counts_for_all(client: Client, first: str) -> None:
    """Another command can use the file, and nobody has to read it."""
    session = f"keeps-{first[:2]}"
    client.start(session_id=session)
    client.messages.append({f"{session}-1", f"{session}-2"})
    assert client.asked(("Bash", {"command": first}), f"{session}-1", session_id=session) is Verdict.ALLOW
    assert client.asked(PUSH, f"{session}-2", session_id=session) is Verdict.DENY


@pytest.mark.parametrize("first", [0, 1])
def test_each_result_labels_and_the_next_message_sees_them_all(client: Client, first: int) -> None:
    session = f"all-{first}"
    client.start(session_id=session)
    names = [f"{session}-1", f"{session}-2"]
    client.messages.append(set(names))
    assert [client.asked(PAGE, name, session_id=session) for name in names] == [Verdict.ALLOW, Verdict.ALLOW]

    def states() -> dict[str, TaintState]:
        with client.store.transaction() as tx:
            return {taint.call_id: taint.state for taint in tx.taints(Subject(session))}

    assert states() == dict.fromkeys(names, TaintState.PENDING)
    client.came(PAGE, names[first], "finished", session)
    assert states() == {names[first]: TaintState.CONFIRMED, names[1 - first]: TaintState.PENDING}
    client.came(PAGE, names[1 - first], "finished", session)
    assert states() == dict.fromkeys(names, TaintState.CONFIRMED)
    client.messages.append({f"{session}-3"})
    assert client.asked(PUSH, f"{session}-3", session_id=session) is Verdict.DENY


@pytest.mark.parametrize("lost", [0, 1])
def test_the_next_message_sees_a_result_that_was_lost(client: Client, lost: int) -> None:
    session = f"lost-{lost}"
    client.start(session_id=session)
    names = [f"{session}-1", f"{session}-2"]
    client.messages.append(set(names))
    for name in names:
        client.asked(PAGE, name, session_id=session)
    call = ToolCall(*PAGE, WORK, names[1 - lost])
    client.gate.handle(ToolFinished(client.context(session_id=session), call, "", ""))  # says nothing: no label
    client.messages.append({f"{session}-3", f"{session}-4"})
    client.asked(LS, f"{session}-3", session_id=session)
    assert client.asked(PUSH, f"{session}-4", session_id=session) is Verdict.DENY
