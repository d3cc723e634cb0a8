"""What every store must do. A test module gives ``make`` and inherits: ``class TestMine(StoreContract)``."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockgate.core.errors import StoreError
from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.store.audit.chain import verify, verify_store
from lockgate.store.chain_links import PRUNED, ROOT, canonical, checkpoint
from lockgate.store.protocol import Store, Transaction
from lockgate.store.rows import (
    AgentRow,
    ApprovalRow,
    AuditCheckpoint,
    AuditHead,
    AuditQuery,
    BriefRow,
    CallRow,
    SessionRow,
)
from support.stress import examples

PENDING, CONFIRMED = TaintState.PENDING, TaintState.CONFIRMED
UNTRUSTED, SECRET = Label.UNTRUSTED, Label.SECRET

SESSION = SessionRow("s1", "claude-code", "/w", "/w", "s0", "clear", "12:34", 1.5, 2.25, 3.125, "logout")
AGENT = AgentRow("s1", "a1", "general-purpose", "a0", "c1", "b1", "ended", 4.5, ("a0", ""))
CALL = CallRow(
    "s1", "c1", "a1", "Bash", "0" * 64, "asked", ("ok .*", "fine"), {"spawns": "x", "n": [1, {"a": None}]}, 5.5
)
BRIEF = BriefRow("b1", "s1", "a0", "c1", "1" * 64, "push it\nnow", "approved", "a1", 6.5)
APPROVAL = ApprovalRow(
    "k2v7m9qxwp", "s1", "a1", "claude-code", "c1", "2" * 64, "3" * 64, {"tool": "Bash"}, "pending", 6.5, 306.5
)
NO_OBJECTS = ["", "[", '{"tool": ', "[]", "7", "null", '"text"', "[" * 100_000]
"""What another gate may write where a question's JSON object belongs."""
TAINT = Taint(UNTRUSTED, "WebFetch: https://example.com/", "WebFetch", "c1", 7.5, PENDING, "agent a1")
ODD = "a'b\"c\\d\x00e\n\u202e\U0001f512 ; DROP TABLE taints --"


