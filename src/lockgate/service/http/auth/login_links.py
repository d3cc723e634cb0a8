"""Opens a one-time link in a browser without showing it to other users of the machine.

Every user of a machine can read the words that a program is started with (``ps``). So the browser is started with the
path of a file that only this user can read. It leads on to the link. It is gone once the link was used, or is too old.
A browser that may not read the state folder (some are packed so) shows nothing: the link is printed too.
"""

from __future__ import annotations

import html
import os
import secrets
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from lockgate.store.files import own_folder

FOLDER = "dashboard"
"""The folder below the state folder."""
_NAME = "open-"
_PAGE = """<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'"><title>Lockgate</title>
<meta http-equiv="refresh" content="0; url={url}">
"""


class LoginLinkFile:
    """The file that leads a browser to the current link."""

    def __init__(self, state: str) -> None:
        """Use a state folder. Files of processes that were killed are removed."""
        self._folder = os.path.join(state, FOLDER)
        self._path = ""
        own_folder(self._folder, create=True)
        for name in os.listdir(self._folder):
            if name.startswith(_NAME):
                with suppress(OSError):
                    os.unlink(os.path.join(self._folder, name))

    def write(self, url: str) -> str:
        """Write the file for a link, and give its path."""
        self.remove()
        path = os.path.join(self._folder, f"{_NAME}{secrets.token_hex(16)}.html")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(_PAGE.format(url=html.escape(url, quote=True)))
        self._path = path
        return path

    def open(self, url: str, unopened: Callable[[], object]) -> None:
        """Open a link in the person's browser, and do not wait for that.

        Args:
            url: The link.
            unopened: Called in another thread where there seems to be no browser.
        """
        place = Path(self.write(url)).as_uri()

        def run() -> None:
            with suppress(OSError, webbrowser.Error):
                found = find_browser()
                if found is not None and found.open(place):
                    return
            unopened()

        # Some are waited for until they end; nobody waits for this thread when the dashboard ends.
        threading.Thread(target=run, name="lockgate-browser", daemon=True).start()

    def remove(self) -> None:
        """Remove the file."""
        if self._path:
            with suppress(OSError):
                os.unlink(self._path)
            self._path = ""


def find_browser() -> webbrowser.BaseBrowser | None:
    """The person's browser; ``None`` where there is only one for the terminal, which that would occupy."""
    found = webbrowser.get()
    # This very class runs a program in the foreground: lynx and its kind, or whatever BROWSER names.
    if type(found) is webbrowser.GenericBrowser and not os.environ.get("BROWSER"):
        return None
    return found
