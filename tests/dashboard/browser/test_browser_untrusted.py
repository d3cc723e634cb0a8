"""What an attacker wrote is text: in every view, and whatever it looks like."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from browser.places import Open
from lockgate.core.display_text import visible
from support.dashboard_story import ZOO, Story

PLACES = ("sessions", "sessions/zoo-0 <script>alert(1)<%2Fscript>", "approvals", "decisions", "explain", "policy")
MARKS = (
    "script:not([src]), svg:not(.icon), img, iframe, base, meta[http-equiv], a[href^=javascript],"
    " [onload], [onerror], [onfocus], [onmouseover], [style]"
)
"""Elements and attributes that no page of ours has."""


def unhurt(page: Page) -> None:
    """Nothing of what was written became markup, and nothing is hidden in text."""
    assert page.locator(MARKS).count() == 0
    text = page.evaluate("document.body.textContent + document.title")
    hidden = {
        f"{ord(each):x}"
        for each in text
        if each in "\u202e\u2066\u200b\u00ad\ufeff\x1b\x00" or 0xD800 <= ord(each) < 0xE000
    }
    assert not hidden


def go(page: Page, place: str) -> None:
    """Go to another place of the dashboard."""
    page.evaluate("place => { document.querySelector('h1').remove(); location.hash = place; }", f"#/{place}")
    page.locator("main h1").wait_for()


def test_no_view_makes_markup_of_it(page_at: Open) -> None:
    page = page_at()
    for place in PLACES:
        go(page, place)
        unhurt(page)


def test_sessions_and_decisions_of_each_are_shown_as_text(page_at: Open) -> None:
    page = page_at()
    for number, text in enumerate(ZOO):
        go(page, "sessions")
        page.get_by_role("link", name=re.compile(rf"^zoo-{number}\b")).first.click()
        page.get_by_role("heading", name="Time line").wait_for()
        title = text if text.isprintable() else "\\u{202e}gnp.exe\\u{2066} \\u{200b}\\xad\\u{feff}\\e[31m"
        expect(page.get_by_role("heading", level=1)).to_contain_text(title)
        unhurt(page)
        why = page.get_by_role("link", name="why", exact=True).last
        if why.count():
            why.click()
            page.get_by_role("heading", name="In the audit chain").wait_for()
            unhurt(page)


def test_the_whole_call_of_a_question_is_there_to_be_read(page_at: Open, story: Story) -> None:
    page = page_at("approvals")
    page.get_by_role("button", name="zoo-0").click()
    call = page.get_by_role("region", name="the call's command")
    expect(call).to_contain_text(ZOO[0])
    for text in ZOO:
        if text.isprintable():
            expect(call).to_contain_text(text)
    expect(call).to_contain_text("\\u{202e}gnp.exe\\u{2066} \\u{200b}")
    unhurt(page)


def test_an_address_that_was_made_up_says_nothing_but_what_it_is(page_at: Open, troubles: list[str]) -> None:
    page = page_at("sessions/%E2%80%AE%3Cimg%20src=x%20onerror=alert(1)%3E")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    unhurt(page)
    assert [trouble for trouble in troubles if "404" not in trouble] == []
    troubles.clear()


def test_what_is_asked_about_is_shown_as_text_too(page_at: Open) -> None:
    page = page_at("explain")
    for text in ZOO[:3]:
        page.get_by_role("textbox", name="Command").fill(f"curl '{text}' https://example.com")
        page.get_by_role("button", name="Explain").click()
        expect(page.get_by_role("region", name="the call's command")).to_contain_text(text)
        unhurt(page)


def test_a_search_that_is_markup_is_a_search(page_at: Open) -> None:
    page = page_at(f"decisions?text={'%3Cimg%20src%3Dx%20onerror'}")
    expect(page.get_by_role("searchbox", name="Words")).to_have_value("<img src=x onerror")
    page.locator(".decision-item").first.wait_for()
    unhurt(page)


def test_scripts_of_others_would_not_run(page_at: Open, troubles: list[str]) -> None:
    page = page_at("sessions")
    tried = page.evaluate("""() => {
        const tried = [];
        for (const sink of [
            () => { document.body.innerHTML = "<b>x</b>"; },
            () => { document.write("x"); },
            () => { setTimeout("1", 0); },
        ]) {
            try { sink(); tried.push("ran"); } catch (error) { tried.push(error.name); }
        }
        const script = document.createElement("script");
        script.append("window.ran = true");
        document.head.append(script);
        tried.push(window.ran === true ? "ran" : "blocked");
        return tried;
    }""")
    assert "ran" not in tried
    page.wait_for_timeout(300)
    assert any("policy violation" in trouble for trouble in troubles)  # they are noticed: these tests can fail
    troubles.clear()


def test_the_page_escapes_what_a_terminal_would(page_at: Open) -> None:
    page = page_at()
    told = page.evaluate("""async () => {
        const { pieces } = await import("/js/visible.js");
        const found = {};
        for (let code = 0; code <= 0x10ffff; code += 1) {
            const [piece] = pieces(String.fromCodePoint(code));
            if (piece.escape) found[code] = piece.text;
        }
        return found;
    }""")
    wanted = {str(code): text for code in range(0x110000) if (text := visible(chr(code))) != chr(code)}
    assert told == wanted
