"""A real `lockgate dashboard`, in a terminal of its own, as a person starts it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import TracebackType

from playwright.sync_api import Page

from e2e.harness.terminal import Terminal
from support import steady

_LINK = re.compile(r"http://127\.0\.0\.1:\d+/#login=[\w-]{43}")


class Served:
    """The server's process, and the links that it prints."""

    def __init__(self, home: Path, state: Path) -> None:
        """Start it on a state."""
        environment = {
            "HOME": str(home),
            "XDG_STATE_HOME": str(state),
            "PATH": os.environ["PATH"],
            "TERM": "xterm",
            "LANG": "C.UTF-8",
            "USER": "ann",
            "LOGNAME": "ann",
            "LOCKGATE_RESIDENT": "off",
            "PYTHONPATH": steady.path(),
        }
        self._terminal = Terminal([sys.executable, "-m", "lockgate", "dashboard", "--no-open"], environment, home)
        self._terminal.__enter__()
        self._used: set[str] = set()
        try:
            self._terminal.wait_until(lambda: bool(_LINK.search(self._terminal.text)), "a link")
        except BaseException:
            self.close()
            raise
        self.url = _LINK.findall(self._terminal.text)[0].partition("#")[0]

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._terminal.__exit__(None, None, None)

    def link(self) -> str:
        """A link that nobody has used: the first, else another one, for which Enter is pressed."""

        def fresh() -> list[str]:
            return [link for link in _LINK.findall(self._terminal.text) if link not in self._used]

        if not fresh():
            self._terminal.press("\r")
            self._terminal.wait_until(lambda: bool(fresh()), "another link")
        link = fresh()[-1]
        self._used.update(_LINK.findall(self._terminal.text))
        return link

    def login(self, page: Page) -> None:
        """Log a page in."""
        page.goto(self.link())
        page.locator("h1").wait_for()
