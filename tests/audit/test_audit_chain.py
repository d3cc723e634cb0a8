"""The audit chain: whatever is done to it is found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.core.errors import AuditError
from lockgate.store.audit.chain import verify, verify_parts
from lockgate.store.audit.exports import export_lines, read_export
from lockgate.store.chain_links import ROOT, canonical, link_digest, seal
from lockgate.store.rows import AuditCheckpoint, AuditHead, AuditRow

KEY = b"k" * 32
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def chain(count: int, key: bytes = KEY) -> tuple[list[AuditRow], AuditHead]:
    rows: list[AuditRow] = []
    previous = ROOT
    for seq in range(1, count + 1):
        body = canonical({"event": "test", "n": seq})
        rows.append(AuditRow(seq, seq + 0.5, body, previous, link_digest(previous, seq, seq + 0.5, body)))
        previous = rows[-1].digest
    return rows, AuditHead(count, previous, seal(key, count, previous))


def relinked(rows: list[AuditRow]) -> list[AuditRow]:
    """The chain that somebody who knows how, but has no key, makes of changed rows."""
    made: list[AuditRow] = []
    for seq, row in enumerate(rows, 1):
        previous = made[-1].digest if made else ROOT
        made.append(AuditRow(seq, row.at, row.body, previous, link_digest(previous, seq, row.at, row.body)))
    return made


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_a_whole_chain_holds(count: int) -> None:
    rows, head = chain(count)
    assert verify(rows, head, KEY) == (True, count, "", 0, head, AuditCheckpoint(), 1)


def test_anybody_can_compute_a_digest() -> None:
    """As the documentation says it, with nothing of ours."""
    rows, _ = chain(2)
    text = f"lockgate audit record 1\n{rows[0].digest}\n2\n2.5\n" + '{"event":"test","n":2}'
    assert rows[1].digest == hashlib.sha256(text.encode()).hexdigest()


def changed(index: int, **values: object) -> Callable[[list[AuditRow]], list[AuditRow]]:
    return lambda rows: [row._replace(**values) if at == index else row for at, row in enumerate(rows)]  # type: ignore[arg-type]


HARM = [
    pytest.param(changed(2, body='{"event":"test","n":9}'), 2, "record 3 was changed", 3, id="body"),
    pytest.param(changed(2, body='{"event": "test","n":3}'), 2, "record 3 was changed", 3, id="a space in a body"),
    pytest.param(changed(2, at=3.25), 2, "record 3 was changed", 3, id="time"),
    pytest.param(changed(2, digest="0" * 64), 2, "record 3 was changed", 3, id="digest"),
    pytest.param(changed(2, previous="0" * 64), 2, "record 3 does not follow", 3, id="previous"),
    pytest.param(changed(0, previous="1" * 64), 0, "record 1 does not follow", 1, id="previous of the first"),
    pytest.param(changed(2, seq=4), 2, "record 3 is missing", 4, id="number"),
    pytest.param(lambda rows: rows[:2] + rows[3:], 2, "record 3 is missing", 4, id="one removed"),
    pytest.param(lambda rows: rows[1:], 0, "record 1 is missing", 2, id="the first removed"),
    pytest.param(lambda rows: rows[:4], 4, "the last record is missing", 0, id="the last removed"),
    pytest.param(lambda rows: rows[:2], 2, "the last 3 records are missing", 0, id="the tail cut"),
    pytest.param(lambda rows: [], 0, "the last 5 records are missing", 0, id="all removed"),
    pytest.param(lambda rows: [*rows[:3], rows[2], *rows[3:]], 3, "record 3 is not in its place", 3, id="one twice"),
    pytest.param(lambda rows: [rows[0], rows[2], rows[1], *rows[3:]], 1, "record 2 is missing", 3, id="two exchanged"),
    pytest.param(
        lambda rows: relinked([rows[0], rows[2], rows[1], *rows[3:]]),
        5,
        "another last record",
        0,
        id="reordered, relinked",
    ),
    pytest.param(lambda rows: relinked(rows[1:]), 4, "the last record is missing", 0, id="removed, relinked"),
    pytest.param(
        lambda rows: relinked([*rows, rows[0]]), 6, "records after 5 were not written by Lockgate", 0, id="one added"
    ),
    pytest.param(
        lambda rows: relinked(changed(2, body="{}")(rows)), 5, "another last record", 0, id="changed, relinked"
    ),
]


@pytest.mark.parametrize(("harm", "records", "problem", "seq"), HARM)
def test_harm_is_found_and_named(harm, records: int, problem: str, seq: int) -> None:
    rows, head = chain(5)
    found = verify(harm(rows), head, KEY)
    assert (found.ok, found.records, found.seq) == (False, records, seq)
    assert problem in found.problem


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        pytest.param(AuditHead(), "the head is missing", id="missing"),
        pytest.param(chain(4)[1]._replace(seal="0" * 64), "seal does not hold", id="seal"),
        pytest.param(chain(5, b"x" * 32)[1], "seal does not hold", id="another installation's"),
        pytest.param(AuditHead(4, chain(4)[1].digest, chain(5)[1].seal), "seal does not hold", id="moved back"),
    ],
)
def test_a_head_that_was_changed_is_found(head: AuditHead, problem: str) -> None:
    found = verify(chain(5)[0], head, KEY)
    assert not found.ok
    assert problem in found.problem


def test_without_the_key_only_the_seal_is_not_checked() -> None:
    rows, head = chain(5)
    assert verify(rows, head._replace(seal=""), None).ok
    assert not verify(rows[:4], head, None).ok
    assert not verify(changed(1, body="{}")(rows), head, None).ok


@given(data=st.data())
def test_any_change_of_any_text_of_any_record_is_found(data: st.DataObject) -> None:
    rows, head = chain(6)
    index = data.draw(st.integers(0, 5))
    field = data.draw(st.sampled_from(["body", "previous", "digest"]))
    old = getattr(rows[index], field)
    at = data.draw(st.integers(0, len(old) - 1))
    new = old[:at] + data.draw(st.characters(codec="utf-8").filter(lambda one: one != old[at])) + old[at + 1 :]
    rows[index] = rows[index]._replace(**{field: new})
    assert not verify(rows, head, KEY).ok


@given(data=st.data(), count=st.integers(2, 8))
def test_any_other_order_or_choice_of_records_is_found(data: st.DataObject, count: int) -> None:
    rows, head = chain(count)
    other = data.draw(st.lists(st.sampled_from(rows), max_size=count + 2).filter(lambda some: some != rows))
    assert not verify(other, head, KEY).ok
    assert not verify(relinked(other), head, KEY).ok


@given(bodies=st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=4), at=st.floats(0, 1e11))
def test_an_export_is_read_back_exactly(bodies: list[dict[str, object]], at: float) -> None:
    rows: list[AuditRow] = []
    for seq, body in enumerate(bodies, 1):
        previous = rows[-1].digest if rows else ROOT
        text = canonical(body)
        rows.append(AuditRow(seq, at, text, previous, link_digest(previous, seq, at, text)))
    last = rows[-1].digest if rows else ROOT
    head = AuditHead(len(rows), last, seal(KEY, len(rows), last))
    lines = list(export_lines(rows, head))
    assert all("\n" not in line and json.loads(line) for line in lines)
    assert list(read_export(lines)) == [AuditCheckpoint(), *rows, head]
    assert verify_parts([read_export(line + "\n" for line in lines)], KEY).ok


def test_a_body_that_is_no_json_is_exported_and_does_not_verify() -> None:
    rows, head = chain(3)
    rows[1] = rows[1]._replace(body="nonsense\n")
    found = verify_parts([read_export(export_lines(rows, head))], KEY)
    assert (found.ok, found.problem) == (False, "record 2 was changed")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda lines: lines[:-1], "the file was cut", id="no head"),
        pytest.param(lambda lines: [], "the file was cut", id="empty"),
        pytest.param(lambda lines: [*lines, lines[0]], "line 4: there is something after the end", id="after the end"),
        pytest.param(lambda lines: [lines[0][:-9], *lines[1:]], "line 1: this is no record", id="half a line"),
        pytest.param(lambda lines: ["[1]", *lines], "line 1: this is no record", id="a list"),
        pytest.param(lambda lines: ["{}", *lines], "line 1: this is no record", id="no fields"),
        pytest.param(lambda lines: ["[" * 100_000, *lines], "line 1: this is no record", id="nested deep"),
        pytest.param(lambda lines: [lines[0].replace('"at":1.5', '"at":"x"'), *lines[1:]], "line 1", id="wrong type"),
        pytest.param(lambda lines: [lines[0].replace('"seq":1', '"seq":true'), *lines[1:]], "line 1", id="bool"),
        pytest.param(lambda lines: [lines[0].replace('"n":1', '"n":NaN'), *lines[1:]], "line 1", id="nan"),
        pytest.param(lambda lines: [*lines[:-1], '{"head":1}'], "line 3: this is no head", id="no head object"),
        pytest.param(lambda lines: [*lines[:-1], '{"head":{"seq":"2"}}'], "line 3: this is no head", id="bad head"),
    ],
)
def test_what_is_no_export_is_said_with_its_line(change, message: str) -> None:
    lines = list(export_lines(*chain(2)))
    with pytest.raises(AuditError, match=message):
        list(read_export(change(lines)))
