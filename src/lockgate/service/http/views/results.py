"""Results that made a session untrusted, for the API; and a person's endorsement of one."""

from __future__ import annotations

import hashlib
import hmac
import json

from lockgate.core.display_text import condense
from lockgate.core.errors import EndorsementError
from lockgate.gate.approvals import endorsing
from lockgate.gate.session import endorsements
from lockgate.gate.session.endorsements import UntrustedResult
from lockgate.service.http.auth.sessions import ApiCaller
from lockgate.service.http.context import not_found
from lockgate.service.http.problems import RequestRefused
from lockgate.service.http.schemas.results import Endorse, Endorsed, ResultInfo, Results
from lockgate.service.http.views import record_values, sessions
from lockgate.store.protocol import Store, Transaction


def list_results(tx: Transaction, session: str) -> Results:
    """The results that made anybody in a session untrusted, oldest first.

    Raises:
        RequestRefused: There is no such session.
    """
    return Results(items=[_result(source) for source in endorsements.sources_of(tx, _session(tx, session))])


def endorse(store: Store, result: str, word: Endorse, caller: ApiCaller) -> Endorsed:
    """Take the label ``untrusted`` of exactly the result that was shown.

    Args:
        store: The store.
        result: The result's whole id.
        word: What the person was shown.
        caller: Who says so.

    Raises:
        RequestRefused: There is no such result (any more), it is not what was shown, or it cannot be endorsed.
    """
    with store.reading() as tx:
        session = _session(tx, word.session)
        try:
            source = endorsements.find(tx, [session], result)
        except EndorsementError as error:
            raise RequestRefused(404, str(error)) from None
    if not hmac.compare_digest(word.shown, digest_of(source)):
        raise RequestRefused(409, "this is not what was shown: look at it again", code="changed")
    try:
        left = endorsing.endorse(store, source, by=caller.by, client="dashboard")
    except EndorsementError as error:
        raise RequestRefused(409, f"this result cannot be endorsed: {error}", code="not_endorsable") from None
    with store.reading() as tx:
        return Endorsed(items=list_results(tx, session).items, left=sorted(left))


def digest_of(source: UntrustedResult) -> str:
    """Digest of all that is shown of a result, but for why it cannot be endorsed; and of what its id is bound to."""
    shown = [source.id, *source.subject, source.call_id, source.tool, source.at, source.sources, dict(source.said)]
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(b"lockgate result shown\n" + text.encode()).hexdigest()


def _session(tx: Transaction, name: str) -> str:
    row = sessions.find(tx, name)
    if row is None:
        raise not_found("session")
    return row.session


def _result(source: UntrustedResult) -> ResultInfo:
    return ResultInfo(
        result=source.id,
        session=source.subject.session,
        agent=source.subject.agent,
        tool=source.tool,
        call=source.call_id,
        at=record_values.moment(source.at),
        sources=list(source.sources),
        text=condense(source.text),
        more=source.more,
        problem=source.problem,
        shown=digest_of(source),
    )
