"""What the agent and the person read."""

from __future__ import annotations

from lockgate.messages import provenance_text
from lockgate.model import Label, Taint, TaintState


def _taint(source: str, state: TaintState, label: Label = Label.UNTRUSTED) -> Taint:
    return Taint(label, source, "WebFetch", "c1", 0.0, state)


def test_a_source_is_named_once():
    taints = [
        _taint("WebFetch: a", TaintState.CONFIRMED),
        _taint("Read: .env", TaintState.CONFIRMED, Label.SECRET),
        _taint("WebFetch: b", TaintState.PENDING),
        _taint("WebFetch: a", TaintState.PENDING),
        *(_taint(f"WebFetch: {number}", TaintState.CONFIRMED) for number in range(3)),
    ]
    shown = provenance_text(taints, Label.UNTRUSTED)
    assert shown.count("WebFetch: a") == 1
    assert shown.count("(not finished yet)") == 1
    assert shown.endswith("; and 2 more")
