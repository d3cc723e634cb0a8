"""Getting in: by a link that works once, and out again."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from browser.places import Open
from support.dashboard_served import Served


def test_a_link_logs_in_once_and_leaves_the_address(served: Served, open_page: Open, troubles: list[str]) -> None:
    link = served.link()
    page = open_page()
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text("Sessions")
    assert page.url == f"{served.url}#/"
    assert "lockgate" not in page.evaluate("document.cookie")

    again = page.context.new_page()
    again.goto(link)
    expect(again.get_by_role("heading", level=1)).to_have_text("Sessions")

    second = open_page()
    second.goto(link)
    expect(second.get_by_role("heading", level=1)).to_have_text("Two browsers have used the same link")
    page.get_by_role("link", name=re.compile("Decisions")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Two browsers have used the same link")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Two browsers have used the same link")
    expect(second.get_by_text("lockgate dashboard", exact=True)).to_be_visible()
    expect(second.get_by_role("navigation")).to_be_hidden()
    assert [trouble for trouble in troubles if "401" not in trouble] == []
    troubles.clear()


def test_a_planted_cookie_does_not_hide_that_a_link_was_stolen(
    served: Served, open_page: Open, troubles: list[str]
) -> None:
    link = served.link()
    thief, page = open_page(), open_page()
    thief.goto(link)
    thief.get_by_role("link", name="fix-issue-7").wait_for()
    page.context.add_cookies(thief.context.cookies())
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text("Two browsers have used the same link")
    thief.reload()
    expect(thief.get_by_role("heading", level=1)).to_have_text("Two browsers have used the same link")
    assert [trouble for trouble in troubles if "401" not in trouble] == []
    troubles.clear()


def test_who_only_knows_the_address_is_told_how_to_log_in(served: Served, open_page: Open, troubles: list[str]) -> None:
    page = open_page()
    page.goto(f"{served.url}#/approvals")
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in from your terminal")
    expect(page.get_by_text("git push")).to_have_count(0)
    troubles.clear()


def test_another_tab_of_the_same_browser_is_logged_in_too(served: Served, open_page: Open) -> None:
    page = open_page()
    served.login(page)
    other = page.context.new_page()
    other.goto(f"{served.url}#/decisions")
    expect(other.get_by_role("heading", level=1)).to_have_text("Decisions")


def test_a_fresh_login_is_that_of_all_tabs(served: Served, open_page: Open) -> None:
    page = open_page()
    served.login(page)
    fresh, again, link = page.context.new_page(), page.context.new_page(), served.link()
    for tab in (fresh, again):
        tab.goto(link)
        expect(tab.get_by_role("heading", level=1)).to_have_text("Sessions")
    page.get_by_role("link", name=re.compile("Decisions")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Decisions")


def test_a_login_that_is_over_takes_everything_away(served: Served, open_page: Open, troubles: list[str]) -> None:
    page = open_page()
    served.login(page)
    page.get_by_role("link", name="fix-issue-7").wait_for()
    page.context.clear_cookies()
    page.get_by_role("link", name=re.compile("Decisions")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("You were logged out")
    expect(page.get_by_text("fix-issue-7")).to_have_count(0)
    troubles.clear()


def test_logging_out_ends_the_session_on_the_server(served: Served, open_page: Open, troubles: list[str]) -> None:
    page = open_page()
    served.login(page)
    cookies = page.context.cookies()
    csrf = page.evaluate("sessionStorage.getItem('lockgate-csrf')")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("You are logged out")
    page.context.add_cookies(cookies)
    page.evaluate("csrf => sessionStorage.setItem('lockgate-csrf', csrf)", csrf)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in from your terminal")
    page.goto(served.link())  # in the same tab, where only what is behind the # is another
    expect(page.get_by_role("heading", level=1)).to_have_text("Sessions")
    troubles.clear()
