"""Recorded hook inputs of each client, and what is answered to them, without the sentences.

``make answers`` writes the answers anew. A difference in a row is a change of behaviour.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gate.world import HOME, World
from lockgate.clients.adapter import HookOutput
from lockgate.clients.hook import options
from lockgate.clients.hook.answer import EventRequest
from lockgate.core.errors import LockgateError
from lockgate.core.model import ToolCall
from lockgate.gate import Monitor
from lockgate.system.folders import Folders

RECORDED = Path(__file__).resolve().parent / "recorded"
Row = dict[str, Any]

_KEPT_WORDS = frozenset({"hookEventName", "permissionDecision", "permission", "decision", "behavior"})
"""Fields of an answer whose string is no sentence."""
_CHANGED = frozenset({"updatedInput", "updated_input", "modifiedArgs", "tool_input", "args"})
"""Fields that hold the changed input of a call."""
_OF_RECORD = (
    *("event", "tool", "agent", "verdict", "column", "labels"),
    *("gave", "was_expected", "outcome", "how", "human"),
)


class _Containing(World):
    """A machine that can contain a command, whichever the tests run on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.gate = Monitor(self.gate.parts._replace(contain=self._contain))

    def _contain(self, _: object, call: ToolCall, __: object) -> dict[str, Any] | None:
        command = call.tool_input.get("command")
        return {**call.tool_input, "command": f"contained: {command}"} if isinstance(command, str) else None


def rows_of(client: str) -> list[Row]:
    """The recorded rows of a client."""
    return [json.loads(line) for line in (RECORDED / f"{client}.jsonl").read_text("utf-8").splitlines()]


def answered(client: str, rows: list[Row], folder: Path) -> list[Row]:
    """The same inputs with what is answered today. They are one session after the other, in one store."""
    world = _Containing(folder)
    try:
        return [_answered(world, client, row) for row in rows]
    finally:
        world.store.close()


def _answered(world: World, client: str, row: Row) -> Row:
    before = len(world.records())
    where = Folders(HOME, str(world.folder / "state"), str(world.config))
    asked = EventRequest(options.parse([client, "--event", row["event"]]), where)
    try:
        event = asked.read(json.dumps(row["input"]).encode(), {})
        output = HookOutput("") if event is None else asked.spell(world.gate.handle(event))
    except LockgateError as error:
        output = asked.spell_failure(error.to_person)
    answer = _without_sentences(json.loads(output.stdout or "{}"))
    records = [_record(body) for body in world.records()[before:]]
    return {
        "event": row["event"],
        "input": row["input"],
        "exit": output.exit_status,
        "answer": answer,
        "audit": records,
    }


def _without_sentences(value: Any, key: str = "") -> Any:
    """An answer with a mark in the place of each sentence. Changed inputs stay as they are."""
    if key in _CHANGED:
        return value
    if isinstance(value, dict):
        return {name: _without_sentences(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_sentences(each, key) for each in value]
    return "<text>" if isinstance(value, str) and key not in _KEPT_WORDS else value


def _record(body: Row) -> Row:
    """What a record of the audit says about a decision, without sentences, digests and times."""
    found = {name: body[name] for name in _OF_RECORD if name in body}
    for name in ("effects", "reasons"):
        if isinstance(body.get(name), list):
            found[name] = [{key: said for key, said in one.items() if key != "because"} for one in body[name]]
    return found


def main() -> None:
    """Write the answers of today into the rows."""
    for file in sorted(RECORDED.glob("*.jsonl")):
        with tempfile.TemporaryDirectory() as folder:
            rows = answered(file.stem, rows_of(file.stem), Path(folder))
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
        print(f"{file.stem}: {len(rows)} rows")


if __name__ == "__main__":
    main()
