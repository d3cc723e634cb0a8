"""A gate that ends in the middle of work, again and again: nothing that was answered is lost, nothing runs unjudged."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hook.process import Told
from lockgate.clients.wire.resident_files import run_folder
from lockgate.core.model import Label, Subject
from support.alongside import alongside
from support.stress import times

from .machine import Machine
from .stories import push_event, read_event

STORIES, AT_ONCE = times(12), 6


@pytest.mark.stress
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_under_load(machine: Machine, number: int) -> None:
    """Each session reads something untrusted, then pushes: every push must be refused."""
    killed = [0]

    def kill(over: threading.Event) -> None:
        chance = random.Random(7)
        while not over.is_set():
            Path(run_folder(machine.state), "started").unlink(missing_ok=True)  # else hooks wait before the next start
            for pid in machine.gates():
                os.kill(pid, number)
                killed[0] += 1
            time.sleep(chance.uniform(0.05, 0.4))

    def story(index: int) -> tuple[Told, Told, Told]:
        asked = machine.hook(read_event("PreToolUse", index))
        return asked, machine.hook(read_event("PostToolUse", index)), machine.hook(push_event(index))

    with alongside(kill), ThreadPoolExecutor(AT_ONCE) as crowd:
        told = list(crowd.map(story, range(STORIES)))
    assert killed[0] >= 3

    read = {index for index, (asked, _, _) in enumerate(told) if asked.code == 0 and not asked.refuses}
    assert read
    for index in read:
        # On a machine that is busy with other things a hook may run out of time; then it refuses.
        assert told[index][2].refuses, f"{index}: {told[index]}"
    with machine.store() as store, store.reading() as tx:
        tainted = {
            index
            for index in range(STORIES)
            if any(taint.label is Label.UNTRUSTED for taint in tx.taints(Subject(f"session-{index}")))
        }
    assert read <= tainted, "no label is lost"
    recorded = {body["call"]: body["verdict"] for body in machine.audit() if "verdict" in body}
    asked = {f"toolu_r{index:04d}" for index in read}
    pushed = {f"toolu_p{index:04d}" for index, (_, _, push) in enumerate(told) if push.code == 0}
    assert asked | pushed <= set(recorded), "every answer is in the audit"
    assert all(recorded[call] == "allow" for call in asked)
    assert machine.verified().ok
