"""A hook's deadline stands while somebody else is waited for, and never beyond what the client waits."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.payloads import WHOLE
from hook.process import faulty
from lockgate.clients.common.hook_command import CALL_TIMEOUT
from lockgate.clients.hook.deadline import MARGIN
from lockgate.clients.wire.resident import wait
from native.fake_gate import give_key, proof, read_request

pytestmark = pytest.mark.slow

WAITS = """
import time
lent = self.prolong({asked})
time.sleep({sleeps})
{then}
from lockgate.core.events import Answer
from lockgate.core.model import Verdict
return Answer(Verdict.DENY, to_agent=f"waited; lent {{lent:.0f}} s")
"""


OWN = "3"
"""The deadline without any waiting: long enough for a machine with much to do."""


def waiting(home: Path, asked: float, sleeps: float, then: str = "") -> str:
    told = faulty(home, WAITS.format(asked=asked, sleeps=sleeps, then=then), WHOLE["PreToolUse"], "--deadline", OWN)
    assert told.refuses
    return json.dumps(told.answer)


def test_a_wait_that_was_announced_is_not_held_against_the_process(tmp_path: Path) -> None:
    assert "waited; lent 9 s" in waiting(tmp_path, asked=9, sleeps=3.5)


def test_a_wait_that_takes_longer_than_announced_is_refused(tmp_path: Path) -> None:
    assert "took longer than 3.2 s" in waiting(tmp_path, asked=0.2, sleeps=30)


def test_a_configuration_read_after_the_wait_does_not_take_it_back(tmp_path: Path) -> None:
    assert "waited; lent 9 s" in waiting(tmp_path, 9, 3.5, "self.limit(1.0)")


def test_a_configuration_read_after_the_wait_still_ends_it(tmp_path: Path) -> None:
    then = "self.limit(0.1)\ntime.sleep(30)"
    assert "took longer than 0.7 s" in waiting(tmp_path, 0.6, 0.0, then)


def test_no_wait_is_longer_than_the_client_waits(tmp_path: Path) -> None:
    told = waiting(tmp_path, asked=1e6, sleeps=0.0)
    lent = int(told.partition("lent ")[2].partition(" s")[0])
    assert CALL_TIMEOUT - MARGIN - 10 < lent < CALL_TIMEOUT - MARGIN


def test_what_a_client_has_waited_for_a_gate_that_went_away_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOCKGATE_RESIDENT")
    give_key(tmp_path / "state")
    (tmp_path / "state" / "run").mkdir(mode=0o700)
    spent = 2.0
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "state" / "run" / "gate.sock"))
        listening.listen()
        listening.settimeout(20)

        def serve() -> None:
            asking, _ = listening.accept()
            with asking:
                said = wait(30.0) + proof(read_request(asking).spelt, wait(30.0))
                asking.sendall(said)
                time.sleep(spent)
                asking.sendall(said)  # somebody else is asked, and before they answer all is over

        with ThreadPoolExecutor(1) as gate:
            served = gate.submit(serve)
            told = waiting(tmp_path, asked=1e6, sleeps=0.0)
            served.result()
    lent = int(told.partition("lent ")[2].partition(" s")[0])
    assert lent <= CALL_TIMEOUT - MARGIN - spent - float(OWN)


def test_a_wait_in_c_is_ended_from_outside(tmp_path: Path) -> None:
    fault = """
import signal, time
self.prolong(0.2)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
time.sleep(600)
"""
    told = faulty(tmp_path, fault, WHOLE["PreToolUse"], "--deadline", OWN, grace=0.2)
    assert told.code == 1


def test_a_wait_takes_no_file_with_it(tmp_path: Path) -> None:
    fault = """
import os
def opened():
    return os.dup(1)  # the lowest number that is free
first = opened()
for _ in range(20):
    self.prolong(0.5)
from lockgate.core.events import Answer
from lockgate.core.model import Verdict
return Answer(Verdict.DENY, to_agent=f"files: {opened() - first}.")
"""
    told = faulty(tmp_path, fault, WHOLE["PreToolUse"], "--deadline", OWN)
    assert "files: 1." in json.dumps(told.answer)
