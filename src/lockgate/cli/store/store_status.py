"""What ``lockgate store status`` and ``verify`` tell of a store."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from lockgate.cli.common.state import open_state
from lockgate.cli.common.times import iso
from lockgate.core.display_text import visible
from lockgate.core.errors import StoreError
from lockgate.store import administration
from lockgate.store.files import ELSEWHERE
from lockgate.store.opening import open_existing
from lockgate.store.postgres.settings import without_password

LOCAL = "sqlite"
"""What stands for the database in the state folder where a store is named."""


def status_of(state: str) -> dict[str, Any]:
    """Which store a state folder has, and whether it can be used, as JSON values."""
    told: dict[str, Any] = {"usable": True, "problem": None, **_describe_folder(state)}
    try:
        found = open_existing(state)
        if found is None:
            return told
        try:
            began = time.perf_counter()
            with found.reading() as tx:
                told["answers_in_ms"] = round((time.perf_counter() - began) * 1000, 2)
                told["clock_ahead_seconds"] = round(found.clock() - time.time(), 2)
                told["gate"] = {"id": found.gate, "name": told.pop("name", None)}
                told["records"] = tx.audit_head().seq
                told["gates"] = [
                    {
                        "id": row.gate,
                        "name": visible(row.name, 100),
                        "records": row.seq,
                        "anchored": row.anchored_seq,
                        "anchored_at": iso(row.anchored_at),
                        "own": row.own,
                    }
                    for row in tx.gates()
                ]
        finally:
            found.close()
    except StoreError as error:
        told.update(usable=False, problem=visible(str(error), 600))
    return told


def _describe_folder(state: str) -> dict[str, Any]:
    """What the state folder says, whether or not it can be opened."""
    try:
        where = administration.read_shared_address(state)
    except StoreError:
        return {"store": "postgresql", "where": os.path.join(state, ELSEWHERE)}
    if where is None:
        return {"store": LOCAL, "where": state}
    return {
        "store": "postgresql",
        "where": visible(without_password(where.url), 300),
        "name": visible(where.gate, 100) or None,
    }


def status_lines(told: dict[str, Any]) -> Iterator[str]:
    """The same for a person."""
    yield f"store:    {told['store']} ({told['where']})"
    if not told["usable"]:
        yield f"problem:  {told['problem']}"
        yield "As long as it cannot be used, everything that would need it is refused."
        return
    if "gate" not in told:
        yield "nothing recorded yet"
        return
    yield f"answers:  in {told['answers_in_ms']} ms; {_clock(told['clock_ahead_seconds'])}"
    yield f"gate:     {told['gate']['id']}, {told['records']} records"
    for row in told["gates"]:
        mark = "*" if row["own"] else " "
        name = f"{mark} {row['id'][:8]}  {row['name'] or '':24}"
        anchored = f", anchored up to {row['anchored']}" if row["anchored"] else ""
        yield f"  {name} {row['records']:>9} records{anchored}"


def _clock(ahead: float) -> str:
    if abs(ahead) < 0.1:
        return "its clock agrees with this machine's"
    return f"its clock is {abs(ahead):g} s {'ahead of' if ahead > 0 else 'behind'} this machine's"


def verify_chains(state: str) -> dict[str, Any]:
    """Whether the chains of all gates hold, and are those that were anchored, as JSON values."""
    with open_state() as found:
        if found is None:
            return {"ok": True, "gates": [], "anchors": {"ok": True, "anchors": 0, "problem": ""}}
        gates, anchored = administration.verify_gates(found, state)
    told = [
        {
            "id": row.gate,
            "name": visible(row.name, 100),
            "ok": chain.ok,
            "records": chain.records,
            "problem": visible(chain.problem),
            "seal_checked": row.own,
        }
        for row, chain in gates
    ]
    return {"ok": anchored.ok and all(chain.ok for _, chain in gates), "gates": told, "anchors": anchored._asdict()}


def describe_chains(told: dict[str, Any]) -> Iterator[str]:
    """The same for a person."""
    for gate in told["gates"]:
        said = f"{gate['records']} records hold" if gate["ok"] else f"DOES NOT HOLD: {gate['problem']}"
        yield f"{gate['id'][:8]}  {gate['name']:24} {said}{' (sealed)' if gate['seal_checked'] else ''}"
    found = told["anchors"]
    yield f"anchors: {found['anchors']} hold" + (f", and then: {visible(found['problem'])}" if found["problem"] else "")
