"""Rows that somebody writes into the database beside Lockgate, against real hooks, with and without a resident gate.

The scenes and the forged rows are those that the gate alone is tried with. Here each event is a process of its own, as
the client starts it, and what is forged is there before the last of them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import payload
from gate.test_forged_rows import FORGED, Scene, spoil
from gate.world import WORK, World
from lockgate.configuration.layers.files import digest_of
from lockgate.core.events import Answer, PromptSubmitted
from lockgate.core.model import ToolCall, Verdict
from lockgate.store.sqlite.store import SqliteStore

from .machine import PATIENT, Machine

CHOSEN = {
    ("a_strangers_address", "called a person's"),
    ("a_strangers_address", "with the seal of a person's"),
    ("an_address_of_another_session", "copied with its seal"),
    ("a_page_elsewhere", "said to be here"),
    ("a_page_elsewhere", "made up"),
    ("a_projects_file", "trusted"),
    ("a_projects_file", "trusted with the seal of another setting"),
    ("a_tainted_session", "what the files come to"),
    ("a_delegate_that_read", "a step is added"),
    ("a_second_delegate", "free again"),
    ("an_ordinary_agent", "of another parent"),
    ("an_ordinary_agent", "a delegate"),
    ("an_ordinary_agent", "deleted"),
    ("a_call_that_is_out", "quiet"),
    ("a_call_that_is_out", "deleted with its labels"),
    ("a_call_that_finds_a_secret", "back already"),
    ("a_step_that_was_taken", "deleted"),
    ("a_delegate_that_acted", "long ago"),
    ("a_tainted_session", "is over"),
    ("a_tainted_session", "no setting"),
}
"""Of each table that has seals, and of each way to forge: a value, a seal, a row, a row that is gone."""
CASES = [each for each in FORGED if (each[0].__name__, each[1]) in CHOSEN]
ATTENDED = {"CLAUDE_CODE_ENTRYPOINT": "cli"}


class HookedWorld(World):
    """A world whose events are processes: a client's payload in, its answer out."""

    def __init__(self, root: Path, *, resident: bool) -> None:
        """Make the machine, with a gate where one is wanted."""
        self.machine = Machine(root)
        self.folder, self.project, self.config = root, self.machine.project, self.machine.config
        self.store = SqliteStore.open(self.machine.state)
        self._ids = itertools.count(1)
        self.gate = self  # type: ignore[assignment]
        self.environ = ATTENDED if resident else {**ATTENDED, "LOCKGATE_RESIDENT": "off"}
        if resident:
            self.machine.start()

    def close(self) -> None:
        self.store.close()
        self.machine.end()

    def told(self, name: str, session: str = "s1", agent: str = "", **fields: Any) -> dict[str, Any]:
        """What the hook of an event answers."""
        transcript = self.machine.home / ".claude" / "projects" / "-p" / f"{session}.jsonl"
        transcript.parent.mkdir(parents=True, exist_ok=True)
        transcript.write_text(json.dumps({"type": "system", "version": "2.1.329", "sessionId": session}) + "\n")
        spawned_by = fields.pop("spawned_by", "")
        if agent:
            fields |= {"agent_id": agent, "agent_type": fields.get("agent_type", "general-purpose")}
        if spawned_by:
            meta = transcript.with_suffix("") / "subagents" / f"agent-{agent}.meta.json"
            meta.parent.mkdir(parents=True, exist_ok=True)
            meta.write_text(json.dumps({"toolUseId": spawned_by}))
        whole = payload(name, session_id=session, transcript_path=str(transcript), permission_mode="default", **fields)
        text = json.dumps({**whole, "cwd": WORK}).replace(WORK, str(self.project))
        told = self.machine.hook(text.encode(), *PATIENT, **self.environ)
        assert told.code == 0, told
        return told.answer

    def start(self, how: str = "startup", session_id: str = "s1") -> Answer:
        self.told("SessionStart", session_id, source=how)
        return Answer()

    def prompt(self, text: str, **_: Any) -> Answer:
        self.told("UserPromptSubmit", prompt=text)
        return Answer()

    def handle(self, event: PromptSubmitted) -> None:
        self.told("UserPromptSubmit", event.context.subject.session, prompt=event.prompt)

    def ask(
        self,
        tool: str,
        tool_input: dict[str, Any],
        *,
        agent: str = "",
        call_id: str = "",
        session_id: str = "s1",
        **more: Any,
    ) -> tuple[Answer, ToolCall]:
        call = ToolCall(tool, tool_input, WORK, call_id or f"toolu_{next(self._ids)}")
        fields = {"tool_name": tool, "tool_input": tool_input, "tool_use_id": call.call_id}
        answer = self.told("PreToolUse", session_id, agent, **fields, **more)
        said = answer.get("hookSpecificOutput", {}).get("permissionDecision", "allow")
        return Answer(verdict=Verdict[said.upper()]), call

    def done(self, call: ToolCall, text: str, *, agent: str = "", session_id: str = "s1", **more: Any) -> Answer:
        fields = {"tool_name": call.tool, "tool_input": call.tool_input, "tool_use_id": call.call_id}
        self.told("PostToolUse", session_id, agent, **fields, tool_response={"result": text}, **more)
        return Answer()

    def agent_starts(self, agent: str, agent_type: str = "general-purpose", **more: Any) -> None:
        self.told("SubagentStart", agent=agent, agent_type=agent_type, **more)

    def agent_stops(self, agent: str, agent_type: str = "general-purpose") -> None:
        self.told("SubagentStop", agent=agent, agent_type=agent_type)


def played(root: Path, scene: Scene, statements: tuple[str, ...], *, resident: bool) -> tuple[Verdict, set[str]]:
    world = HookedWorld(root, resident=resident)
    try:
        world.start()
        probe = scene(world)
        theirs = world.project / "lockgate.yaml"
        digest = digest_of(theirs.read_bytes()) if theirs.exists() else ""
        for name, value in {"{project}": str(world.project), "{digest}": digest}.items():
            statements = tuple(statement.replace(name, value) for statement in statements)
        spoil(world, *statements)
        return probe()
    finally:
        world.close()


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """What each scene comes to where nothing is forged; played once in each way."""
    found: dict[tuple[str, bool], tuple[Verdict, set[str]]] = {}

    def look(scene: Scene, *, resident: bool) -> tuple[Verdict, set[str]]:
        key = (scene.__name__, resident)
        if key not in found:
            found[key] = played(tmp_path_factory.mktemp("honest") / "m", scene, (), resident=resident)
        return found[key]

    return look


@pytest.mark.slow
@pytest.mark.parametrize("resident", [False, True], ids=["hooks alone", "a resident gate"])
@pytest.mark.parametrize(
    ("scene", "statements"),
    [pytest.param(scene, each, id=f"{scene.__name__}: {name}".replace("_", " ")) for scene, name, each in CASES],
)
def test_a_forged_row_loosens_no_hook(
    tmp_path: Path, honest: Any, scene: Scene, statements: tuple[str, ...], resident: bool
) -> None:
    verdict, labels = honest(scene, resident=resident)
    assert verdict is not Verdict.ALLOW, "there is nothing to be gained here"
    forged, left = played(tmp_path / "m", scene, statements, resident=resident)
    assert forged >= verdict
    assert left >= labels


def test_every_chosen_case_is_one() -> None:
    assert len(CASES) == len(CHOSEN)
