"""What spells a client's answer is loaded before a person is waited for: afterwards the files may be other ones."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from lockgate.clients.adapter import CLIENTS
from lockgate.clients.claude.events import ADAPTER

_SPELLS = """
import json, sys
from lockgate.clients.adapter import adapter
from lockgate.core.events import Answer
from lockgate.core.model import Verdict

client = adapter(sys.argv[1])
client.load_answers()
before = set(sys.modules)
client.encode(client.EVENTS[0], Answer(Verdict.DENY, to_agent="no", to_person="no"))
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@pytest.mark.parametrize("client", CLIENTS)
def test_an_answer_is_spelt_without_loading_anything_more(client: str) -> None:
    done = subprocess.run([sys.executable, "-I", "-c", _SPELLS, client], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_answers_that_are_not_there_are_told_before_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lockgate.clients.claude.answers", None)
    with pytest.raises(ModuleNotFoundError):
        ADAPTER.load_answers()
