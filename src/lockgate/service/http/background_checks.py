"""Runs slow checks, one at a time: of the audit chain, and by the doctor."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lockgate.configuration.load import load_for_cli
from lockgate.gate.contradictions import contradictions
from lockgate.service.http.context import DashboardContext
from lockgate.service.http.problems import RequestRefused
from lockgate.service.http.schemas.policy import Audit, ChainHead, CheckShown, Doctor, VerificationShown
from lockgate.service.http.views import policy, record_values
from lockgate.store.audit.chain import verify_store
from lockgate.store.rows import AuditHead

_AGAINST = 20
"""Contradictions that a page shows."""


class BackgroundChecks:
    """The last result of each."""

    def __init__(self, dashboard: DashboardContext) -> None:
        """Nothing was checked yet."""
        self._dashboard = dashboard
        self._verifying, self._examining = threading.Lock(), threading.Lock()
        self._verified: VerificationShown | None = None
        self._found = Doctor(ran_at=None, ok=None, checks=[], running=False)

    def audit(self) -> Audit:
        """The chain's state."""
        with self._dashboard.look() as tx:
            head = tx.audit_head() if tx is not None else AuditHead()
            gone = tx.audit_checkpoint().seq if tx is not None else 0
        return Audit(
            head=_head(head), records=head.seq - gone, verified=self._verified, verifying=self._verifying.locked()
        )

    def verify(self) -> Audit:
        """Check the whole chain.

        Raises:
            RequestRefused: Somebody else checks it now.
        """
        with _alone(self._verifying, "the audit is being checked"), self._dashboard.store() as store:
            began = time.monotonic()
            if store is not None:
                approvers = load_for_cli(self._dashboard.where.home).options.approvers
                with store.reading() as tx:
                    found = verify_store(tx, store.key)
                    against = [each.text for each in contradictions(tx, approvers)] if found.ok else []
                self._verified = VerificationShown(
                    ok=found.ok,
                    records=found.records,
                    problem=found.problem,
                    seq=found.seq or None,
                    against=against[:_AGAINST],
                    against_count=len(against),
                    head=_head(found.head),
                    at=record_values.instant(time.time()),
                    seconds=round(time.monotonic() - began, 3),
                )
        return self.audit()

    def doctor(self) -> Doctor:
        """What the doctor found last."""
        return self._found.model_copy(update={"running": self._examining.locked()})

    def examine(self, workspace: str) -> Doctor:
        """Ask the doctor about a workspace.

        Raises:
            RequestRefused: Somebody else asks it now, or no session has worked there.
        """
        with self._dashboard.look() as tx:
            folder = policy.folder_of(self._dashboard.where, workspace, policy.workspaces(tx))
        with _alone(self._examining, "the doctor is at work"):
            checks = [
                CheckShown(
                    name=each.name,
                    state="ok" if each.state == "ok" else "warn" if each.state == "warn" else "fail",
                    says=each.says,
                    mend=each.mend if each.state != "ok" else "",
                )
                for each in self._dashboard.tools.doctor(folder)
            ]
            ok = all(check.state != "fail" for check in checks)
            self._found = Doctor(ran_at=record_values.instant(time.time()), ok=ok, checks=checks, running=False)
        return self._found


@contextmanager
def _alone(lock: threading.Lock, otherwise: str) -> Iterator[None]:
    if not lock.acquire(blocking=False):
        raise RequestRefused(409, otherwise, code="running")
    try:
        yield
    finally:
        lock.release()


def _head(head: AuditHead) -> ChainHead | None:
    return ChainHead(seq=head.seq, digest=head.digest) if head.digest else None
