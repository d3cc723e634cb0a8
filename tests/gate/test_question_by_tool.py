"""Where the dialog about a call does not show all of it, its person is asked by the client's tool for questions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gate.world import WORK, World
from lockgate.clients.claude.attendance import shows_reason
from lockgate.core.events import Answer, CallsAnswered, ToolFinished, ToolRequested
from lockgate.core.model import ToolCall, Verdict
from lockgate.gate import Monitor
from lockgate.gate.messages import tool_dialog
from lockgate.store.rows import ApprovalRow

ALLOW, DENY = Verdict.ALLOW, Verdict.DENY
TOOL = "AskUserQuestion"
EDIT = {"file_path": f"{WORK}/CLAUDE.md", "old_string": "be kind", "new_string": "be kind\nand brief"}
WRITE = {"file_path": f"{WORK}/.github/workflows/ci.yml", "content": "on: push\n"}
YES, NO = "Yes, once", "No"


class Front:
    """A person before a client in a window of 40 rows and 120 columns."""

    def __init__(self, world: World) -> None:
        self.world, self.window = world, (40, 120)
        self.hook = ""
        """Why somebody else could answer."""
        parts = world.gate.parts
        consultants = parts.consultants._replace(
            asking_tool=TOOL, window=lambda _: self.window, unattended=lambda _, call: self._unattended(call)
        )
        world.gate = Monitor(parts._replace(consultants=consultants))
        world.taint()

    def _unattended(self, call: ToolCall) -> str:
        return self.hook or ("" if shows_reason(call.tool) else "the dialog shows no reason")

    def ask(self, tool: str = "Edit", tool_input: dict[str, Any] = EDIT, **more: Any) -> Answer:
        return self.world.ask(tool, tool_input, **more)[0]

    def put(self, tool_input: Any = None, **more: Any) -> tuple[Answer, ToolCall]:
        return self.world.ask(
            TOOL, dict(tool_dialog.request(self.row.approval) if tool_input is None else tool_input), **more
        )

    def answer(self, call: ToolCall, shown: Any, said: str, **changes: Any) -> Answer:
        questions = shown["questions"]
        # To all pages but the last one the person says that they go on.
        answers = {each["question"]: each["options"][-1]["label"] for each in questions} | {
            questions[-1]["question"]: said
        }
        result = {"questions": questions, "answers": answers, "annotations": {}, **changes}
        told = ToolFinished(self.world.context(), call._replace(tool_input=shown), result, json.dumps(result))
        answer = self.world.gate.handle(told)
        self.world.gate.handle(CallsAnswered(self.world.context()))
        return answer

    def say(self, said: str) -> Answer:
        put, call = self.put()
        assert put.new_input is not None
        return self.answer(call, put.new_input, said)

    @property
    def rows(self) -> list[ApprovalRow]:
        with self.world.store.reading() as tx:
            return tx.approvals()

    @property
    def row(self) -> ApprovalRow:
        return max(self.rows, key=lambda row: row.asked_at)


@pytest.fixture
def front(world: World) -> Front:
    return Front(world)


# ---------------------------------------------------------------- the way of a yes
@pytest.mark.parametrize(("tool", "tool_input"), [("Edit", EDIT), ("Write", WRITE)])
def test_a_yes_lets_exactly_this_call_run_once(front: Front, tool: str, tool_input: dict[str, Any]) -> None:
    said = front.ask(tool, tool_input)
    assert said.verdict is DENY
    assert tool_dialog.request_text(front.row.approval) in said.to_agent
    assert "make exactly the same call again" in front.say(YES).context.lower()
    again = front.ask(tool, tool_input)
    assert (again.verdict, again.approved) == (ALLOW, True)
    assert front.ask(tool, tool_input).verdict is DENY
    assert [row.state for row in front.rows].count("used") == 1


def test_what_is_shown_is_the_whole_call_where_it_goes_and_what_locked(front: Front) -> None:
    front.ask()
    put, _ = front.put()
    assert put.new_input is not None
    (question,) = put.new_input["questions"]
    lines = question["question"].split("\n")
    assert lines[0] == "Lockgate: let exactly this run once?"
    for text in ("Edit", f"file_path: {EDIT['file_path']}", "old_string: be kind", "new_string: be kind", "and brief"):
        assert f"  | {text}" in lines
    assert any(line.startswith("Locked by: mcp__github__get_issue") for line in lines)
    assert lines[-1] == f"more: lockgate question {front.row.approval}"
    assert [option["label"] for option in question["options"]] == [NO, YES]


def test_a_long_call_of_another_tool_is_asked_about_there(front: Front) -> None:
    mail = {"to": "a@b.example", "body": "line\n" * 14}
    front.window = (16, 120)
    assert "does not fit" in front.ask("mcp__mail__send", mail).to_agent
    assert front.rows == []
    front.window = (40, 120)
    assert front.ask("mcp__mail__send", mail).verdict is DENY
    front.say(YES)
    assert front.ask("mcp__mail__send", mail).verdict is ALLOW


def test_a_question_that_the_client_could_lose_is_put_there(front: Front) -> None:
    def push() -> Answer:
        call = ToolCall("Bash", {"command": "git push https://git.example/m.git; echo >> .idea/x"}, WORK, next(ids))
        context = front.world.context(mode="bypassPermissions")
        return front.world.gate.handle(ToolRequested(context, call, askable=False))

    ids = map(str, range(9))
    assert push().verdict is DENY
    front.say(YES)
    assert push().verdict is ALLOW
    assert push().verdict is DENY


# With tool, path, reason, source and id it is 5 lines more, and each page has 28 beside its title: 40 rows less 11.
@pytest.mark.parametrize(("lines", "pages"), [(23, 1), (24, 2), (51, 2), (52, 3), (107, 4), (108, 0)])
def test_a_long_call_is_shown_in_pages_and_what_has_no_room_is_not_asked(front: Front, lines: int, pages: int) -> None:
    content = "\n".join(f"line {number}" for number in range(lines))
    said = front.ask("Write", {"file_path": f"{WORK}/CLAUDE.md", "content": content})
    assert ("does not fit" in said.to_agent) is (pages == 0)
    if pages:
        put, call = front.put()
        assert put.new_input is not None
        texts = [question["question"] for question in put.new_input["questions"]]
        assert len(texts) == pages
        assert all(len(text.split("\n")) <= 29 for text in texts)
        shown = [line for text in texts for line in text.split("\n") if line.startswith("  | ")]
        assert [line.removeprefix("  | ").removeprefix("content: ") for line in shown][2:] == content.split("\n")
        assert f"more: lockgate question {front.row.approval}" in texts[-1]
        front.answer(call, put.new_input, YES)
    assert len(front.rows) == bool(pages)


@pytest.mark.parametrize("window", [(40, 59), (16, 240)])
def test_a_small_window_has_no_pages_for_it(front: Front, window: tuple[int, int]) -> None:
    front.window = window
    front.ask("Write", {"file_path": f"{WORK}/CLAUDE.md", "content": "\n".join("x" * 40)})
    assert front.rows == []


@pytest.mark.parametrize("size", [20_000, 100_000])
def test_a_field_of_so_many_characters_is_not_asked(front: Front, size: int) -> None:
    front.window = (100, 240)
    said = front.ask("Write", {"file_path": f"{WORK}/CLAUDE.md", "content": "x" * size})
    assert front.rows == []
    assert "does not fit" in said.to_agent


LONG = {"file_path": f"{WORK}/CLAUDE.md", "content": "\n".join(f"line {number}" for number in range(70))}
NEXT = "Next page"


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ((NEXT, NEXT, YES), "approved"),
        ((NEXT, NEXT, NO), "denied"),
        ((NO, NEXT, YES), "denied"),
        ((NEXT, NO), "denied"),
        ((NEXT, NEXT), "denied"),
        ((NEXT, None, YES), "denied"),
        ((None, None, YES), "denied"),
        ((YES, YES, YES), "denied"),
        ((NEXT, NEXT, NEXT), "denied"),
        ((NEXT, "read it", YES), "denied"),
        ((), "denied"),
    ],
)
def test_a_yes_to_pages_is_one_to_each_of_them(front: Front, said: tuple[str | None, ...], state: str) -> None:
    front.ask("Write", LONG)
    put, call = front.put()
    assert put.new_input is not None
    pages = put.new_input["questions"]
    assert [[option["label"] for option in page["options"]] for page in pages] == [[NO, NEXT], [NO, NEXT], [NO, YES]]
    words = zip(pages, said, strict=False)
    front.answer(call, put.new_input, "", answers={page["question"]: word for page, word in words if word is not None})
    assert front.row.state == state
    assert front.ask("Write", LONG).verdict is (ALLOW if state == "approved" else DENY)


def test_pages_that_are_not_all_shown_are_no_yes(front: Front) -> None:
    front.ask("Write", LONG)
    put, call = front.put()
    assert put.new_input is not None
    some = {"questions": put.new_input["questions"][1:]}
    answers = {each["question"]: each["options"][-1]["label"] for each in put.new_input["questions"]}
    front.answer(call, some, "", answers=answers)
    assert front.row.state == "denied"


# ---------------------------------------------------------------- a no
@pytest.mark.parametrize("said", [NO, "yes, once", "Yes", "Yes, once and for all", ""])
def test_any_other_answer_is_no_yes(front: Front, said: str) -> None:
    front.ask()
    front.say(said)
    assert front.row.state == "denied"
    assert front.ask().verdict is DENY
    assert len(front.rows) == 1


def test_escape_is_a_no(front: Front) -> None:
    front.ask()
    front.put()
    front.world.gate.handle(CallsAnswered(front.world.context()))
    assert front.row.state == "denied"
    assert "A person said no" in front.ask().to_agent


def test_after_a_no_the_same_effect_is_not_asked_about_before_the_next_prompt(front: Front) -> None:
    front.ask()
    front.say(NO)
    other = {**EDIT, "new_string": "obey"}
    assert "before the person's next prompt" in front.ask(tool_input=other).to_agent
    front.world.prompt("well, do it")
    front.ask(tool_input=other)
    assert front.row.state == "pending"


def test_thirty_variants_are_three_questions(front: Front) -> None:
    for number in range(30):
        front.ask(tool_input={**EDIT, "new_string": f"variant {number}"})
    assert len(front.rows) == 3


def test_what_was_not_put_lapses_with_the_next_prompt(front: Front) -> None:
    front.ask()
    name = front.row.approval
    front.world.prompt("something else")
    assert front.row.state == "expired"
    assert "no call waits for this question" in front.put(tool_dialog.request(name))[0].to_agent


# ---------------------------------------------------------------- who could answer instead
def test_a_hook_that_could_answer_ends_it_before_and_after(front: Front) -> None:
    front.hook = "a hook for PermissionRequest"
    front.ask()
    assert front.rows == []
    front.hook = ""
    front.ask()
    front.hook = "a hook for PermissionRequest"
    assert front.put()[0].verdict is DENY
    front.hook = ""
    put, call = front.put()
    front.hook = "a hook for PermissionRequest"
    front.answer(call, put.new_input, YES)
    assert front.row.state == "denied"


CHANGED: dict[str, Any] = {
    "other questions": {"questions": []},
    "more answers": {"answers": {"a": YES, "b": YES}},
    "no answers": {"answers": None},
    "a list": {"answers": [YES]},
}


@pytest.mark.parametrize("changes", CHANGED.values(), ids=CHANGED)
def test_an_answer_to_something_else_is_no_yes(front: Front, changes: dict[str, Any]) -> None:
    front.ask()
    put, call = front.put()
    front.answer(call, put.new_input, YES, **changes)
    assert front.row.state == "denied"


def test_a_question_that_somebody_has_changed_is_no_yes(front: Front) -> None:
    front.ask()
    put, call = front.put()
    assert put.new_input is not None
    text = put.new_input["questions"][0]["question"]
    shown = {"questions": [{**put.new_input["questions"][0], "question": text.replace("and brief", "and kind")}]}
    front.answer(call, shown, YES)
    assert front.row.state == "denied"


def test_an_answer_of_a_call_that_did_not_put_it_is_no_yes(front: Front) -> None:
    front.ask()
    put, call = front.put()
    front.answer(call._replace(call_id="another"), put.new_input, YES)
    assert front.row.state == "denied"


def test_an_answer_that_nobody_put_is_no_yes(front: Front) -> None:
    front.ask()
    row = front.row
    shown = tool_dialog.question_input(row.about["pages"], row.approval)
    front.answer(ToolCall(TOOL, {}, WORK, "forged"), shown, YES)
    assert front.row.state == "pending"
    assert front.ask().verdict is DENY


def test_a_request_in_other_words_is_refused_and_told_the_right_ones(front: Front) -> None:
    front.ask()
    name = front.row.approval
    request = tool_dialog.request(name)
    (question,) = request["questions"]
    for changed in (
        {"questions": [{**question, "header": "Harmless"}]},
        {"questions": [question, {**question, "question": "Is the sky blue?"}]},
        {**request, "answers": {question["question"]: YES}},
    ):
        said, _ = front.put(changed)
        assert said.verdict is DENY
        assert tool_dialog.request_text(name) in said.to_agent


def test_an_agents_own_question_stays_as_it_is_and_gives_nothing(front: Front) -> None:
    front.ask()
    shown = tool_dialog.question_input(["Lockgate: let exactly this run once?\n  | Edit"], front.row.approval)
    for own in (shown, {"questions": [{"question": "Which colour?", "options": []}]}, {"questions": "x"}, {}):
        put, call = front.put(own)
        assert (put.verdict, put.new_input) == (ALLOW, None)
        if own is shown:
            front.answer(call, own, YES)
    assert front.ask().verdict is DENY


def test_a_smaller_window_asks_anew(front: Front) -> None:
    front.ask()
    front.window = (24, 80)
    assert "has become smaller" in front.put()[0].to_agent


def test_another_session_or_agent_cannot_put_it(front: Front) -> None:
    front.ask()
    for who in ({"session_id": "s2"}, {"agent": "a1"}):
        assert front.put(**who)[0].verdict is DENY


def test_a_sub_agent_is_not_sent_to_a_tool_that_it_has_not(front: Front) -> None:
    assert front.ask(agent="a1").verdict is DENY
    assert front.rows == []


def test_with_both_labels_nobody_is_asked(front: Front) -> None:
    front.world.taint_secret()
    assert front.ask().verdict is DENY
    assert front.rows == []


def test_what_touches_the_gate_is_asked_about_nowhere(front: Front) -> None:
    front.ask("Write", {"file_path": "/home/u/.claude/settings.json", "content": "{}"})
    assert front.rows == []


def test_a_further_label_makes_the_yes_void(front: Front) -> None:
    front.ask()
    front.say(YES)
    front.world.taint_secret()
    assert front.ask().verdict is DENY


def test_a_yes_that_rests_on_something_else_is_asked_anew_and_waits_for_nobody(front: Front) -> None:
    front.ask()
    front.say(YES)
    first = front.row.approval
    (front.world.config / "lockgate.yaml").write_text("trusted_domains: [docs.example]\n")
    said = front.ask()
    assert said.verdict is DENY
    assert front.row.approval != first
    assert front.world.asked_elsewhere == []


def test_a_client_without_such_a_tool_is_as_before(world: World) -> None:
    world.taint()
    said, _ = world.ask("Edit", EDIT)
    assert said.verdict is DENY
    assert TOOL not in said.to_agent
