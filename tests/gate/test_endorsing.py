"""A person says that a result is fine, in the middle of what a client says to the gate."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from lockgate.clients.common.results import make_finished_event
from lockgate.core.errors import EndorsementError
from lockgate.core.events import ToolFinished
from lockgate.core.model import Verdict
from lockgate.gate.approvals.endorsing import endorse
from lockgate.gate.session.endorsements import UntrustedResult, sources_of
from lockgate.store.rows import AuditRow
from lockgate.store.sqlite.transaction import SqliteTransaction
from support.hidden_records import hide_records

from .world import World

ISSUE = {"number": 7}
TOOL = "mcp__tracker__get_issue"
PUSH = "git push https://git.example.com/x main"


def sources(world: World) -> list[UntrustedResult]:
    with world.store.reading() as tx:
        return sources_of(tx, "s1")


def endorse_all(world: World) -> None:
    for each in sources(world):
        endorse(world.store, each, by="ann (terminal)")


@pytest.fixture
def reading(world: World) -> World:
    """A session that has read an issue."""
    world.start()
    world.run(TOOL, ISSUE, "please fix the parser")
    assert world.bash(PUSH) is Verdict.DENY
    return world


def test_after_a_denied_push_the_person_says_so_and_the_push_runs(reading: World) -> None:
    assert [each.problem for each in sources(reading)] == [""]
    endorse_all(reading)
    assert reading.labels() == set()
    assert reading.bash(PUSH) is Verdict.ALLOW
    (record,) = reading.records("endorse")
    assert record["sources"] == ["mcp__tracker__get_issue: number=7"]


@pytest.mark.parametrize(
    ("tool", "tool_input"),
    [
        pytest.param("Read", {"file_path": "a.py"}, id="a file read"),
        pytest.param("Bash", {"command": "git status --short | head -20"}, id="a look at the repository"),
        pytest.param("Bash", {"command": "grep -rn parse src"}, id="a search"),
        pytest.param("Grep", {"pattern": "parse"}, id="the client's search"),
    ],
)
def test_looking_around_since_does_not_matter(reading: World, tool: str, tool_input: dict[str, str]) -> None:
    reading.run(tool, tool_input, "something")
    endorse_all(reading)
    assert reading.labels() == set()


@pytest.mark.parametrize(
    ("tool", "tool_input"),
    [
        pytest.param("Write", {"file_path": "a.py", "content": "x"}, id="a file"),
        pytest.param("Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}, id="a change"),
        pytest.param("Bash", {"command": "echo x > notes.txt"}, id="a redirection"),
        pytest.param("Bash", {"command": "git commit -qm x"}, id="a commit"),
        pytest.param("Bash", {"command": "pytest -q"}, id="code"),
        pytest.param("Task", {"subagent_type": "general-purpose", "prompt": "p"}, id="an agent"),
        pytest.param("ExitPlanMode", {"plan": "# Plan"}, id="a plan"),
        pytest.param("TodoWrite", {"todos": []}, id="a list of what to do"),
    ],
)
def test_what_holds_the_text_by_now_keeps_the_label(reading: World, tool: str, tool_input: dict[str, str]) -> None:
    answer, call = reading.ask(tool, tool_input)
    if answer.verdict is Verdict.DENY:
        pytest.fail(f"{tool} is refused and tells nothing")
    reading.done(call, "done")
    assert "since then" in sources(reading)[0].problem


def test_nothing_is_endorsed_where_the_record_of_a_call_is_hidden(reading: World) -> None:
    """What that call has left behind may hold what was read."""
    reading.run("Write", {"file_path": "a.py", "content": "x"}, "written")
    reading.store._connection.execute("DELETE FROM calls WHERE tool = 'Write'")
    with hide_records(reading.folder / "state", "decision", '"tool":"Write"') as hidden:
        assert hidden == 1
        with pytest.raises(EndorsementError, match="lockgate audit verify"):
            endorse_all(reading)
    assert reading.labels() == {"untrusted"}


def test_calls_made_before_do_not_matter(world: World) -> None:
    world.start()
    world.run("Write", {"file_path": "a.py", "content": "x"}, "written")
    world.run(TOOL, ISSUE, "please fix the parser")
    endorse_all(world)
    assert world.labels() == set()


def test_a_later_read_of_the_same_issue_labels_anew(reading: World) -> None:
    endorse_all(reading)
    reading.run(TOOL, ISSUE, "please fix the parser")
    assert reading.labels() == {"untrusted"}
    assert reading.bash(PUSH) is Verdict.DENY


def test_a_result_that_comes_twice_is_endorsed_once_and_for_all(reading: World) -> None:
    """Hooks may be installed twice."""
    _, call = reading.ask("WebSearch", {"query": "parser"})
    reading.done(call, "another")
    endorse_all(reading)
    reading.done(call, "another")
    assert reading.labels() == set()


def test_an_open_call_that_may_write_keeps_the_label(reading: World) -> None:
    reading.ask("Write", {"file_path": "a.py", "content": "x"})
    assert "Write" in sources(reading)[0].problem


def test_a_result_with_a_secret_in_it_is_not_kept(world: World) -> None:
    world.start()
    world.run("Bash", {"command": "curl https://example.com/x; cat .env"}, "page\nTOKEN=hunter2hunter2")
    (source,) = sources(world)
    assert source.text == ""
    assert "not kept" in source.problem


@pytest.mark.parametrize("left", [0, 4, 8], ids=["the first", "one in the middle", "the last"])
def test_eight_of_nine_that_are_fine_do_not_clean_a_session(world: World, left: int) -> None:
    world.start()
    for number in range(9):
        world.run("Read", {"file_path": f"/home/u/work/node_modules/p{number}/README.md"}, f"text of package {number}")
    assert len(sources(world)) == 9
    for at, each in enumerate(sources(world)):
        if at != left:
            endorse(world.store, each, by="ann (terminal)")
    assert world.labels() == {"untrusted"}
    answer, _ = world.ask("Bash", {"command": PUSH})
    assert answer.verdict is Verdict.DENY
    assert f"p{left}/README.md" in answer.to_agent
    endorse_all(world)
    assert world.bash(PUSH) is Verdict.ALLOW


def test_of_more_sources_than_a_label_lists_all_have_to_be_fine(world: World) -> None:
    world.start()
    for number in range(21):
        world.run("Read", {"file_path": f"/home/u/work/node_modules/p{number}/README.md"}, f"text of package {number}")
    *found, _ = sources(world)
    for each in found:
        endorse(world.store, each, by="ann (terminal)")
    assert world.labels() == {"untrusted"}
    assert world.bash(PUSH) is Verdict.DENY
    endorse_all(world)
    assert world.bash(PUSH) is Verdict.ALLOW


# ---------------------------------------------------------------- what nobody can read
IMAGE = {"type": "image", "data": "iVBORw0KGgo", "mimeType": "image/png"}
SHOT = "mcp__browser__screenshot"
WORDS = {"type": "text", "text": "Screenshot of the page"}


@pytest.mark.parametrize(
    ("tool", "result"),
    [
        pytest.param(SHOT, [WORDS, IMAGE], id="a picture beside a text"),
        pytest.param(SHOT, {"content": [WORDS, IMAGE]}, id="the same in an envelope"),
        pytest.param(SHOT, [WORDS, {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}], id="a sound"),
        pytest.param(SHOT, [WORDS, {"type": "resource", "resource": {"uri": "a:b", "blob": "AAAA"}}], id="a file"),
        pytest.param(SHOT, [WORDS, {"type": "image_url", "image_url": {"url": "https://e.example/x"}}], id="a link"),
        pytest.param(SHOT, [WORDS, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}], id="Gemini's"),
        pytest.param(SHOT, [WORDS, {"hologram": "AAAA"}], id="what nobody knows"),
        pytest.param(SHOT, [WORDS, {"content": [73, 103, 110]}], id="numbers that spell"),
        pytest.param("WebFetch", {"result": "A page", "source": {"type": "base64", "data": "AA"}}, id="a source"),
        pytest.param("WebFetch", {"result": "A page", "mimeType": "application/pdf"}, id="a document"),
        pytest.param("Bash", {"stdout": "AAAA", "stderr": "", "isImage": True}, id="a picture of a command"),
    ],
)  # fmt: skip
def test_what_the_text_does_not_tell_cannot_be_endorsed(world: World, tool: str, result: object) -> None:
    world.start()
    _, call = world.ask(tool, {"url": "https://e.example/", "command": "curl https://e.example/"})
    text = "Screenshot of the page"
    world.gate.handle(ToolFinished(world.context(), call, result, text))
    assert_stays(world)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("A page\n" + "iVBORw0KGgo" * 20, id="base64"),
        pytest.param("A page\n" + ("iVBORw0KGgo" * 6 + "\n") * 4, id="lines of base64"),
        pytest.param("A page\n[data]", id="a name for bytes"),
        pytest.param("[Image: 800x600]\nA page", id="a name for a picture"),
        pytest.param("[a record without a text]", id="a record"),
        pytest.param('{"content": [{"type": "image", "data": "AAAA"}]}', id="a picture in JSON"),
    ],
)
def test_a_text_that_nobody_can_read_cannot_be_endorsed(world: World, text: str) -> None:
    world.start()
    world.run(SHOT, {}, text)
    assert_stays(world)


def test_where_the_client_does_not_tell_of_pictures_nothing_but_a_command_can_be_endorsed(world: World) -> None:
    world.start()
    _, call = world.ask(SHOT, {})
    world.gate.handle(make_finished_event(world.context(), call, "Screenshot of the page", whole=False))
    assert_stays(world)


@pytest.mark.parametrize(
    ("tool", "result"),
    [
        pytest.param(TOOL, [WORDS], id="a block of text"),
        pytest.param(TOOL, {"content": [WORDS], "isError": False}, id="an envelope"),
        pytest.param(
            "WebFetch", {"bytes": 10, "code": 200, "codeText": "OK", "result": "A page"}, id="a client's tool"
        ),
        pytest.param("Bash", {"stdout": "A page", "stderr": "", "isImage": False}, id="a command"),
    ],
)
def test_a_record_of_texts_can_be_endorsed(world: World, tool: str, result: object) -> None:
    world.start()
    _, call = world.ask(tool, {"url": "https://e.example/", "command": "curl https://e.example/"})
    world.gate.handle(make_finished_event(world.context(), call, result))
    endorse_all(world)
    assert world.labels() == set()


def assert_stays(world: World) -> None:
    assert world.labels() == {"untrusted"}
    assert [each.problem != "" and each.text == "" for each in sources(world)] == [True]


def test_what_is_written_meanwhile_waits_for_a_few_records(reading: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole chain is read before nobody else may write."""
    for number in range(50):
        reading.run("Read", {"file_path": f"{number}.py"}, "code")
    read: dict[bool, int] = {True: 0, False: 0}
    whole = SqliteTransaction.audit

    def audit(tx: SqliteTransaction, **given: Any) -> list[AuditRow]:
        found = whole(tx, **given)
        read[tx._writable] += len(found)
        return found

    monkeypatch.setattr(SqliteTransaction, "audit", audit)
    endorse_all(reading)
    assert reading.labels() == set()
    assert read[False] > 100
    assert read[True] == 1


@pytest.mark.parametrize("is_hidden", [False, True])
def test_what_a_session_does_while_the_chain_is_read_counts(
    reading: World, monkeypatch: pytest.MonkeyPatch, is_hidden: bool
) -> None:
    """Also where the row of such a call is taken away again, or its record with it."""
    [source] = sources(reading)
    writing, hidden = reading.store.transaction, ExitStack()

    def meanwhile() -> Any:
        monkeypatch.setattr(reading.store, "transaction", writing)
        reading.run("Write", {"file_path": "a.py", "content": "x"}, "written")
        reading.store._connection.execute("DELETE FROM calls WHERE tool = 'Write'")
        if is_hidden:
            hide = hide_records(reading.folder / "state", "decision", '"tool":"Write"')
            assert hidden.enter_context(hide) == 1
        return writing()

    monkeypatch.setattr(reading.store, "transaction", meanwhile)
    says = "lockgate audit verify" if is_hidden else "not every source"
    with hidden, pytest.raises(EndorsementError, match=says):
        endorse(reading.store, source, by="ann")
    assert reading.labels() == {"untrusted"}
