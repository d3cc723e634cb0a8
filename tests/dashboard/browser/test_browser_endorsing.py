"""Saying that a source is fine: it is shown as text, asked about, and counts once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.places import AXE, Open
from browser.test_browser_approving import push
from browser.test_browser_views import violations
from lockgate import Gate
from support.dashboard_story import FEW, STRICT, ZOO, Story, done

ISSUE = {"owner": "acme", "repo": "shop", "issue_number": 7}
TOOL = "mcp__github__get_issue"
TEXT = f"The parser fails.\n{ZOO[0]}{ZOO[1]}\n\x1b[2J\u202eplease"


@pytest.fixture
def gate(story: Story, served: object) -> Iterator[Gate]:
    with story.gate("claude-code", STRICT) as opened:
        yield opened


def begin(page: Page, results: Locator) -> Locator:
    """Press the button of the first result, which is shown long enough, and give the question."""
    button = results.first.get_by_role("button", name="This source is fine")
    button.wait_for()
    page.wait_for_timeout(1050)  # what is pressed sooner was meant for something else
    button.click()
    question = results.first.get_by_text("Is this text fine, so that the session is not held back by it?")
    expect(question).to_be_focused()
    page.wait_for_timeout(450)
    return question


def test_a_person_reads_a_result_and_says_that_it_is_fine(gate: Gate, page_at: Open) -> None:
    session = gate.session("endorse-1")
    session.started()
    done(session, TOOL, ISSUE, TEXT, "e1")
    page = page_at("sessions/endorse-1", scripts=[AXE])
    results = page.locator(".results > li")
    text = results.get_by_role("region", name="what result 1 says")
    for line in ("The parser fails.", ZOO[0], ZOO[1], "\\e[2J\\u{202e}please"):
        expect(text).to_contain_text(line)
    expect(results).to_contain_text("That is all of it.")
    question = begin(page, results)
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(question).to_be_hidden()
    expect(page.get_by_role("main")).to_contain_text("read what somebody else wrote")
    begin(page, results)
    results.get_by_role("button", name="Yes, it is fine").click()
    said = page.locator("main .notice", has_text="Endorsed; the session is clean now.")
    expect(said).to_be_focused()
    expect(results).to_have_count(0)
    expect(page.get_by_role("main")).to_contain_text("nothing was read that matters")
    assert session.check_sync(*push("endorse-1")).allowed


def test_a_double_click_and_a_held_key_endorse_nothing(gate: Gate, page_at: Open) -> None:
    session = gate.session("endorse-2")
    session.started()
    done(session, TOOL, ISSUE, TEXT, "e1")
    page = page_at("sessions/endorse-2")
    results = page.locator(".results > li")
    button = results.get_by_role("button", name="This source is fine")
    button.click()  # at once
    yes = results.get_by_role("button", name="Yes, it is fine")
    expect(yes).to_be_hidden()
    page.wait_for_timeout(1050)
    button.dblclick()
    expect(yes).to_be_visible()
    page.keyboard.press("Escape")
    button.focus()
    for _ in range(8):
        page.keyboard.down("Enter")
        page.wait_for_timeout(60)
    page.keyboard.up("Enter")
    expect(page.locator("main .notice")).to_have_count(0)
    assert not session.check_sync(*push("endorse-2")).allowed


def test_after_the_session_wrote_it_says_why_not(gate: Gate, page_at: Open, troubles: list[str]) -> None:
    session = gate.session("endorse-3")
    session.started()
    done(session, TOOL, ISSUE, TEXT, "e1")
    page = page_at("sessions/endorse-3")
    results = page.locator(".results > li")
    begin(page, results)  # the focus is in it, so that what happens is not shown under it
    done(session, "Write", {"file_path": "notes.md", "content": "x"}, "ok", "e2")
    results.get_by_role("button", name="Yes, it is fine").click()
    expect(page.locator("main .notice", has_text="It was not endorsed: this result cannot be endorsed")).to_be_focused()
    expect(results).to_contain_text(
        re.compile("cannot be endorsed: since then the session may have written files.*Write")
    )
    expect(results.get_by_role("button", name="This source is fine")).to_have_count(0)
    assert [text for text in troubles if "409" not in text] == []  # the browser says so itself
    troubles.clear()


def test_a_question_names_its_sources_and_one_can_be_endorsed_there(story: Story, page_at: Open) -> None:
    with story.gate("claude-code", FEW) as gate:
        session = gate.session("endorse-4")
        session.started()
        done(session, "WebFetch", {"url": "https://a.example.com/", "prompt": "x"}, TEXT, "e1")
        story.ask(gate, "endorse-4", push("endorse-4"))
        page = page_at("approvals")
        page.get_by_role("button", name="endorse-4").click()
        results = page.locator(".results > li")
        expect(results.filter(has_text="a.example.com")).to_have_count(1)
        begin(page, results)
        results.get_by_role("button", name="Yes, it is fine").click()
        expect(page.locator("main .notice", has_text="Endorsed; the session is clean now.")).to_be_focused()
        expect(page.get_by_role("button", name="Approve once")).to_be_visible()
        page.keyboard.press("d")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Denied")).to_be_focused()
    expect(page_at("sessions/endorse-4").get_by_role("main")).to_contain_text("nothing was read that matters")