class StoreContract:
    """Inherit and give the fixture ``make``: a function that opens one and the same, at first empty, store."""

    begins: ClassVar[Mapping[str, Any]] = {}
    """What the first record of a chain, and each of a cut, has beside all else."""

    @pytest.fixture
    def store(self, make: Callable[[], Store]) -> Iterator[Store]:
        store = make()
        yield store
        store.close()

    def test_key_is_32_bytes_and_stays(self, store: Store, make: Callable[[], Store]) -> None:
        again = make()
        assert len(store.key) == 32
        assert again.key == store.key
        again.close()

    @pytest.mark.parametrize(
        ("put", "get", "row", "changed"),
        [
            pytest.param(
                "put_session", lambda tx: tx.session("s1"), SESSION, {"cwd": ODD, "ended_at": 0.0}, id="session"
            ),
            pytest.param(
                "put_agent",
                lambda tx: tx.agent(Subject("s1", "a1")),
                AGENT,
                {"state": "running", "parents": ()},
                id="agent",
            ),
            pytest.param(
                "put_call", lambda tx: tx.call("s1", "c1"), CALL, {"facts": {ODD: ODD}, "quiet": ()}, id="call"
            ),
            pytest.param("put_brief", lambda tx: tx.brief("b1"), BRIEF, {"text": ODD, "state": "done"}, id="brief"),
            pytest.param(
                "put_approval",
                lambda tx: tx.approval("k2v7m9qxwp"),
                APPROVAL,
                {"about": {ODD: [ODD]}, "state": "denied", "decided_at": 7.25, "decided_by": ODD, "reason": ODD},
                id="approval",
            ),
        ],
    )
    def test_rows_come_back_whole_and_are_replaced(self, store: Store, put, get, row, changed) -> None:
        with store.reading() as tx:
            assert get(tx) is None
        with store.transaction() as tx:
            getattr(tx, put)(row)
        with store.reading() as tx:
            assert get(tx) == row
        with store.transaction() as tx:
            getattr(tx, put)(row._replace(**changed))
        with store.reading() as tx:
            assert get(tx) == row._replace(**changed)

    def test_everything_is_kept_for_the_next_process(self, store: Store, make: Callable[[], Store]) -> None:
        with store.transaction() as tx:
            tx.put_session(SESSION)
            tx.put_agent(AGENT)
            tx.put_call(CALL)
            tx.put_brief(BRIEF)
            tx.put_approval(APPROVAL)
            tx.add_taints(Subject("s1", "a1"), [TAINT])
            tx.block("s1", "a1", "Bash: git push", 8.5)
            tx.add_addresses("s1", [b"k" * 16], human=True)
            tx.put_setting("x", "y")
            record = tx.append_audit(9.5, {"event": "test"})
        store.close()
        again = make()
        with again.reading() as tx:
            assert (tx.session("s1"), tx.agent(Subject("s1", "a1"))) == (SESSION, AGENT)
            assert (tx.call("s1", "c1"), tx.brief("b1")) == (CALL, BRIEF)
            assert tx.approvals() == [APPROVAL]
            assert tx.taints(Subject("s1", "a1")) == [TAINT]
            assert tx.list_blocked("s1") == [("a1", "Bash: git push", 8.5)]
            assert tx.knows_address("s1", b"k" * 16, human_only=True)
            assert tx.setting("x") == "y"
            assert tx.audit() == [record]
        again.close()

    def test_sessions_last_seen_first(self, store: Store) -> None:
        with store.transaction() as tx:
            for number, process in enumerate(["p", "q", "p", "p"]):
                tx.put_session(SessionRow(f"s{number}", process=process, seen_at=float(10 - number if number else 1)))
        with store.reading() as tx:
            assert [row.session for row in tx.sessions()] == ["s1", "s2", "s3", "s0"]
            assert [row.session for row in tx.sessions(process="p")] == ["s2", "s3", "s0"]
            assert [row.session for row in tx.sessions(process="p", limit=2)] == ["s2", "s3"]
            assert tx.sessions(process="none") == []

    def test_lists_are_oldest_first_and_of_one_session(self, store: Store) -> None:
        with store.transaction() as tx:
            for at in (3.0, 1.0, 2.0):
                tx.put_agent(AgentRow("s", f"a{at}", started_at=at))
                tx.put_call(CallRow("s", f"c{at}", at=at, state="asked" if at == 2 else "running"))
                tx.put_brief(BriefRow(f"b{at}", "s", "", "", "", "", at=at))
                tx.block("s", "", f"w{at}", at)
                tx.put_agent(AgentRow("other", "x"))
                tx.put_call(CallRow("other", "x"))
        with store.reading() as tx:
            assert [row.started_at for row in tx.agents("s")] == [1, 2, 3]
            assert [row.at for row in tx.calls("s")] == [1, 2, 3]
            assert [row.at for row in tx.calls("s", state="running")] == [1, 3]
            assert [row.at for row in tx.briefs("s")] == [1, 2, 3]
            assert [at for _, _, at in tx.list_blocked("s")] == [1, 2, 3]

    def test_questions_are_found_by_session_and_state(self, store: Store) -> None:
        with store.transaction() as tx:
            for at in (3.0, 1.0, 2.0):
                for session in ("s", "t"):
                    state = "denied" if at == 2 else "pending"
                    tx.put_approval(
                        APPROVAL._replace(approval=f"{session}{at}", session=session, state=state, asked_at=at)
                    )
        with store.reading() as tx:
            assert [row.approval for row in tx.approvals(session="s")] == ["s1.0", "s2.0", "s3.0"]
            assert [row.approval for row in tx.approvals(session="t", state="pending")] == ["t1.0", "t3.0"]
            assert [row.approval for row in tx.approvals(state="denied")] == ["s2.0", "t2.0"]
            assert len(tx.approvals()) == 6
            assert tx.approvals(session="none") == tx.approvals(state="used") == []
            assert tx.approval("none") is None

    def test_a_no_is_found_by_the_step_that_writes_it_and_by_every_later_one(self, store: Store) -> None:
        def noes(tx: Transaction) -> list[str]:
            tx.session("s")
            return [row.approval for row in tx.approvals(session="s", state="denied")]

        with store.transaction() as tx:
            tx.put_session(SessionRow("s"))
        for state, found in (("pending", []), ("denied", ["q"]), ("denied", ["q"]), ("changed", [])):
            with store.transaction() as tx:
                noes(tx)
                tx.put_approval(APPROVAL._replace(approval="q", session="s", state=state))
                assert noes(tx) == found
            for _ in range(2):
                with store.transaction() as tx:
                    assert noes(tx) == found

    @pytest.mark.parametrize("state", ["pending", "approved", "denied", "expired", "changed", "used"])
    def test_what_nobody_answered_or_used_is_overdue(self, store: Store, state: str) -> None:
        row = APPROVAL._replace(state=state)
        with store.transaction() as tx:
            tx.put_approval(row)
        with store.reading() as tx:
            assert tx.overdue_approvals(row.expires_at - 0.001) == []
            assert tx.overdue_approvals(row.expires_at) == ([row] if state in ("pending", "approved") else [])

    def test_taints_are_of_one_subject(self, store: Store) -> None:
        with store.transaction() as tx:
            tx.add_taints(Subject("s", "a"), [TAINT])
        with store.reading() as tx:
            assert tx.labels(Subject("s", "a")) == {UNTRUSTED}
            for other in (Subject("s"), Subject("s", "b"), Subject("t", "a"), Subject("s", "A")):
                assert tx.taints(other) == []
                assert tx.labels(other) == frozenset()

    def test_the_newest_taints_are_of_everybody_in_a_session(self, store: Store) -> None:
        given = {"": [5.0, 1.0, 3.0], "a": [4.0, 2.0], "b": [3.0]}
        with store.transaction() as tx:
            for agent, times in given.items():
                tx.add_taints(Subject("s", agent), [TAINT._replace(at=at, call_id=f"{at}") for at in times])
            tx.add_taints(Subject("t"), [TAINT])
        with store.reading() as tx:
            found = tx.newest_taints("s", 4)
            assert [(agent, taint.at) for agent, taint in found] == [("", 5.0), ("a", 4.0), ("b", 3.0), ("", 3.0)]
            assert found[1][1] == tx.taints(Subject("s", "a"))[-1]
            assert len(tx.newest_taints("s", 99)) == 6
            assert tx.newest_taints("none", 4) == []

    @pytest.mark.parametrize("others", [0, 1, 2100])
    def test_many_are_asked_about_at_once(self, store: Store, others: int) -> None:
        with store.transaction() as tx:
            tx.add_taints(Subject("s1"), [TAINT, TAINT._replace(label=SECRET)])
            tx.add_taints(Subject("s1", "a"), [TAINT._replace(label=SECRET, call_id=f"c{n}") for n in range(3)])
            for session in ("s1", "s2", "s2"):
                tx.block(session, "", "Bash", 1.0)
        clean = {Subject(f"o{number}"): frozenset[Label]() for number in range(others)}
        labels = {**clean, Subject("s1", "a"): {SECRET}, Subject("s2"): set(), Subject("s1"): {UNTRUSTED, SECRET}}
        times = {**{subject.session: 0 for subject in clean}, "s2": 2, "s1": 1}
        with store.reading() as tx:
            assert list(tx.labels_of_all(labels).items()) == list(labels.items())
            assert list(tx.times_blocked(times).items()) == list(times.items())
            assert (tx.labels_of_all([]), tx.times_blocked([])) == ({}, {})

    @pytest.mark.parametrize(
        ("first", "second", "kept"),
        [
            pytest.param(PENDING, CONFIRMED, CONFIRMED, id="confirmed replaces pending"),
            pytest.param(CONFIRMED, PENDING, CONFIRMED, id="pending does not replace confirmed"),
            pytest.param(PENDING, PENDING, PENDING, id="twice pending"),
        ],
    )
    def test_a_taint_twice_is_one(self, store: Store, first, second, kept) -> None:
        with store.transaction() as tx:
            tx.add_taints(Subject("s"), [TAINT._replace(state=first)])
            tx.add_taints(Subject("s"), [TAINT._replace(state=second, at=99.0, tool="Other")])
        with store.reading() as tx:
            assert tx.taints(Subject("s")) == [TAINT._replace(state=kept)]

    @pytest.mark.parametrize(
        "other",
        [{"label": SECRET}, {"source": "x"}, {"call_id": "c9"}, {"origin": ""}],
        ids=lambda value: str(next(iter(value))),
    )
    def test_taints_that_differ_are_two(self, store: Store, other) -> None:
        with store.transaction() as tx:
            tx.add_taints(Subject("s"), [TAINT, TAINT._replace(**other)])
        with store.reading() as tx:
            assert tx.taints(Subject("s")) == [TAINT, TAINT._replace(**other)]

    def test_a_limit_keeps_the_oldest_of_each_label_and_all_that_is_pending(self, store: Store) -> None:
        taints = [
            TAINT._replace(label=label, state=state, source=f"{label} {state} {number}", at=float(number))
            for number in range(5)
            for label in Label
            for state in TaintState
        ]
        with store.transaction() as tx:
            tx.add_taints(Subject("s"), taints)
            tx.add_taints(Subject("s", "a"), taints)
        with store.reading() as tx:
            assert tx.taints(Subject("s")) == taints
            kept = [one for one in taints if one.state is PENDING or one.at < 2]
            assert tx.taints(Subject("s"), limit=2) == kept
            assert tx.taints(Subject("s"), limit=99) == taints

    @pytest.mark.parametrize("confirm", [True, False])
    def test_settle_reaches_every_agent_of_the_session_and_no_other_call(self, store: Store, confirm: bool) -> None:
        sure = TAINT._replace(label=SECRET, state=CONFIRMED)
        with store.transaction() as tx:
            for subject in (Subject("s"), Subject("s", "a"), Subject("t")):
                tx.add_taints(subject, [TAINT, TAINT._replace(call_id="c2"), sure])
            assert tx.settle("s", "c1", confirm=confirm) == 2
            assert tx.settle("s", "c1", confirm=confirm) == 0
        with store.reading() as tx:
            for subject in (Subject("s"), Subject("s", "a")):
                settled = [TAINT._replace(state=CONFIRMED)] if confirm else []
                assert tx.taints(subject) == [*settled, TAINT._replace(call_id="c2"), sure]
            assert tx.taints(Subject("t"))[0] == TAINT

    def test_only_what_a_subject_has_by_one_call_of_its_own_is_dropped(self, store: Store) -> None:
        own = TAINT._replace(state=CONFIRMED, origin="")
        others = [
            own._replace(label=SECRET),
            own._replace(call_id="c2"),
            own._replace(source="pending", state=PENDING),
            own._replace(origin="agent a1"),
        ]
        with store.transaction() as tx:
            for subject in (Subject("s"), Subject("s", "a"), Subject("t")):
                tx.add_taints(subject, [own, own._replace(source="two"), *others])
            assert len(tx.taints(Subject("s"), limit=16)) == 6
            assert tx.drop_taints(Subject("s"), UNTRUSTED, "c1") == 2
            assert tx.drop_taints(Subject("s"), UNTRUSTED, "c1") == 0
            assert tx.taints(Subject("s"), limit=16) == others
        with store.reading() as tx:
            assert tx.taints(Subject("s")) == others
            assert len(tx.taints(Subject("s", "a"))) == len(tx.taints(Subject("t"))) == 6

    def test_addresses(self, store: Store) -> None:
        seen, said, both = b"1" * 16, b"2" * 16, b"3" * 16
        with store.transaction() as tx:
            tx.add_addresses("s", [seen, both], human=False)
            tx.add_addresses("s", [said, both], human=True)
            tx.add_addresses("s", [said], human=False)
            tx.copy_addresses("s", "all", human_only=False)
            tx.copy_addresses("s", "some", human_only=True)
        with store.reading() as tx:
            for session, known, human in (
                ("s", {seen, said, both}, {said, both}),
                ("all", {seen, said, both}, {said, both}),
                ("some", {said, both}, {said, both}),
                ("none", set(), set()),
            ):
                for key in (seen, said, both):
                    assert tx.knows_address(session, key) == (key in known)
                    assert tx.knows_address(session, key, human_only=True) == (key in human)

    def test_a_policy_is_published_once_for_each_serial_that_is_higher(self, store: Store) -> None:
        data = bytes(range(256))
        with store.reading() as tx:
            assert (tx.policy_digest("acme"), tx.policy("acme")) == ("", None)
        for serial, fleet, put in ((7, "acme", True), (7, "acme", False), (6, "acme", False), (1, "other", True)):
            with store.transaction() as tx:
                assert tx.put_policy(fleet, serial, data) is put
        with store.transaction() as tx:
            assert tx.put_policy("acme", 8, data[::-1])
        with store.reading() as tx:
            assert tx.policy("acme") == data[::-1]
            assert tx.policy("other") == data
            assert tx.policy_digest("other") == hashlib.sha256(data).hexdigest()

    def test_settings(self, store: Store) -> None:
        with store.transaction() as tx:
            for name in ("trust:/a", "trust:/b%", "trust", "other", "Trust:/c"):
                tx.put_setting(name, name.upper())
            tx.put_setting("trust:/a", "new")
            tx.put_setting("other", None)
            tx.put_setting("never there", None)
        with store.reading() as tx:
            assert tx.settings("trust:") == {"trust:/a": "new", "trust:/b%": "TRUST:/B%"}
            assert tx.setting("other") is None
            assert tx.settings("t%") == {}

    def test_a_failed_transaction_leaves_nothing(self, store: Store) -> None:
        with pytest.raises(ZeroDivisionError), store.transaction() as tx:
            tx.put_session(SESSION)
            tx.append_audit(1.0, {"event": "x"})
            _ = 1 // 0
        with store.reading() as tx:
            assert tx.session("s1") is None
            assert tx.audit() == []
            assert tx.audit_head().seq == 0
        with store.transaction() as tx:
            assert tx.append_audit(1.0, {}).seq == 1

    @pytest.mark.parametrize(
        "write",
        [
            pytest.param(lambda tx: tx.put_session(SESSION), id="put_session"),
            pytest.param(lambda tx: tx.put_agent(AGENT), id="put_agent"),
            pytest.param(lambda tx: tx.put_call(CALL), id="put_call"),
            pytest.param(lambda tx: tx.put_brief(BRIEF), id="put_brief"),
            pytest.param(lambda tx: tx.put_approval(APPROVAL), id="put_approval"),
            pytest.param(lambda tx: tx.add_taints(Subject("s"), [TAINT]), id="add_taints"),
            pytest.param(lambda tx: tx.settle("s", "c", confirm=True), id="settle"),
            pytest.param(lambda tx: tx.drop_taints(Subject("s"), UNTRUSTED, "c"), id="drop_taints"),
            pytest.param(lambda tx: tx.block("s", "", "x", 1.0), id="block"),
            pytest.param(lambda tx: tx.add_addresses("s", [b"x"], human=True), id="add_addresses"),
            pytest.param(lambda tx: tx.copy_addresses("s", "t", human_only=True), id="copy_addresses"),
            pytest.param(lambda tx: tx.append_audit(1.0, {}), id="append_audit"),
            pytest.param(lambda tx: tx.put_setting("x", "y"), id="put_setting"),
            pytest.param(lambda tx: tx.prune(1.0), id="prune"),
        ],
    )
    def test_a_look_cannot_write(self, store: Store, write) -> None:
        with pytest.raises(StoreError, match="look"), store.reading() as tx:
            write(tx)

    def test_a_look_is_consistent_while_another_writes(self, store: Store, make: Callable[[], Store]) -> None:
        writer = make()
        with store.reading() as tx:
            assert tx.session("s1") is None
            with writer.transaction() as other:
                other.put_session(SESSION)
            assert tx.session("s1") is None
        with store.reading() as tx:
            assert tx.session("s1") == SESSION
        writer.close()

    def test_chain_links_and_is_sealed(self, store: Store) -> None:
        with store.reading() as tx:
            assert verify(tx.audit(), tx.audit_head(), store.key).ok
        with store.transaction() as tx:
            rows = [tx.append_audit(float(number), {"event": ODD, "n": number}) for number in range(5)]
        assert [row.seq for row in rows] == [1, 2, 3, 4, 5]
        assert [row.previous for row in rows] == [ROOT, *(row.digest for row in rows[:-1])]
        assert rows[0].body == canonical({"n": 0, "event": ODD, **self.begins})
        with store.reading() as tx:
            assert tx.audit() == rows
            assert tx.audit(after=2, limit=2) == rows[2:4]
            head = tx.audit_head()
            assert head == AuditHead(5, rows[-1].digest, head.seal)
            assert verify(tx.audit(), head, store.key) == (True, 5, "", 0, head, AuditCheckpoint(), 1)

    @pytest.mark.parametrize(
        "body",
        [{"x": float("nan")}, {"x": float("inf")}, {"x": {1, 2}}, {"x": b"y"}],
        ids=["nan", "inf", "set", "bytes"],
    )
    def test_what_json_has_no_text_for_is_not_recorded(self, store: Store, body) -> None:
        with pytest.raises(StoreError, match="record"), store.transaction() as tx:
            tx.append_audit(1.0, body)

    def test_the_audit_is_cut_at_a_checkpoint_and_nowhere_else(self, store: Store, make: Callable[[], Store]) -> None:
        with store.transaction() as tx:
            rows = [tx.append_audit(float(number), {"n": number}) for number in range(1, 8)]
            assert tx.audit_checkpoint() == AuditCheckpoint()
            cut = checkpoint(store.key, 3, rows[2].digest, 3, 20.0)
            told = tx.cut_audit(cut, {"by": "test", "event": "no"})
        assert (told.seq, told.at, told.previous) == (8, 20.0, rows[-1].digest)
        assert told.body == canonical({"by": "test", "event": PRUNED, "checkpoint": cut._asdict(), **self.begins})
        with store.transaction() as tx:
            assert tx.audit() == [*rows[3:], told]
            assert tx.audit_checkpoint() == cut
            assert verify_store(tx, store.key) == (True, 5, "", 0, tx.audit_head(), cut, 4)
            further = checkpoint(store.key, 8, told.digest, 5, 30.0)
            last = tx.cut_audit(further, {})
        store.close()
        again = make()
        with again.reading() as tx:
            assert (tx.audit(), tx.audit_checkpoint(), tx.audit_head().seq) == ([last], further, 9)
            assert verify_store(tx, again.key).ok
        with again.transaction() as tx:
            assert tx.append_audit(31.0, {}).seq == 10
        again.close()

    @pytest.mark.parametrize(
        "spoil",
        [
            pytest.param(lambda key, cut: cut._replace(seal="0" * 64), id="forged"),
            pytest.param(lambda key, cut: cut._replace(at=cut.at + 1), id="at another time"),
            pytest.param(lambda key, cut: checkpoint(b"x" * 32, *cut[:4]), id="of another installation"),
            pytest.param(lambda key, cut: checkpoint(key, 5, cut.digest, 4, 1.0), id="another record's digest"),
            pytest.param(lambda key, cut: checkpoint(key, 4, cut.digest, 2, 1.0), id="another count"),
            pytest.param(lambda key, cut: checkpoint(key, 9, "0" * 64, 8, 1.0), id="not there"),
            pytest.param(lambda key, cut: checkpoint(key, 1, "0" * 64, 0, 1.0), id="gone already"),
            pytest.param(lambda key, cut: AuditCheckpoint(), id="none"),
        ],
    )
    def test_another_checkpoint_cuts_nothing(self, store: Store, spoil) -> None:
        with store.transaction() as tx:
            rows = [tx.append_audit(1.0, {"n": number}) for number in range(5)]
            tx.cut_audit(checkpoint(store.key, 1, rows[0].digest, 1, 2.0), {})
        with store.reading() as tx:
            before = (tx.audit(), tx.audit_checkpoint(), tx.audit_head())
        cut = checkpoint(store.key, 4, rows[3].digest, 3, 1.0)
        with pytest.raises(StoreError, match="cannot be cut there"), store.transaction() as tx:
            tx.cut_audit(spoil(store.key, cut), {})
        with store.reading() as tx:
            assert (tx.audit(), tx.audit_checkpoint(), tx.audit_head()) == before

    def test_a_look_cannot_cut(self, store: Store) -> None:
        with store.transaction() as tx:
            row = tx.append_audit(1.0, {})
        with pytest.raises(StoreError, match="look"), store.reading() as tx:
            tx.cut_audit(checkpoint(store.key, 1, row.digest, 1, 2.0), {})

    def test_how_far_the_audit_is_older(self, store: Store) -> None:
        with store.transaction() as tx:
            assert tx.audit_before(9.0, now=99.0) == 0
            rows = [tx.append_audit(at, {}) for at in (1.0, 2.0, 2.0, 5.0, 1.0, 9.0)]
            told = {at: tx.audit_before(at, now=99.0) for at in (1.0, 1.5, 2.0, 2.5, 5.0, 9.0, 10.0)}
            assert told == {1.0: 0, 1.5: 1, 2.0: 1, 2.5: 3, 5.0: 3, 9.0: 5, 10.0: 6}
            assert [tx.audit_before(10.0, now=99.0, most=most) for most in (1, 3, 6, 9)] == [1, 3, 6, 6]
            assert tx.audit_before(2.5, now=99.0, most=2) == 2
            tx.cut_audit(checkpoint(store.key, 3, rows[2].digest, 3, 20.0), {})
            assert [tx.audit_before(at, now=99.0) for at in (5.0, 5.5, 10.0, 99.0)] == [0, 5, 6, 7]
            assert tx.audit_before(99.0, now=99.0, most=2) == 5

    def test_records_of_a_clock_that_was_ahead_are_as_old_as_the_next(self, store: Store) -> None:
        with store.transaction() as tx:
            for at in (1.0, 900.0, 901.0, 2.0, 3.0, 902.0):
                tx.append_audit(at, {})
            told = {at: tx.audit_before(at, now=100.0) for at in (1.0, 1.5, 2.0, 2.5, 4.0)}
            assert told == {1.0: 0, 1.5: 1, 2.0: 1, 2.5: 4, 4.0: 5}
            assert [tx.audit_before(4.0, now=100.0, most=most) for most in (2, 3, 4)] == [1, 1, 4]
            assert tx.audit_before(4.0, now=1000.0) == 1

    def test_a_session_of_a_clock_that_was_ahead_is_not_the_last_one_seen(self, store: Store) -> None:
        now = store.clock()
        with store.transaction() as tx:
            for name, at in (("old", now - 100), ("ahead", now + 3e7), ("new", now - 1)):
                tx.put_session(SessionRow(name, process="1:2", started_at=at, seen_at=at))
            assert [row.session for row in tx.sessions()] == ["new", "old", "ahead"]
            assert [row.session for row in tx.sessions(process="1:2", limit=1)] == ["new"]

    def test_questions_of_a_clock_that_was_ahead_are_overdue(self, store: Store) -> None:
        with store.transaction() as tx:
            for name, asked in (("now", 100.0), ("ahead", 9000.0)):
                times = {"state": "pending", "asked_at": asked, "expires_at": asked + 300}
                tx.put_approval(APPROVAL._replace(approval=name, **times))
            assert [row.approval for row in tx.overdue_approvals(110.0)] == ["ahead"]

    def test_keys_of_the_fleet_and_of_this_installation_are_two(self, store: Store, make: Callable[[], Store]) -> None:
        again = make()
        assert len(store.fleet_key) == 32
        assert store.fleet_key == again.fleet_key != store.key
        assert store.gate == again.gate
        assert store.gate not in (store.key.hex(), store.fleet_key.hex())
        again.close()

    def test_time_goes_on_and_is_about_ours(self, store: Store) -> None:
        before = store.clock()
        with store.transaction():
            within = store.clock()
        assert before <= within <= store.clock()
        assert abs(before - time.time()) < 600

    def test_a_gate_is_listed_once_it_has_recorded_something(self, store: Store) -> None:
        with store.reading() as tx:
            assert tx.gates() == []
        with store.transaction() as tx:
            rows = [tx.append_audit(5.0, {"n": number}) for number in range(3)]
        with store.reading() as tx:
            (gate,) = tx.gates()
            assert (gate.gate, gate.seq, gate.own, gate.made_at) == (store.gate, 3, True, 5.0)
            assert tx.audit(gate=store.gate) == rows
            assert tx.audit_head(gate=store.gate) == tx.audit_head()
            assert tx.find_audit(AuditQuery(), gate=store.gate) == rows[::-1]
            for other in ("f" * 32, "x"):
                assert tx.audit(gate=other) == tx.find_audit(AuditQuery(), gate=other) == []
                assert (tx.audit_head(gate=other), tx.audit_checkpoint(gate=other)) == (AuditHead(), AuditCheckpoint())

    def test_listening_can_be_begun_and_ended(self, store: Store) -> None:
        with store.listen(lambda _: None), store.listen(lambda _: None, watching=True), store.transaction() as tx:
            tx.put_approval(APPROVAL)
            store.is_watched()
        assert not store.is_watched()

    def test_prune_forgets_ended_sessions_and_keeps_the_audit(self, store: Store) -> None:
        ended = {"old": (5.0, 5.0), "late": (5.0, 20.0), "new": (20.0, 20.0), "running": (0.0, 1.0)}
        with store.transaction() as tx:
            for session, (ended_at, seen_at) in ended.items():
                tx.put_session(SessionRow(session, ended_at=ended_at, seen_at=seen_at))
                tx.put_agent(AGENT._replace(session=session))
                tx.put_call(CALL._replace(session=session))
                tx.put_brief(BRIEF._replace(session=session, brief=session))
                tx.put_approval(APPROVAL._replace(session=session, approval=session))
                tx.add_taints(Subject(session), [TAINT])
                tx.add_addresses(session, [b"k"], human=True)
                tx.block(session, "", "x", 1.0)
                tx.append_audit(1.0, {"session": session})
            assert tx.prune(10.0) == 1
        with store.reading() as tx:
            assert {row.session for row in tx.sessions()} == set(ended) - {"old"}
            assert tx.agents("old") == tx.calls("old") == tx.briefs("old") == tx.list_blocked("old") == []
            assert tx.approvals(session="old") == []
            assert tx.taints(Subject("old")) == []
            assert not tx.knows_address("old", b"k")
            for session in set(ended) - {"old"}:
                assert tx.agents(session)
                assert tx.calls(session)
                assert tx.briefs(session)
                assert tx.approvals(session=session)
                assert tx.list_blocked(session)
                assert tx.taints(Subject(session))
                assert tx.knows_address(session, b"k")
            assert len(tx.audit()) == len(ended)

    def test_very_many_are_pruned_in_several_steps_the_oldest_first(self, store: Store) -> None:
        count = 450
        with store.transaction() as tx:
            for number in range(count):
                tx.put_session(SessionRow(f"s{number}", ended_at=1.0 + number, seen_at=1.0))
        gone = 0
        while gone < count:
            with store.transaction() as tx:
                pruned = tx.prune(1000.0)
            assert 0 < pruned <= 200
            gone += pruned
            with store.reading() as tx:
                assert {row.session for row in tx.sessions()} == {f"s{number}" for number in range(gone, count)}

    def test_what_is_pruned_is_gone_within_the_same_step(self, store: Store) -> None:
        with store.transaction() as tx:
            tx.put_session(SESSION._replace(ended_at=5.0, seen_at=5.0))
            tx.put_call(CALL)
            tx.put_agent(AGENT)
            tx.add_taints(Subject("s1"), [TAINT])
        with store.transaction() as tx:
            assert tx.session("s1") is not None
            assert tx.call("s1", CALL.call_id) == CALL
            assert tx.taints(Subject("s1"), limit=16) == [TAINT]
            assert tx.agents("s1") == [AGENT]
            assert tx.prune(10.0) == 1
            assert tx.session("s1") is None
            assert tx.call("s1", CALL.call_id) is None
            assert tx.taints(Subject("s1"), limit=16) == []
            assert tx.agents("s1") == []

    @given(text=st.text(st.characters(codec=None)), number=st.floats(0, 1e11))
    @settings(  # each store runs it, and a text that one has lost is of interest to the other too
        max_examples=examples(40),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    def test_any_text_is_kept_and_found_again(self, store: Store, text: str, number: float) -> None:
        subject = Subject(text, text)
        taint = Taint(SECRET, text, text, text, number, CONFIRMED, text)
        with store.transaction() as tx:
            tx.put_session(SessionRow(text, cwd=text, seen_at=number))
            tx.add_taints(subject, [taint])
            tx.put_call(CallRow(text, text, facts={text: text}, quiet=(text,), at=number))
            row = tx.append_audit(number, {text: text})
        with store.reading() as tx:
            found = tx.session(text)
            assert found is not None
            assert found.seen_at == number
            assert tx.labels(subject) == {SECRET}
            assert tx.labels_of_all([Subject(text), subject])[subject] == {SECRET}
            assert tx.times_blocked([text]) == {text: 0}
            call = tx.call(text, text)
            assert call is not None
            assert (call.quiet, call.facts) == ((text,), {text: text})
            assert tx.audit(after=row.seq - 1) == [row]
            assert found.cwd == text or any("\ud800" <= character <= "\udfff" for character in text)
