"""A gate of its own that waits for a person, as a process: killed and started again by ``test_approvals_stress.py``.

    python approval_waiter.py STATE LOG FIRST LAST

It puts the calls FIRST to LAST to a real monitor on the store, all at once in one event loop, and waits for each. One
that may run is run: its id is appended to LOG. It can be ended at any moment; started again with the same arguments it
goes on. Only what a real executor would know is known here: which calls it has run.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from lockgate.configuration import load as configuration
from lockgate.core.errors import StoreError
from lockgate.core.events import Answer, Context, ToolRequested
from lockgate.core.model import Subject, ToolCall, Verdict
from lockgate.core.questions import PersonQuestion
from lockgate.gate import Monitor, Parts
from lockgate.gate.approvals import waiting
from lockgate.resources.host_view import AnalysisRules, HostView
from lockgate.store.sqlite.store import SqliteStore

BUSY = 60.0


def ran(log: Path) -> list[str]:
    """The ids of the calls that were run."""
    return log.read_text().split() if log.exists() else []


def call_of(number: int) -> ToolCall:
    return ToolCall("Bash", {"command": f"git push origin branch-{number}"}, "/work", f"call-{number}")


class Waiter:
    """Some calls of one agent, each waiting for a person."""

    def __init__(self, state: str, log: Path, done: set[str]) -> None:
        import time

        self.state = state
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.done = done
        self.store = SqliteStore.open(state, busy_seconds=BUSY)
        self.monitor = Monitor(Parts(self.store, self._configured, self._around, time.time))

    def _configured(self, context: Context) -> configuration.Configuration:
        folder = os.path.dirname(self.state)
        return configuration.load(
            self.store, home=folder, config_dir=f"{folder}/config", workspace="", state=self.state
        )

    def _around(self, context: Context, rules: AnalysisRules) -> HostView:
        return HostView(home="/home/u", workspace="/work", rules=rules)

    async def put(self, number: int) -> None:
        """Put one call until something is decided about it, and run it if it may."""
        call = call_of(number)
        while call.call_id not in self.done:
            answer = await self._answer(call)
            if answer is None:
                continue
            self.done.add(call.call_id)
            if answer.verdict is Verdict.ALLOW:
                os.write(self.log, f"{call.call_id}\n".encode())

    async def _answer(self, call: ToolCall) -> Answer | None:
        context = Context("stress", Subject(f"s{int(call.call_id[5:]) % 7}"), "/work")
        going = self.monitor.deliberate(ToolRequested(context, call, askable=False, waits=True))
        said: Any = None
        try:
            while True:
                question = going.send(said)
                assert isinstance(question, PersonQuestion)
                await waiting.wait_in_loop(
                    self.state, question, lambda: SqliteStore.open_existing(self.state, busy_seconds=BUSY)
                )
        except StopIteration as end:
            found: Answer = end.value
            return found
        except StoreError:
            return None


async def _main(state: str, log: str, first: int, last: int) -> None:
    waiter = Waiter(state, Path(log), set(ran(Path(log))))
    await asyncio.gather(*(waiter.put(number) for number in range(first, last)))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
