"""How a host hears of requests, where a folder goes away or the system tells of no changes."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from containers.boxes import Boxes, Host
from lockgate.service.containers import mailbox_server as post
from lockgate.service.containers.groups import Groups

GONE = FileNotFoundError(errno.ENOENT, "No such file or directory")
TOO_MANY = OSError(errno.ENOSPC, "OS file watch limit reached")


def watched(host: Host, monkeypatch: pytest.MonkeyPatch, *fails: OSError) -> list[tuple[set[str], bool]]:
    """Which folders are watched, and whether by looking for changes, where the first tries fail."""
    tries: list[tuple[set[str], bool]] = []

    async def watch(*folders: str, force_polling: bool, **_: Any) -> AsyncIterator[set[Any]]:
        tries.append(({Path(folder).parent.name for folder in folders}, force_polling))
        if len(tries) <= len(fails):
            raise fails[len(tries) - 1]
        yield set()
        await asyncio.Event().wait()

    async def run() -> None:
        office = post.MailboxServer(str(host.ipc), Groups(host.where.state), None)  # type: ignore[arg-type]
        listening = asyncio.create_task(office._listen())
        for _ in range(1000):
            if len(tries) > len(fails) or listening.done():
                break
            await asyncio.sleep(0.01)
        if listening.done():
            listening.result()
        listening.cancel()
        office.close()

    monkeypatch.setattr(post, "awatch", watch)
    monkeypatch.setattr(post, "_LOOK_SECONDS", 0.01)
    asyncio.run(run())
    return tries


def test_the_control(host: Host, box: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    box("one"), box("two")
    assert watched(host, monkeypatch) == [({"one", "two"}, False)]


def test_a_folder_that_goes_away_ends_nothing(host: Host, box: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    box("one"), box("two")
    assert watched(host, monkeypatch, GONE, GONE) == [({"one", "two"}, False)] * 3


def test_a_folder_that_is_not_there_is_not_watched(host: Host, box: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    one = box("one").group
    box("two")
    exists = post.os.path.isdir
    monkeypatch.setattr(post.os.path, "isdir", lambda path: path != one.requests and exists(path))
    assert watched(host, monkeypatch) == [({"two"}, False)]


def test_where_no_more_can_be_watched_changes_are_looked_for(
    host: Host, box: Boxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    box("one")
    assert watched(host, monkeypatch, TOO_MANY) == [({"one"}, False), ({"one"}, True)]


def test_what_fails_then_too_ends_it(host: Host, box: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    box("one")
    with pytest.raises(OSError, match="limit"):
        watched(host, monkeypatch, TOO_MANY, TOO_MANY)
