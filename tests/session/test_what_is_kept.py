"""What the store keeps of a call, a label and a session: no credential, and nothing that a terminal would obey."""

from __future__ import annotations

import pytest

from lockgate.core.events import Context
from lockgate.core.model import Analysis, Effect, EffectKind, Label, Subject, ToolCall
from lockgate.gate.session import expect, hold_secrets, provenance, settle_result
from lockgate.gate.session.sessions import touch_session
from lockgate.store.protocol import Transaction

MAIN = Subject("s")
U, S = Label.UNTRUSTED, Label.SECRET
DIGEST = "0" * 64
CALL = ToolCall("Bash", {}, call_id="c1")


def source(label: Label, what: str) -> Analysis:
    kind = EffectKind.INGEST if label is U else EffectKind.READ_SECRET
    return Analysis((Effect(kind, what, "test:rule", "a test", gives=label),))


def never() -> Analysis:
    raise AssertionError("a call that was seen is not analysed anew")


GITHUB_KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    ("what", "kept"),
    [
        ("src/a.py", "Bash: src/a.py"),
        ("a\x1b[2Jb", "Bash: a\\e[2Jb"),
        ("a\nb\u202ec", "Bash: a\\nb\\u{202e}c"),
        ("文档/说明.md", "Bash: 文档/说明.md"),
    ],
)
def test_where_a_label_came_from_is_kept_so_that_no_terminal_obeys_it(tx: Transaction, what: str, kept: str) -> None:
    expect(tx, MAIN, CALL, source(U, what=what), DIGEST, 1.0)
    assert [taint.source for taint in provenance(tx, MAIN)] == [kept]


def test_a_tools_name_that_holds_a_key_is_kept_without_it(tx: Transaction) -> None:
    tool = f"mcp__x__y.{GITHUB_KEY}"
    asked = ToolCall(tool, {}, call_id="c1")
    expect(tx, MAIN, asked, source(U, what=tool), DIGEST, 1.0)
    settle_result(tx, MAIN, asked, "text", 2.0, digest=DIGEST, fresh=never)
    hold_secrets(tx, MAIN, asked, [f"{tool}: a key\x1b[2J"], 3.0)
    later = ToolCall(tool, {}, call_id="c2")
    settle_result(tx, MAIN, later, "text", 4.0, digest=DIGEST, fresh=lambda: source(S, what=tool))
    rows = [tx.call("s", key) for key in ("c1", "c2")]
    kept = repr([rows, provenance(tx, MAIN)])
    assert GITHUB_KEY not in kept
    assert "\\x1b" not in kept
    assert "mcp__x__" in kept


def test_a_folder_that_holds_a_key_is_kept_without_it(tx: Transaction) -> None:
    context = Context("test", MAIN, cwd=f"/home/user/{GITHUB_KEY}")
    for now in (1.0, 1.5, 9.0):
        touch_session(tx, context, now, history=lambda: False)
    row = tx.session("s")
    assert row is not None
    assert GITHUB_KEY not in repr(row)
    assert row.cwd.startswith("/home/user/")
