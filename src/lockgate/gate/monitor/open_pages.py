"""Tracks whether the open page of an agent's browser is one of this machine.

What is typed into a page goes where that page is from. So an act on the open page counts as sending. It does not where
the last page that this session had the browser open is one of this machine. Then each result since must say that a page
of the same server is open. Another port of this machine may be the gate's own.
"""

from __future__ import annotations

import json

from lockgate.analysis.mcp import parted
from lockgate.analysis.mcp_servers import BECAUSE_HERE, OPENED_HERE, PAGE, PAGE_HERE, does, is_browser
from lockgate.core.lazy import lazy_re
from lockgate.core.model import Analysis, EffectKind, ToolCall, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.addresses import normalise

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction

_PREFIX = "open-page:"
_LONGEST = 1800.0
"""Seconds after which nobody knows any more what is open: a person can use the same browser."""
_MOST = 200
_URL = lazy_re(r"(?m)^[ \t]*-? ?Page URL: *(\S*)")
"""How Playwright's server says in a result which page is open. A page can add such lines, and take none away."""
_OPENING, _ACTING, _OPEN = "opening", "acting", "open"
"""A page is being opened, or acted on, and nobody knows yet what that comes to; or it is known to be here."""


def with_open_page(tx: Transaction, session: str, call: ToolCall, analysis: Analysis, now: float) -> Analysis:
    """What a call can do, where it acts on a page that is one of this machine.

    Args:
        tx: The transaction.
        session: The session.
        call: The call.
        analysis: What it can do on any page.
        now: The time, in seconds since the epoch.
    """
    if not any(effect.rule == PAGE for effect in analysis.effects):
        return analysis
    state, at, _, _ = _held(tx, session, parted(call.tool)[0])
    if state != _OPEN or not 0 <= now - at <= _LONGEST:
        return analysis
    return analysis._replace(
        effects=tuple(
            effect._replace(kind=EffectKind.FETCH, rule=PAGE_HERE, because=BECAUSE_HERE, variant=Variant.SEARCH)
            if effect.rule == PAGE
            else effect
            for effect in analysis.effects
        )
    )


def let_run(tx: Transaction, session: str, call: ToolCall, key: str, analysis: Analysis, now: float) -> None:
    """Note that a call is let run, or asked about, which may open another page.

    Args:
        tx: The transaction.
        session: The session.
        call: The call.
        key: The call's name in its session.
        analysis: What it can do.
        now: The time, in seconds since the epoch.
    """
    server, tool = parted(call.tool)
    if not is_browser(server):
        return
    known = {effect.rule for effect in analysis.effects}
    what = does(server, tool) if "tool:mcp" not in known else ""
    if what == "go" and OPENED_HERE in known:
        url = next(effect.what for effect in analysis.effects if effect.rule == OPENED_HERE)
        _keep(tx, session, server, (_OPENING, now, key, _origin(url)))
    elif what == "page" and PAGE_HERE in known:
        _keep(tx, session, server, (_ACTING, now, key, _held(tx, session, server)[3]))
    elif what != "look":
        _forget(tx, session, server)


def came_back(tx: Transaction, session: str, call: ToolCall, key: str, text: str, now: float) -> None:
    """Note which page is open now, as the result of a call says.

    Args:
        tx: The transaction.
        session: The session.
        call: The call.
        key: The call's name in its session.
        text: The result; empty where the call has failed.
        now: The time, in seconds since the epoch.
    """
    server, _ = parted(call.tool)
    if not is_browser(server):
        return
    state, _, waits, origin = _held(tx, session, server)
    pages = _URL.findall(text)
    if not state:
        return
    if any(not origin or _origin(page) != origin for page in pages):
        _forget(tx, session, server)
    elif waits == key and text and (pages or state == _ACTING):
        _keep(tx, session, server, (_OPEN, now, key, origin))


def _origin(url: str) -> str:
    """Scheme, host and port of an address; empty where it cannot be read in one way only."""
    scheme, mark, rest = (normalise(url) or "").partition("://")
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}" if mark else ""


# ---------------------------------------------------------------- what is kept
def _held(tx: Transaction, session: str, server: str) -> tuple[str, float, str, str]:
    """The state, since when, by which call, and the page's origin."""
    text = tx.setting(f"{_PREFIX}{session}:{server}")
    if text is None:
        return "", 0.0, "", ""
    state, at, key, origin = json.loads(text)
    return str(state), float(at), str(key), str(origin)


def _keep(tx: Transaction, session: str, server: str, held: tuple[str, float, str, str]) -> None:
    name = f"{_PREFIX}{session}:{server}"
    if tx.setting(name) is None:
        ages = {other: float(json.loads(text)[1]) for other, text in tx.settings(_PREFIX).items()}
        for other in sorted(ages, key=ages.__getitem__)[: max(len(ages) - _MOST + 1, 0)]:
            tx.put_setting(other, None)
    tx.put_setting(name, json.dumps(held))


def _forget(tx: Transaction, session: str, server: str) -> None:
    if tx.setting(f"{_PREFIX}{session}:{server}") is not None:
        tx.put_setting(f"{_PREFIX}{session}:{server}", None)
