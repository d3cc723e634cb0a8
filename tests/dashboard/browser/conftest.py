"""A real dashboard on a store that real events have filled, looked at with a real browser.

Everything is of the package: where Playwright runs, its thread has an event loop, and other tests could start none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.places import Open
from support import chromium
from support.dashboard_served import Served
from support.dashboard_story import Story

PATIENCE = 20_000
"""Milliseconds to wait for something to appear. Only a failing test waits this long."""
_VIOLATIONS = """addEventListener("securitypolicyviolation", (event) =>
    console.error("policy violation", event.violatedDirective, event.blockedURI, event.sample));"""


@pytest.fixture(scope="package")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """A machine on which nothing has happened yet."""
    return Story(tmp_path_factory.mktemp("story").resolve())


@pytest.fixture(scope="package")
def served(story: Story) -> Iterator[Served]:
    """The dashboard's process, and all that happens. It comes first: it would not start below an agent's process."""
    with Served(story.home, story.state) as server, pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(story.home))
        story.fill()
        story.zoo()
        patched.undo()
        yield server


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The browser's process."""
    expect.set_options(timeout=PATIENCE)
    with chromium.opened() as found:
        yield found


@pytest.fixture(scope="package")
def login(served: Served, browser: Browser) -> dict[str, Any]:
    """One login, which all pages share that do not test logging in."""
    context = browser.new_context()
    page = context.new_page()
    served.login(page)
    csrf = page.evaluate("sessionStorage.getItem('lockgate-csrf')")
    state = {"cookies": context.cookies(), "csrf": csrf}
    context.close()
    return state


@pytest.fixture
def troubles() -> list[str]:
    """What went wrong in a page: errors, dialogs, violations of its policy. Empty at the end of a test."""
    return []


@pytest.fixture
def open_page(served: Served, browser: Browser, troubles: list[str]) -> Iterator[Open]:
    """Open pages that nobody is logged in to; what goes wrong in them is noticed."""
    contexts = []

    def opened(**options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        context.add_init_script(_VIOLATIONS)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda said: troubles.append(said.text) if said.type in ("error", "warning") else None)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture
def page_at(served: Served, login: dict[str, Any], open_page: Open) -> Open:
    """Open a page of the dashboard, logged in, and wait until it is there."""

    def opened(place: str = "", scripts: Sequence[Path] = (), **options: Any) -> Page:
        page = open_page(**options)
        for script in scripts:
            page.add_init_script(path=script)
        page.context.add_cookies(login["cookies"])
        page.add_init_script(f"sessionStorage.setItem('lockgate-csrf', {json.dumps(login['csrf'])})")
        page.goto(f"{served.url}#/{place}")
        page.locator("main h1").wait_for()
        return page

    return opened
