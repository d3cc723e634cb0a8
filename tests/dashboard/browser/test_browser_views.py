"""Every view: accessible in light and dark, as wide as a phone, and with something to say where there is nothing."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from browser.places import AXE, PHONE, VIEWS, Open, show


def violations(page: Page, **options: Any) -> list[str]:
    """What axe objects to, in words."""
    asked = {"resultTypes": ["violations"], **options}
    found = page.evaluate("options => axe.run(document, options)", asked)["violations"]
    return [
        f"{each['id']}: {each['help']}: " + "; ".join(node["html"][:200] for node in each["nodes"][:3])
        for each in found
    ]


def test_every_view_is_accessible_in_light_and_dark(page_at: Open) -> None:
    assert AXE.exists(), "there is no axe-core: run scripts/install_axe.sh"
    page = page_at(scripts=[AXE], color_scheme="light")
    found = {}
    for view in VIEWS:
        show(page, view)
        expect(page.locator("h1")).to_have_count(1)
        found[view, "light"] = violations(page)
        page.emulate_media(color_scheme="dark")
        found[view, "dark"] = violations(page, runOnly=["color-contrast"])
        page.emulate_media(color_scheme="light")
    assert {where: problems for where, problems in found.items() if problems} == {}


def test_every_view_fits_a_phone(page_at: Open) -> None:
    page = page_at(scripts=[AXE], viewport=PHONE, has_touch=True)
    assert violations(page) == []  # with the menu that only a phone has
    wider = []
    for view in VIEWS:
        show(page, view)
        if page.evaluate("document.documentElement.scrollWidth") != PHONE["width"]:
            wider.append(view)
    assert wider == []


def test_a_phone_has_a_menu_of_places(page_at: Open) -> None:
    page = page_at("sessions", viewport=PHONE)
    menu = page.get_by_role("button", name="Menu")
    expect(page.get_by_role("link", name="Policy")).to_be_hidden()
    menu.click()
    expect(menu).to_have_attribute("aria-expanded", "true")
    page.get_by_role("link", name="Policy").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Policy")
    expect(page.get_by_role("link", name="Policy")).to_be_hidden()


def test_focus_goes_to_the_heading_of_a_new_page_and_stays_at_the_top_of_the_first(page_at: Open) -> None:
    page = page_at("sessions")
    assert page.evaluate("document.activeElement === document.body")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page.get_by_role("heading", name="Decisions")).to_be_focused()
    expect(page).to_have_title(re.compile(r"^\(\d+\) Decisions · Lockgate$"))  # questions wait
    expect(page.get_by_role("link", name="Decisions", exact=True)).to_have_attribute("aria-current", "page")


def test_keys_of_one_letter_can_be_turned_off(page_at: Open) -> None:
    page = page_at("sessions")
    page.keyboard.press("?")
    page.get_by_label("Keys of one letter").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.get_by_role("link", name="Policy").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Policy")


def test_the_colours_can_be_chosen_and_are_remembered(page_at: Open) -> None:
    page = page_at("sessions", color_scheme="light")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Colours: system").click()
    page.get_by_role("button", name="Colours: light").click()
    page.reload()
    expect(page.get_by_role("button", name="Colours: dark")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
