"""Agents that work while things break: each event goes to a real hook process, each answer is judged."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from book import Book, judged
from world import Host

from lockgate.cli.bench.run import stories
from lockgate.cli.bench.run.stories import BenchRequest
from lockgate.clients.wire import resident as wire

_TRIES = 40
_PAUSE = 0.25
_READS = "mcp__tracker__get_issue"
"""The tool of the story that brings what a stranger wrote."""


def payload_of(question: BenchRequest) -> dict[str, Any]:
    """What the client tells the hook."""
    head, _ = wire.sizes(question.data[: wire.HEADER])
    found: dict[str, Any] = json.loads(question.data[wire.HEADER + head :])
    return found


class Agents:
    """Some of them, each in one session after another until they are to end."""

    def __init__(self, hosts: Sequence[Host], book: Book, mark: str, number: int) -> None:
        """Begin nothing yet.

        Args:
            hosts: The hosts that they are on, one at random for each event.
            book: Where answers are put down.
            mark: Begins the names of their sessions.
            number: How many.
        """
        self._client = hosts[0].client
        self._hooks = [host.hooks() for host in hosts]
        self._book = book
        self._over = threading.Event()
        self._failed: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, args=(f"{mark}{lane:02d}",)) for lane in range(number)]

    def __enter__(self) -> Agents:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self._failed:
            raise self._failed[0]

    def _run(self, lane: str) -> None:
        chance = random.Random(lane)
        try:
            for number in count():
                if self._over.is_set():
                    return
                self._session(f"{lane}n{number:05d}", chance)
        except BaseException as error:  # noqa: BLE001 - told by the thread that waits
            self._failed.append(error)

    def _session(self, name: str, chance: random.Random) -> None:
        asked = ""
        for question in stories.session(self._client, name):
            if self._over.is_set():
                return
            payload = payload_of(question)
            event, tool = payload["hook_event_name"], payload.get("tool_name")
            if event == "PreToolUse":
                asked = self._call(payload, question, chance)
                if not asked and tool == _READS:
                    return  # what follows is about a session that has read
                continue
            if "tool_use_id" in payload:
                if not asked:
                    continue  # it was not run, and has no result
                payload["tool_use_id"], asked = asked, ""
            self._answer(payload, question, chance)

    def _call(self, payload: dict[str, Any], question: BenchRequest, chance: random.Random) -> str:
        """Ask for a call; its id where it runs as it should. What must run for the story to go on is tried again."""
        first = payload["tool_use_id"]
        for tried in self._tries(payload["tool_name"] == _READS):
            payload["tool_use_id"] = f"{first}t{tried}"
            found = self._answer(payload, question, chance)
            if found == "right":
                if payload["tool_name"] == _READS:
                    self._book.has_read(payload["session_id"])
                return str(payload["tool_use_id"])
        return ""

    def _tries(self, again: bool) -> Iterator[int]:
        for number in range(_TRIES if again else 1):
            if number:
                self._over.wait(_PAUSE)
            yield number

    def _answer(self, payload: dict[str, Any], question: BenchRequest, chance: random.Random) -> str:
        began = time.monotonic()
        code, stdout, stderr = chance.choice(self._hooks)(json.dumps(payload).encode())
        found = judged(code, stdout, question.verdicts)
        what = f"{payload} -> {code} {stdout[:300]!r} {stderr[:300]!r}, not {sorted(question.verdicts)}"
        self._book.answer(found, what, time.monotonic() - began)
        if payload["hook_event_name"] == "PreToolUse" and code == 0:
            self._book.was_answered(payload["tool_use_id"])
        return found
