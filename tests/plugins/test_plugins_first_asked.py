"""Several threads that ask first: there is one of each plugin, and it is loaded once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lockgate.configuration.plugins import asking
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.core.questions import PluginEntry, RuleSets, RulesQuestion
from lockgate.gate import objections as consulting
from lockgate.gate.host.assembly import consultants_of
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.folders import Folders

_THREADS = 8
_COUNTS = """
with open(__file__ + ".loaded", "a") as file:
    file.write("once ")

def before_tool_use(tool_name):
    return None
"""


def test_threads_that_ask_first_load_a_plugin_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((asking, "Plugins"), (consulting, "Objectors")):
        made = getattr(module, name)

        def slowly(*given: Any, made: Any = made) -> Any:
            time.sleep(0.05)  # the others ask meanwhile
            return made(*given)

        monkeypatch.setattr(module, name, slowly)
    plugin = tmp_path / "policy.py"
    plugin.write_text(_COUNTS)
    plugin.chmod(0o600)
    store = SqliteStore.open(str(tmp_path / "state"))
    where = Folders(str(tmp_path), str(tmp_path / "state"), str(tmp_path / "config"))
    consultants = consultants_of(where, store, float)
    sets = RuleSets(plugins=(PluginEntry(str(plugin)),))
    question = RulesQuestion(Context("python", Subject("s")), ToolCall("Bash", {}), sets=sets)
    ready = threading.Barrier(_THREADS)

    def ask(_: int) -> Any:
        ready.wait()
        return consultants.rules(question)

    with ThreadPoolExecutor(_THREADS) as threads:
        assert list(threads.map(ask, range(_THREADS))) == [[]] * _THREADS
    store.close()
    assert Path(f"{plugin}.loaded").read_text() == "once "
