"""Answering an agent that waits: with the keyboard alone, and never by accident."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect
from playwright.sync_api import TimeoutError as Late

from browser.places import Open
from lockgate import Decision, Gate
from support.dashboard_story import FEW, Story

TWO_PRESSES = 450
"""Milliseconds between two presses that are meant."""


class Agent:
    """An agent that asks for one call and waits for the answer."""

    def __init__(self, gate: Gate, name: str, call: tuple[str, dict[str, Any]]) -> None:
        self.name, self._call = name, call
        self._session = gate.session(name, ask="wait")
        self._session.finished_sync("WebFetch", {"url": "https://a.example.com/", "prompt": "x"}, "x")
        self._answer: Decision | None = None
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        self._answer = self._session.check_sync(*self._call)

    def answer(self) -> Decision:
        self._thread.join(20)
        assert self._answer is not None, "nobody answered"
        return self._answer

    @property
    def waits(self) -> bool:
        return self._thread.is_alive()


@pytest.fixture
def gate(story: Story, served: object) -> Iterator[Gate]:
    with story.gate("claude-code", FEW) as opened:
        yield opened


def question(page: Page, agent: Agent) -> Page:
    """Choose an agent's question in the list, with the keyboard."""
    try:
        page.get_by_role("button", name=agent.name).wait_for()
    except Late:
        waits = "waits" if agent.waits else "waits no more"
        pytest.fail(f"{agent.name} {waits} and is not shown on {page.url}:\n{page.locator('main').inner_text()}")
    for _ in range(20):
        if page.locator("[aria-current=true]", has_text=agent.name).count():
            break
        page.keyboard.press("j")
        page.wait_for_timeout(120)
    expect(page.get_by_role("region", name="the call's command")).to_contain_text(agent.name)
    page.wait_for_timeout(1050)  # what is pressed sooner was meant for something else
    return page


def push(to: str) -> tuple[str, dict[str, Any]]:
    return "Bash", {"command": f"git push https://git.example.com/{to}"}


def test_two_presses_approve_and_the_agent_goes_on(gate: Gate, page_at: Open, story: Story) -> None:
    page = page_at("approvals")
    agent = Agent(gate, "pushes-1", push("pushes-1"))
    question(page, agent)
    title = page.get_by_role("heading", level=2).first
    while "Approved" not in title.inner_text():  # again where this machine took longer than a person may
        page.keyboard.press("a")
        expect(page.get_by_role("button", name="Press again to approve")).to_be_visible()
        page.wait_for_timeout(TWO_PRESSES)
        page.keyboard.press("a")
        page.wait_for_timeout(TWO_PRESSES)
    expect(title).to_be_focused()
    answer = agent.answer()
    assert answer.allowed
    assert story.state_of(answer.approval) == "used"


def test_a_refusal_takes_its_reason_to_the_agent(gate: Gate, page_at: Open) -> None:
    page = page_at("approvals")
    agent = Agent(gate, "pushes-2", push("pushes-2"))
    question(page, agent)
    page.keyboard.press("d")
    expect(page.get_by_label("Why not?")).to_be_focused()
    page.keyboard.type("a, d and j are letters: open an issue first")
    page.keyboard.press("Enter")
    answer = agent.answer()
    assert answer.verdict == "deny"
    assert "open an issue first" in answer.reason
    expect(page.get_by_role("heading", name="Denied")).to_be_focused()


def test_one_press_a_held_key_and_a_double_click_approve_nothing(gate: Gate, page_at: Open) -> None:
    page = page_at("approvals")
    agent = Agent(gate, "pushes-3", push("pushes-3"))
    question(page, agent)
    approve = page.get_by_role("button", name="Approve once").or_(page.get_by_role("button", name="Press again"))

    def nothing_came_of_it() -> None:
        page.wait_for_timeout(100)
        expect(approve).to_be_visible()
        assert agent.waits
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Approve once")).to_be_visible()

    page.keyboard.press("a")
    nothing_came_of_it()
    for _ in range(8):
        page.keyboard.down("a")  # without letting go: all but the first are repeats
    page.wait_for_timeout(TWO_PRESSES)
    page.keyboard.down("a")
    page.keyboard.up("a")
    nothing_came_of_it()
    approve.dblclick()
    nothing_came_of_it()
    approve.focus()
    page.keyboard.down("Enter")
    page.wait_for_timeout(TWO_PRESSES)
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    nothing_came_of_it()
    page.keyboard.press("d")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Why not?")).to_be_hidden()
    refuse(page, agent)


def refuse(page: Page, agent: Agent) -> None:
    """Refuse what is left, so that no thread waits on."""
    question(page, agent)
    page.keyboard.press("d")
    page.keyboard.press("Enter")
    assert not agent.answer().allowed


def test_a_question_comes_without_taking_the_focus(gate: Gate, page_at: Open) -> None:
    page = page_at("decisions")
    words = page.get_by_role("searchbox", name="Words")
    words.fill("git")
    agent = Agent(gate, "pushes-4", push("pushes-4"))
    expect(
        page.get_by_role("status")
        .filter(has_text="waits for a person")
        .or_(page.get_by_role("status").filter(has_text="wait for a person"))
    ).to_have_count(1)
    expect(words).to_be_focused()
    page.get_by_role("link", name="Approvals").click()
    refuse(page, agent)


def test_a_question_that_was_answered_elsewhere_says_so(gate: Gate, page_at: Open) -> None:
    here, there = page_at("approvals"), page_at("approvals")
    agent = Agent(gate, "pushes-5", push("pushes-5"))
    question(here, agent)
    refuse(there, agent)
    expect(here.get_by_role("heading", name="Denied")).to_be_visible()
    expect(here.get_by_role("button", name="Approve once")).to_have_count(0)


def test_a_question_that_comes_while_the_page_loads_is_shown(gate: Gate, page_at: Open) -> None:
    page = page_at("decisions")
    held: list[Route] = []
    # The list has been read; the rest of the page is on its way.
    page.route("**/api/v1/approvals/*", lambda route: held.append(route), times=1)
    page.get_by_role("link", name="Approvals").click()
    while not held:
        page.wait_for_timeout(20)
    agent = Agent(gate, "pushes-6", push("pushes-6"))
    expect(page.get_by_role("status").filter(has_text="for a person")).to_have_count(1)
    held.pop().continue_()
    refuse(page, agent)


def test_a_late_answer_does_not_take_the_place_of_a_newer_one(gate: Gate, page_at: Open) -> None:
    page = page_at("approvals")
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    first = Agent(gate, "pushes-7", push("pushes-7"))
    question(page, first)
    page.route("**/api/v1/approvals?state=pending", hold)
    second = Agent(gate, "pushes-8", push("pushes-8"))
    while not held:
        page.wait_for_timeout(20)
    third = Agent(gate, "pushes-9", push("pushes-9"))
    page.get_by_role("button", name="pushes-9").wait_for()
    (route, answer), *_ = held
    route.fulfill(response=answer)
    page.wait_for_timeout(200)
    for agent in (third, second, first):
        refuse(page, agent)
