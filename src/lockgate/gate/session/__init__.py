"""Labels over time: what each event changes.

Pure functions over a transaction; the clock is handed in. Nothing else in the product changes a label. Labels only
grow, but for four cases:

* A session with a new id starts clean after a start-up or a clear.
* A delegate starts clean.
* The pending taint of a call that brought nothing is dropped.
* So are those of a session that a state which was put back does not know, where the client then says that it begins.
"""

from lockgate.gate.session.agents import begin_agent, end_agent, ensure_subject, join_message, note_launch
from lockgate.gate.session.calls import (
    ResultOutcome,
    call_key,
    expect,
    hold_secrets,
    is_out,
    settle_again,
    settle_failure,
    settle_refusal,
    settle_result,
)
from lockgate.gate.session.labels import (
    address_key,
    column,
    expose,
    has_read_untrusted,
    knows,
    labels_of,
    lock_state,
    provenance,
    remember,
)
from lockgate.gate.session.sessions import (
    TRIAL,
    begin_session,
    end_session,
    is_fork_open,
    is_started_by_agent,
    label_unknown_results,
    settle_fork,
    settle_prompt,
    state_warnings,
)

__all__ = [
    "TRIAL",
    "ResultOutcome",
    "address_key",
    "begin_agent",
    "begin_session",
    "call_key",
    "column",
    "end_agent",
    "end_session",
    "endorsements",
    "ensure_subject",
    "expect",
    "expose",
    "has_read_untrusted",
    "hold_secrets",
    "is_fork_open",
    "is_out",
    "is_started_by_agent",
    "jobs",
    "join_message",
    "knows",
    "label_unknown_results",
    "labels_of",
    "lock_state",
    "note_launch",
    "provenance",
    "remember",
    "settle_again",
    "settle_failure",
    "settle_fork",
    "settle_prompt",
    "settle_refusal",
    "settle_result",
    "state_warnings",
    "trials",
]
