"""The pattern library in the hook's process: loaded from its cache, asked, and what happens where it cannot be."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import shell_result, tool
from hook.process import Told, hook
from lockgate.configuration.pattern_library.cache import FOLDER
from lockgate.configuration.pattern_library.compiled import load
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.folders import Folders
from support.acme import KEY
from support.acme import PATTERNS as INPUT
from support.prepared import give_state

pytestmark = pytest.mark.slow

DAMAGED = "the index of known secrets is damaged, or not this installation's: it was made anew"
PATTERNS = (
    INPUT
    + """\
  output:
    acme_out:
      name: Keys of Acme in results
      description: What the agent need not read.
      mode: block
      kind: secret
      timeout_ms: 1000
      action: redact
      include: [acme_secrets]
"""
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose patterns are compiled."""
    home = tmp_path_factory.mktemp("prepared")
    (home / "config").mkdir()
    (home / "config" / "patterns.yaml").write_text(PATTERNS)
    give_state(home / "state")
    where = Folders(str(home), str(home / "state"), str(home / "config"))
    store = SqliteStore.open(where.state)
    load(store, where, "")
    store.close()
    return home


@pytest.fixture
def home(prepared: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    made = tmp_path / "home"
    shutil.copytree(prepared, made)
    return made


def ask(home: Path, name: str, given: dict[str, Any], **more: Any) -> Told:
    return hook(home, tool("PreToolUse", name, given, cwd=str(home), **more))


def test_a_key_is_refused_with_its_rule_and_place(home: Path) -> None:
    told = ask(home, "Write", {"file_path": f"{home}/a.py", "content": f"k = '{KEY}'"})
    assert told.refuses
    assert "acme_secrets/acme_key" in told.stdout
    assert "content" in told.stdout
    assert KEY not in told.stdout
    assert ask(home, "Write", {"file_path": f"{home}/a.py", "content": "k = 1"}).stdout == ""


def test_a_result_is_rewritten_in_its_own_shape(home: Path) -> None:
    before = {**shell_result(f"a {KEY} b \x1b[0m \ufffd \U0001f600", "err"), "more": {"n": [1, None, KEY]}}
    told = hook(home, tool("PostToolUse", tool_response=before))
    specific = told.answer["hookSpecificOutput"]
    after = specific["updatedToolOutput"]
    assert KEY not in told.stdout
    mark = after["more"]["n"][2]
    assert mark.startswith("[REDACTED:acme_key:")
    assert json.dumps(after) == json.dumps(before).replace(KEY, mark)
    assert "1 value (acme_key)" in specific["additionalContext"]


def test_a_lone_surrogate_does_no_harm(home: Path) -> None:
    given = tool("PostToolUse", tool_response=shell_result(f"\ud83d {KEY} \udc00"))
    after = hook(home, given).answer["hookSpecificOutput"]["updatedToolOutput"]["stdout"]
    assert after.startswith("\ufffd [REDACTED:acme_key:")
    assert after.endswith("] \ufffd")


def test_the_file_of_a_long_result_is_rewritten(home: Path) -> None:
    results = home / ".claude" / "projects" / "p" / "s1" / "tool-results"
    results.mkdir(parents=True)
    kept = results / "b1.txt"
    kept.write_text("x " * 50 + KEY)
    record = {**shell_result("x " * 50), "persistedOutputPath": str(kept), "persistedOutputSize": 150}
    given = tool("PostToolUse", tool_response=record, transcript_path=str(results.parent) + ".jsonl")
    told = hook(home, given)
    assert KEY not in kept.read_text()
    assert "1 value (acme_key)" in told.stdout
    victim = home / "victim"
    victim.write_text(KEY)
    told = hook(home, {**given, "tool_response": {**record, "persistedOutputPath": str(victim)}, "tool_use_id": "t2"})
    assert victim.read_text() == KEY
    assert "do not read that file" in told.answer["hookSpecificOutput"]["additionalContext"]
    assert "do not read that file" in told.answer["systemMessage"]


def test_the_error_of_a_failed_call_is_announced(home: Path) -> None:
    told = hook(home, tool("PostToolUseFailure", error=f"Exit code 3\n{KEY}", is_interrupt=False))
    assert "acme_secrets/acme_key" in told.answer["systemMessage"]
    assert "Do not repeat it" in told.answer["hookSpecificOutput"]["additionalContext"]
    assert KEY not in told.stdout


def test_labels_and_records_outlast_the_process(home: Path) -> None:
    hook(home, tool("PostToolUse", tool_response=shell_result(KEY)))
    hook(home, tool("PreToolUse", "mcp__tracker__get_issue", {"number": 7}, tool_use_id="t2"))
    hook(home, tool("PostToolUse", "mcp__tracker__get_issue", {"number": 7}, tool_use_id="t2", tool_response="push"))
    told = ask(home, "Bash", {"command": "git push origin main"}, tool_use_id="t3")
    assert told.refuses
    assert "acme_secrets/acme_key in the result of Bash" in told.stdout
    for file in (home / "state").rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


# ---------------------------------------------------------------- a library that cannot be loaded
def test_without_its_library_it_blocks_and_withholds(home: Path) -> None:
    shutil.rmtree(home / "state" / FOLDER)
    (home / "state" / FOLDER).write_text("in the way of what is compiled")
    told = ask(home, "Bash", {"command": "ls"})
    assert told.refuses
    assert "blocks to be safe" in told.stdout
    told = hook(home, tool("PostToolUse", tool_response=shell_result("out", KEY)))
    assert told.code == 0
    specific = told.answer["hookSpecificOutput"]
    assert "Lockgate withheld this output" in specific["updatedToolOutput"]["stdout"]
    assert specific["updatedToolOutput"]["stderr"] == ""
    assert "Lockgate withheld the output of Bash" in told.answer["systemMessage"]
    told = hook(home, tool("PostToolUse", tool_response=shell_result()))
    assert told.stdout == "", "there is nothing to look at"


# ---------------------------------------------------------------- what a person is told
def test_a_broken_file_of_patterns_is_told_when_a_session_starts(home: Path) -> None:
    (home / "config" / "patterns.yaml").write_text("patterns: [\n")
    told = hook(home, tool("SessionStart", source="startup", cwd=str(home)))
    assert "patterns.yaml" in told.answer["systemMessage"]
    assert "not valid" in told.answer["systemMessage"]


def test_a_damaged_index_of_known_secrets_is_recorded(home: Path) -> None:
    ask(home, "Write", {"file_path": f"{home}/a.py", "content": "k = 1"})
    (index,) = (home / "state" / "known").glob("*.index")
    index.write_bytes(index.read_bytes()[:-1])
    assert ask(home, "Write", {"file_path": f"{home}/a.py", "content": "k = 2"}).stdout == ""
    store = SqliteStore.open(str(home / "state"))
    with store.reading() as tx:
        bodies = [json.loads(row.body) for row in tx.audit()]
    store.close()
    assert [body["notes"] for body in bodies if body.get("event") == "patterns"] == [[DAMAGED]]
