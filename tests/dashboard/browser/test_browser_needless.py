"""Saying that a stop was needless: one button writes its case, and answers nothing."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from browser.places import AXE, Open
from browser.test_browser_approving import push
from browser.test_browser_views import violations
from support.dashboard_story import FEW, STRICT, Story, done

ISSUE = {"owner": "acme", "repo": "shop", "issue_number": 7}
TOOL = "mcp__github__get_issue"


def written(page: Page, story: Story) -> Path:
    """Press the button, and find the file that the page names."""
    folder = story.state / "lockgate" / "reports"
    before = set(folder.glob("*"))
    button = page.get_by_role("button", name="This stop was needless")
    button.click()
    notice = page.locator("main .notice", has_text="Written. Read it once more before you report it:")
    expect(notice).to_be_focused()
    expect(button).to_be_disabled()
    assert violations(page) == []
    [file] = set(folder.glob("*")) - before
    expect(notice).to_contain_text(str(file))
    return file


def test_a_question_is_reported_and_still_waits(served: object, story: Story, page_at: Open) -> None:
    with story.gate("claude-code", FEW) as gate:
        session = gate.session("needless-1")
        session.started()
        done(session, TOOL, ISSUE, "The parser fails.", "n1")
        story.ask(gate, "needless-1", push("needless-1"))
    page = page_at("approvals", scripts=[AXE])
    page.locator(".question-item", has_text="needless-1").first.click()
    expect(page.locator(".question")).to_contain_text("git.example.com/needless-1")
    approval = page.url.rpartition("/")[2]
    assert "needless-1" in written(page, story).read_text()
    assert story.state_of(approval) == "pending"


def test_a_refusal_is_reported(served: object, story: Story, page_at: Open) -> None:
    with story.gate("claude-code", STRICT) as gate:
        session = gate.session("needless-2")
        session.started()
        done(session, TOOL, ISSUE, "The parser fails.", "n1")
        assert not session.check_sync(*push("needless-2")).allowed
    page = page_at("decisions?session=needless-2&verdict=deny", scripts=[AXE])
    page.locator(".items a").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Decision")
    assert "needless-2" in written(page, story).read_text()


def test_what_ran_has_no_such_button(served: object, story: Story, page_at: Open) -> None:
    with story.gate("claude-code", STRICT) as gate:
        session = gate.session("needless-3")
        session.started()
        assert session.check_sync("Bash", {"command": "ls"}).allowed
    page = page_at("decisions?session=needless-3")
    page.locator(".items a").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Decision")
    expect(page.get_by_role("button", name="This stop was needless")).to_have_count(0)


def test_where_it_cannot_be_written_the_page_says_so(
    served: object, story: Story, page_at: Open, troubles: list[str]
) -> None:
    folder = story.state / "lockgate" / "reports"
    with story.gate("claude-code", STRICT) as gate:
        session = gate.session("needless-4")
        session.started()
        done(session, TOOL, ISSUE, "The parser fails.", "n1")
        assert not session.check_sync(*push("needless-4")).allowed
    page = page_at("decisions?session=needless-4&verdict=deny")
    page.locator(".items a").first.click()
    page.route("**/needless", lambda route: route.fulfill(status=503, json={"title": "x", "detail": "no room <b>"}))
    page.get_by_role("button", name="This stop was needless").click()
    notice = page.locator("main .notice", has_text="It was not written: no room <b>")
    expect(notice).to_be_focused()
    expect(page.get_by_role("button", name="This stop was needless")).to_be_enabled()
    assert not list(folder.glob("*needless-4*"))
    assert [text for text in troubles if "503" not in text] == []
    troubles.clear()
