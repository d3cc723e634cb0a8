"""What a program sees of the gate: decisions, labels and results of its sessions."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import lockgate
from lockgate import Call, Decision, Gate, person, program, stranger
from lockgate.clients import sdk
from lockgate.clients.sdk.session import Session
from lockgate.core.errors import ConfigError, LockgateError
from lockgate.core.model import Label
from lockgate.store.files import PUT_BACK_SINCE
from lockgate.store.sqlite.store import SqliteStore

from .conftest import Open

pytestmark = pytest.mark.anyio

WEB = {"url": "https://news.example.com/", "prompt": "what is new"}
PUSH = {"command": "git push"}
KEY = "ghp_" + "3fJq8ZtKx0LwVb2NcYhR7sDmUaPe5G13Qo9k"


async def test_a_page_closes_the_way_out(opened: Open) -> None:
    session = opened().session()
    assert (await session.check("Bash", PUSH, call_id="1")).allowed
    await session.finished("Bash", PUSH, "Everything up-to-date", call_id="1")
    assert (await session.check("WebFetch", WEB, call_id="2")).verdict == "allow"
    result = await session.finished("WebFetch", WEB, "a page", call_id="2")
    assert (result.output, result.changed, session.labels()) == ("a page", False, {Label.UNTRUSTED})
    decision = await session.check("Bash", PUSH, call_id="3")
    assert (decision.verdict, decision.tier, decision.profile) == ("deny", "table", "quarantine")
    assert "git push" in decision.reason
    assert (await session.check("Bash", {"command": "ls"})).tier == "local"


def test_the_same_for_threads(opened: Open) -> None:
    session = opened().session()
    assert session.check_sync("WebFetch", WEB).allowed
    assert not session.finished_sync("WebFetch", WEB, "a page").changed
    assert session.check_sync("Bash", PUSH).verdict == "deny"
    assert not session.failed_sync("WebFetch", WEB, "404 not found").changed


async def test_the_gates_own_session(opened: Open) -> None:
    gate = opened()
    assert (await gate.check(Call("Bash", PUSH))).allowed
    assert not (await gate.after_tool_use("WebFetch", WEB, "a page")).changed
    assert gate.check_sync(Call("Bash", PUSH)).verdict == "deny"
    assert (await gate.check(Call("Bash", PUSH), session="another")).allowed


async def test_a_session_goes_on_in_another_gate_on_the_same_state(opened: Open) -> None:
    first, second = opened(), opened()
    await first.session("support-42").finished("WebFetch", WEB, "a page")
    assert second.session("support-42").labels() == {Label.UNTRUSTED}
    assert second.session("support-43").labels() == frozenset()
    first.close()
    assert (await second.session("support-42").check("Bash", PUSH)).verdict == "deny"


async def test_a_sub_agent_begins_with_the_labels_and_brings_its_own_back(opened: Open) -> None:
    session = opened().session("main")
    clean = session.sub_agent("helper-1")
    assert (await clean.check("Bash", PUSH)).allowed
    await clean.finished("WebFetch", WEB, "a page")
    assert (await clean.check("Bash", PUSH)).verdict == "deny"
    clean.sub_agent_ended()
    assert session.labels() == {Label.UNTRUSTED}
    assert session.sub_agent("helper-2").labels() == {Label.UNTRUSTED}


async def test_a_call_that_was_not_run_brings_nothing(opened: Open) -> None:
    session = opened().session()
    await session.check("WebFetch", WEB, call_id="1")
    assert session.labels() == {Label.UNTRUSTED}
    session.not_run("WebFetch", WEB, call_id="1")
    assert session.labels() == frozenset()


async def test_what_strangers_write_into_a_conversation_is_no_persons(opened: Open) -> None:
    gate = opened()
    mine, theirs = gate.session(), gate.session()
    mine.started()
    mine.prompted("please push")
    theirs.prompted("please push", human=False)
    assert (mine.labels(), theirs.labels()) == (frozenset(), {Label.UNTRUSTED})
    mine.ended()


@pytest.mark.parametrize(
    ("name", "tells", "later", "labels"),
    [
        pytest.param("", False, 0.0, set(), id="a new id is made"),
        pytest.param("", False, 1e9, set(Label), id="it was made before the restore"),
        pytest.param("theirs", False, 0.0, set(Label), id="the program names it"),
        pytest.param("theirs", True, 0.0, set(), id="the program says that it begins"),
    ],
)
async def test_a_conversation_after_a_restore(
    opened: Open, folder: Path, name: str, tells: bool, later: float, labels: set[Label]
) -> None:
    """One that the restored state does not know may be of before."""
    store = SqliteStore.open(str(folder / "state" / "lockgate"))
    with store.transaction() as tx:
        tx.put_setting(PUT_BACK_SINCE, str(store.clock() + later))
    store.close()
    session = opened().session(name)
    if tells:
        session.started()
    await session.check("Bash", {"command": "ls"})
    assert session.labels() == labels


async def test_a_hook_gives_a_yes_or_a_no(opened: Open) -> None:
    gate = opened()
    yes = await gate.before_tool_use("Bash", PUSH)
    assert (yes.allowed, yes.reason) == (True, None)
    await gate.after_tool_use("WebFetch", WEB, "a page")
    no = await gate.before_tool_use("Bash", PUSH)
    assert not no.allowed
    assert no.decision == "deny"
    assert "git push" in str(no.reason)


@pytest.mark.parametrize(
    ("output", "path"),
    [
        pytest.param(f"key: {KEY}", (), id="a text"),
        pytest.param({"a": [{"b": f"key: {KEY}"}], "n": 1}, ("a", 0, "b"), id="nested"),
        pytest.param([{"type": "text", "text": f"key: {KEY}"}], (0, "text"), id="content blocks"),
        pytest.param((f"key: {KEY}", None), (0,), id="a tuple"),
        pytest.param({1: f"key: {KEY}"}, ("1",), id="names that are no texts"),
        pytest.param({"stdout": f"key: {KEY}", "isImage": True}, ("stdout",), id="Claude Code's own shape"),
        pytest.param({"content": f"key: {KEY}"}, ("content",), id="a writer's record"),
    ],
)
@pytest.mark.parametrize("tool", ["Bash", "Write", "look_up"])
async def test_credentials_are_taken_out_of_results_of_any_shape(
    opened: Open, output: Any, path: tuple[Any, ...], tool: str
) -> None:
    result = await opened().session().finished(tool, {"command": "cat notes.txt"}, output)
    text = result.output
    for step in path:
        text = text[step]
    assert result.changed
    assert KEY not in str(result.output)
    assert text.startswith("key: [REDACTED:")


class _Odd:
    def __str__(self) -> str:
        return f"an object with {KEY}"


class _Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def _circular() -> list[Any]:
    circle: list[Any] = ["fine"]
    circle.append(circle)
    return circle


def _deep() -> Any:
    deep: Any = "fine"
    for _ in range(200_000):  # deeper than any version's JSON can go
        deep = [deep]
    return deep


async def test_results_that_are_no_json(opened: Open) -> None:
    session = opened().session()
    odd = await session.finished("look_up", {}, _Odd())
    assert odd.changed
    assert odd.output.startswith("an object with [REDACTED:")
    assert not (await session.finished("look_up", {}, _circular())).changed
    assert not (await session.finished("look_up", {}, {"n": 1, "none": None})).changed
    for unreadable in (_Unspeakable(), _deep()):
        result = await session.finished("look_up", {}, unreadable)
        assert result.changed
        assert "withholds it" in result.output


async def test_a_tool_that_is_not_known_can_do_anything(opened: Open) -> None:
    session = opened(config={"profile": "trifecta"}).session()
    assert (await session.check("frobnicate", {"x": 1})).allowed
    await session.finished("frobnicate", {"x": 1}, "text")
    assert session.labels() == {Label.UNTRUSTED, Label.SECRET}
    assert (await session.check("frobnicate", {"x": 1})).verdict == "deny"


def test_a_configuration_that_is_not_valid(opened: Open) -> None:
    with pytest.raises(ConfigError, match="profile"):
        opened(config={"profile": "nonsense"})
    with pytest.raises(ConfigError, match="unknown key"):
        opened(config={"profil": "cascade"})


def test_the_programs_word_is_over_the_files(opened: Open, folder: Path) -> None:
    settings = folder / "home" / ".config" / "lockgate"
    settings.mkdir(parents=True)
    (settings / "lockgate.yaml").write_text("profile: observe\n")
    observing = opened().session()
    observing.finished_sync("WebFetch", WEB, "a page")
    assert observing.check_sync("Bash", PUSH).allowed
    strict = opened(config={"profile": "quarantine"}).session(observing.name)
    assert strict.check_sync("Bash", PUSH).verdict == "deny"


def test_an_ephemeral_gate_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = sorted(folder.iterdir())
    with Gate.open(ephemeral=True, workspace=folder) as gate:
        assert gate.session().check_sync("Bash", PUSH).allowed
        assert sorted(folder.iterdir()) != before
    assert sorted(folder.iterdir()) == before


async def test_a_closed_gate_denies(opened: Open) -> None:
    gate = opened()
    session = gate.session()
    gate.close()
    gate.close()
    decision = await session.check("Bash", {"command": "ls"})
    assert isinstance(decision, Decision)
    assert decision.verdict == "deny"
    assert "the gate is closed" in decision.reason
    assert (await session.finished("Bash", {}, "text")).output != "text"
    with pytest.raises(LockgateError):
        session.prompted("hello")


def test_everything_public_is_at_the_top() -> None:
    assert set(lockgate.__all__) == {*sdk.__all__, "__version__"}
    for name in lockgate.__all__:
        assert getattr(lockgate, name) is not None
    with pytest.raises(AttributeError):
        _ = lockgate.no_such_name  # type: ignore[attr-defined]
    code = "import lockgate, sys; sys.exit('lockgate.clients.sdk' in sys.modules or 'asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_a_prompt_of_parts_is_labelled_by_whose_words_they_are(opened: Open) -> None:
    gate = opened()
    theirs, mine = gate.session("with-an-issue"), gate.session("alone")
    theirs.prompted([person("Triage this:\n"), stranger("please push", source="issue 7"), program("Be brief.")])
    mine.prompted([person("please push"), program("Be brief.")])
    assert theirs.labels() == {Label.UNTRUSTED}
    assert mine.labels() == frozenset()


@pytest.mark.parametrize("wrong", [{"config": {"profile": "no such"}}, {"workspace": 7}])
def test_what_cannot_be_opened_leaves_no_folder(
    wrong: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises((ConfigError, TypeError)):
        Gate.open(ephemeral=True, **wrong)
    assert not list(tmp_path.iterdir())


def test_threads_that_come_at_once_share_the_gates_own_session(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sessions would each have only their own labels."""
    gate = opened()
    both = Barrier(2, timeout=20)
    make = Gate.session

    def waits_for_the_other(*given: Any) -> Session:
        both.wait()
        return make(*given)

    monkeypatch.setattr(Gate, "session", waits_for_the_other)
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(gate._of, ["", ""])
    assert first is second
