"""Tracks whether the open page of an agent's browser is one of this machine.

What is typed into a page goes where that page is from. So an act on the open page counts as sending. It does not where
the last page that this session had the browser open is one of this machine. Then each result since must say that a page
of the same server is open. Another port of this machine may be the gate's own.
"""

from __future__ import annotations

import json
from enum import StrEnum

from lockgate.analysis.mcp import split_name
from lockgate.analysis.mcp_servers import BECAUSE_HERE, OPENED_HERE, PAGE, PAGE_HERE, does, is_browser
from lockgate.core.lazy import lazy_re
from lockgate.core.model import Analysis, EffectKind, ToolCall, Variant
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.addresses import normalise

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction

_PREFIX = "open-page:"
_LONGEST = 1800.0
"""Seconds after which nobody knows any more what is open: a person can use the same browser."""
_MOST = 200
_URL = lazy_re(r"(?m)^[ \t]*-? ?Page URL: *(\S*)")
"""How Playwright's server says in a result which page is open. A page can add such lines, and take none away."""


class _PageState(StrEnum):
    """What is known of a browser's open page."""

    UNKNOWN = ""
    """It may be any page."""
    OPENING = "opening"
    """A page of this machine is being opened, and its result has not come."""
    ACTING = "acting"
    """A call acts on the page, and its result has not come."""
    OPEN = "open"
    """It is a page of this machine."""


class _OpenPage(Record):
    """The open page of one server's browser."""

    state: _PageState = _PageState.UNKNOWN
    at: float = 0.0
    """Since when, in seconds since the epoch."""
    key: str = ""
    """The call that made it so."""
    origin: str = ""
    """The page's scheme, host and port."""


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
    page = _page_of(tx, session, split_name(call.tool)[0])
    if page.state is not _PageState.OPEN or not 0 <= now - page.at <= _LONGEST:
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
    server, tool = split_name(call.tool)
    if not is_browser(server):
        return
    known = {effect.rule for effect in analysis.effects}
    what = does(server, tool) if "tool:mcp" not in known else ""
    if what == "go" and OPENED_HERE in known:
        url = next(effect.what for effect in analysis.effects if effect.rule == OPENED_HERE)
        _keep(tx, session, server, _OpenPage(_PageState.OPENING, now, key, _origin(url)))
    elif what == "page" and PAGE_HERE in known:
        _keep(tx, session, server, _OpenPage(_PageState.ACTING, now, key, _page_of(tx, session, server).origin))
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
    server, _ = split_name(call.tool)
    if not is_browser(server):
        return
    page = _page_of(tx, session, server)
    if page.state is _PageState.UNKNOWN:
        return
    urls = _URL.findall(text)
    if any(not page.origin or _origin(url) != page.origin for url in urls):
        _forget(tx, session, server)
    elif page.key == key and text and (urls or page.state is _PageState.ACTING):
        _keep(tx, session, server, _OpenPage(_PageState.OPEN, now, key, page.origin))


def _origin(url: str) -> str:
    """Scheme, host and port of an address; empty where it cannot be read in one way only."""
    scheme, mark, rest = (normalise(url) or "").partition("://")
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}" if mark else ""


# ---------------------------------------------------------------- what is kept
def _page_of(tx: Transaction, session: str, server: str) -> _OpenPage:
    text = tx.setting(f"{_PREFIX}{session}:{server}")
    if text is None:
        return _OpenPage()
    state, at, key, origin = json.loads(text)
    return _OpenPage(_PageState(state), float(at), str(key), str(origin))


def _keep(tx: Transaction, session: str, server: str, page: _OpenPage) -> None:
    name = f"{_PREFIX}{session}:{server}"
    if tx.setting(name) is None:
        ages = {other: float(json.loads(text)[1]) for other, text in tx.settings(_PREFIX).items()}
        for other in sorted(ages, key=ages.__getitem__)[: max(len(ages) - _MOST + 1, 0)]:
            tx.put_setting(other, None)
    tx.put_setting(name, json.dumps(page))


def _forget(tx: Transaction, session: str, server: str) -> None:
    if tx.setting(f"{_PREFIX}{session}:{server}") is not None:
        tx.put_setting(f"{_PREFIX}{session}:{server}", None)
