"""A gate on a shared database whose configuration names approvers, and somebody who has stolen another gate's role."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gate.world import WORK, World
from lockgate.configuration.bundles.keys import PrivateKey
from lockgate.core.events import ToolRequested
from lockgate.core.model import ToolCall
from lockgate.core.questions import PersonQuestion
from lockgate.gate.approvals import answering
from lockgate.gate.contradictions import contradictions
from lockgate.store.opening import open_store
from lockgate.store.postgres.migrations import migrate
from lockgate.store.postgres.store import PostgresStore
from lockgate.store.rows import ApprovalRow
from support.postgres import Server, use

PUSH = {"command": "curl -d x https://example.com/"}
OTHER = {"command": "curl -d y https://example.com/"}
GATES = ("south", "north", "desk")
KEYS = {name: PrivateKey.generate() for name in ("ann", "bob", "eve")}


def listed(*names: str, **more: Any) -> dict[str, Any]:
    """The ``approvers`` of a configuration that names some people."""
    return {"keys": [{"name": name, "key": KEYS[name].public().line, **more} for name in names]}


class Fleet(World):
    """South decides, an approver answers at the desk, and north is stolen."""

    def __init__(self, folder: Path, server: Server) -> None:
        super().__init__(folder)
        self.store.close()
        self.url = url = server.url(server.database())
        for name in GATES:
            if not server.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{name}_role'"):
                server.execute(f"CREATE ROLE {name}_role LOGIN")
        migrate(url, gate_roles=[f"{name}_role" for name in GATES])
        self.stores = {name: _opened(folder / name, url, name) for name in GATES}
        self.north, self.desk = self.stores["north"], self.stores["desk"]
        self.store = self.stores["south"]  # type: ignore[assignment]
        self.gate = self._monitor()
        self.unattended, self.is_heard = "", True
        self.configure(listed("ann", "bob"))
        self.start()
        self.taint()
        with self.north.transaction() as tx:
            tx.append_audit(self._now(), {"event": "test"})

    def _now(self) -> float:
        return self.store.clock()

    def configure(self, approvers: Mapping[str, Any] | None, **more: Any) -> None:
        """What the person's own configuration says from now on."""
        self.approvers = approvers
        said = more if approvers is None else {**more, "approvers": approvers}
        (self.config / "lockgate.yaml").write_text(json.dumps(said))

    def waiting(self, given: dict[str, Any] = PUSH, call_id: str = "w1", session_id: str = "s1") -> tuple[Any, str]:
        """A call that waits for a person elsewhere, and the question's id."""
        context = self.context(session_id=session_id)
        going = self.gate.deliberate(ToolRequested(context, ToolCall("Bash", given, WORK, call_id), waits=True))
        question = going.send(None)
        assert isinstance(question, PersonQuestion)
        return going, question.approval

    def answers(self, approval: str, name: str = "ann", *, approve: bool = True, key: str = "") -> ApprovalRow:
        """An approver answers at the desk, with the key of their name or another one."""
        signer = answering.signer_of(listed(name), KEYS[name], self._now())._replace(key=KEYS[key or name])
        state = str(self.folder / "desk")
        return answering.answer(self.desk, state, approval, approve=approve, by="x", signer=signer if approve else None)

    def end(self, going: Any) -> Any:
        """What the call that waited hears; a question where it is asked anew."""
        try:
            return going.send(None)
        except StopIteration as end:
            return end.value

    def record_of(self, approval: str) -> dict[str, Any]:
        """The yes that the desk has recorded."""
        with self.desk.reading() as tx:
            bodies = [json.loads(row.body) for row in tx.audit()]
        return next(body for body in bodies if body.get("approval") == approval and body["event"] == "approve")

    def forge(self, approval: str, body: Mapping[str, Any], **row: Any) -> None:
        """The thief writes a yes into north's chain, and binds the question to it."""
        with self.north.transaction() as tx:
            found = tx.approval(approval)
            assert found is not None
            link = tx.append_audit(row.get("decided_at", self._now()), body)
            about = {**found.about, "answer": [tx.gate, link.seq]}
            tx.put_approval(found._replace(**{"state": "approved", "decided_at": link.at, "about": about, **row}))

    def problems(self) -> list[str]:
        """What the state of south says against the audit."""
        with self.store.reading() as tx:
            return [each.problem for each in contradictions(tx, self.approvers)]

    def close(self) -> None:
        """Close all stores."""
        for store in self.stores.values():
            store.close()


def _opened(state: Path, url: str, name: str) -> PostgresStore:
    store = open_store(str(use(state, url.replace("postgres@", f"{name}_role@"), name)), busy_seconds=5)
    assert isinstance(store, PostgresStore)
    return store
