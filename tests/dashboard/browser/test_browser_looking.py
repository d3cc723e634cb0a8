"""Looking: searching decisions, reading the policy, asking what if, and being told as it happens."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from browser.places import Open
from support.dashboard_served import Served
from support.dashboard_story import FEW, Story


def test_decisions_are_found_by_what_stands_in_them(page_at: Open) -> None:
    page = page_at("decisions")
    page.get_by_role("searchbox", name="Words").fill("pre-push")
    rows = page.locator(".decision-item")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Write")
    assert "text=pre-push" in page.url
    page.get_by_label("Verdict").select_option("allow")
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    page.get_by_role("searchbox", name="Words").fill("")
    page.get_by_role("textbox", name="Tool").fill("WebSearch")
    expect(rows).to_have_count(1)
    page.reload()
    expect(page.get_by_role("textbox", name="Tool")).to_have_value("WebSearch")
    expect(rows).to_have_count(1)


def test_a_decision_tells_what_was_decided_by_what(page_at: Open) -> None:
    page = page_at("decisions?text=paste.example.net&verdict=deny&tool=Bash")
    page.get_by_role("link", name=re.compile("curl")).click()
    main = page.get_by_role("main")
    for text in ("it does not run", "the policy table", "this decided", "Read: .env", "In the audit chain"):
        expect(main).to_contain_text(text)


def test_the_time_line_tells_what_gave_each_label_and_what_was_stopped(page_at: Open) -> None:
    page = page_at("sessions/fix-issue-7")
    moments = page.locator(".moment")
    expect(moments.filter(has_text="now untrusted")).to_contain_text("mcp__github__get_issue")
    expect(moments.filter(has_text="now secret")).to_contain_text(".env")
    expect(page.locator(".moment-stopped")).to_have_count(4)
    assert [lane.get_attribute("class").split() for lane in moments.last.locator(".lane").all()] == [
        ["lane", "lane-untrusted", "held"],
        ["lane", "lane-secret", "held"],
    ]


def test_what_if_answers_in_every_state(page_at: Open) -> None:
    page = page_at("explain")
    page.get_by_role("button", name="git push origin main").click()
    states = page.get_by_role("group", name="What the session has read")
    expect(states.get_by_role("button", name="untrusted")).to_contain_text("deny")
    states.get_by_role("button", name="clean").click()
    expect(page.locator(".tiers .decides")).to_contain_text("nothing was read that matters")
    page.get_by_label("Tool").fill("WebFetch")
    page.get_by_label("Input").fill("{oops")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("alert")).to_have_text("The input is not a JSON object.")
    page.get_by_label("Input").fill('{"url": "https://example.com/x"}')
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="the call's url")).to_contain_text("(effect 1: fetch")


def test_the_policy_is_a_table_whose_cells_are_explained(page_at: Open) -> None:
    page = page_at("policy")
    row = page.get_by_role("row", name=re.compile("^execute runs code"))
    row.get_by_role("button", name="contain else ask").first.click()
    expect(page.locator(".explained")).to_contain_text("in a session that has read what somebody else wrote")
    expect(page.locator(".chain li")).to_have_count(2)


def test_what_happens_is_shown_as_it_happens(page_at: Open, story: Story) -> None:
    sessions, session = page_at("sessions"), page_at("sessions/rename-config-keys")
    expect(sessions.get_by_text("live", exact=True)).to_be_visible()
    expect(session.get_by_text("live", exact=True)).to_be_visible()
    with story.gate("claude-code", FEW) as gate:
        gate.session("has-just-begun").check_sync("Bash", {"command": "ls"})
        gate.session("rename-config-keys").finished_sync(
            "WebFetch", {"url": "https://a.example.com/x", "prompt": "x"}, "x"
        )
    expect(sessions.get_by_role("link", name="has-just-begun")).to_be_visible()
    expect(session.locator(".moment").filter(has_text="now untrusted")).to_contain_text("a.example.com")


def test_the_time_line_leaves_out_what_a_sub_agent_begins_with(page_at: Open) -> None:
    page = page_at("sessions/support-inbox")
    expect(page.locator(".moment").filter(has_text="a sub-agent began")).to_have_count(1)
    expect(page.locator(".moment").filter(has_text="inherited from")).to_have_count(0)
    expect(page.locator(".moment").filter(has_text="the question")).to_contain_text("git push")


def test_all_tabs_of_a_browser_share_one_line(served: Served, page_at: Open, story: Story) -> None:
    """A browser opens six lines at once to a server: with one for each tab, the seventh would show nothing."""
    first = page_at("sessions")
    tabs = [first]
    for _ in range(8):
        tabs.append(first.context.new_page())
        tabs[-1].goto(f"{served.url}#/sessions")
        expect(tabs[-1].get_by_role("heading", level=1)).to_have_text("Sessions")
    for number, left in enumerate((tabs, tabs[1:], tabs[5:])):
        for gone in set(tabs) - set(left):
            gone.close()  # the one that has the line is among them
        for tab in left:
            expect(tab.get_by_text("live", exact=True)).to_be_visible()
        with story.gate("claude-code", FEW) as gate:
            gate.session(f"of-all-tabs-{number}").check_sync("Bash", {"command": "ls"})
        for tab in left:
            expect(tab.get_by_role("link", name=f"of-all-tabs-{number}")).to_be_visible()


def test_who_logs_out_in_one_tab_is_logged_out_in_all(served: Served, open_page: Open, troubles: list[str]) -> None:
    page = open_page()
    served.login(page)
    others = [page.context.new_page() for _ in range(2)]
    for other in others:
        other.goto(f"{served.url}#/sessions")
        expect(other.get_by_text("live", exact=True)).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    for other in others:
        expect(other.get_by_role("heading", level=1)).to_have_text("You were logged out")
    troubles.clear()
