"""The browser that the dashboard is looked at with: the system's Chromium, which `scripts/setup_system.sh` installs."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright

_PROGRAMS = ("chromium", "google-chrome")
_APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


def program() -> str:
    """Where it is. Raises ``FileNotFoundError`` where there is none: a test without its browser fails."""
    found = [path for name in _PROGRAMS if (path := shutil.which(name))]
    found += [path for path in _APPLICATIONS if os.access(path, os.X_OK)]
    if not found:
        raise FileNotFoundError("there is no Chromium: run scripts/setup_system.sh")
    return found[0]


@contextlib.contextmanager
def opened() -> Iterator[Browser]:
    """The browser, without a window and without a way to the network beyond this machine."""
    # Chromium refuses its own sandbox to root, as whom containers of CI run.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    arguments += [
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--disable-component-update",
        "--no-first-run",
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=arguments)
        try:
            yield browser
        finally:
            browser.close()
