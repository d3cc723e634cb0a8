"""What is answered to recorded inputs of each client stays the same to the byte, sentences apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockgate.clients.adapter import CLIENTS, adapter
from lockgate.clients.common.abilities import ABILITIES, Containing

from .recorded_answers import RECORDED, answered, rows_of


@pytest.mark.parametrize("client", CLIENTS)
def test_recorded_inputs_are_answered_as_before(client: str, tmp_path: Path) -> None:
    """After a change that is wanted: ``make answers``, and look at what differs."""
    rows = rows_of(client)
    for number, (expected, got) in enumerate(zip(rows, answered(client, rows, tmp_path), strict=True), 1):
        shown = json.dumps(expected["input"])
        assert got == expected, f"{client}.jsonl:{number}: {shown} expected {expected} got {got}"


@pytest.mark.parametrize("client", CLIENTS)
def test_the_rows_reach_every_event_and_verdict_of_a_client(client: str) -> None:
    """Without this the test above could compare nothing but silence."""
    rows = rows_of(client)
    verdicts = {record.get("verdict") for row in rows for record in row["audit"]}
    assert {"allow", "contain", "deny"} <= verdicts
    events = set(adapter(client).EVENTS)
    assert events - {row["event"] for row in rows} == set()
    gave = {label for row in rows for record in row["audit"] for label in record.get("gave", ())}
    assert gave == {"untrusted", "secret"}
    if ABILITIES[client].contains is not Containing.CALLED_AGAIN:  # there the command stands in a sentence
        assert any("contained: npm test" in json.dumps(row["answer"]) for row in rows)


def test_every_client_is_recorded() -> None:
    assert sorted(file.stem for file in RECORDED.glob("*.jsonl")) == sorted(CLIENTS)
