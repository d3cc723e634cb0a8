"""Sessions of the dashboard: one-time links begin them, and the end of the process ends them.

A link that is used twice is known to two: one of them may be a thief, and nothing says which. So the session that the
first use began ends, and the person is told. In the browser that the first use was in, a second one is an accident:
that browser has both secrets of the session. The cookie alone proves nothing, for another port can have planted it.

A session has two secrets. The cookie is the browser's, out of reach of scripts; but a browser sends it to every port of
a host, and so to a server of somebody else on this machine. A page sends the other in a header. It is told once to the
page that logged in, and belongs to its origin with its port. Neither is of use without the other.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from lockgate.core.record import Record
from lockgate.service.http.auth.tokens import Scope
from lockgate.service.http.problems import RequestRefused
from lockgate.service.http.schemas import ProblemCode

LINK_SECONDS = 60.0
"""How long a one-time link works."""
LASTS_SECONDS = 12 * 3600.0
"""How long a session lasts at most."""
IDLE_SECONDS = 4 * 3600.0
"""How long it lasts without a request."""
MOST_WRONG = 10
"""Wrong logins within a minute, after which the asker is told to wait."""
_WINDOW = 60.0
_MOST_SESSIONS = 32
_MOST_COOKIES = 200
"""Cookies of the name that are looked at: more than a browser keeps of a host, so that none hides the session's."""
_MOST_USED = 64
"""Used links that are remembered."""
USED_HERE: ProblemCode = "link-here"
TWICE: ProblemCode = "link-twice"
"""Codes of refusals: the link was used by this browser; it was used by two."""
_TWICE = (
    "a link was used by two browsers, so that the first of them was logged out:"
    " look at what was approved, and make another link"
)
CSRF_HEADER = "x-csrf-token"
_BYTES = 32


class ApiCaller(Record):
    """A person or a program that calls the API."""

    name: str
    """The person's name on this machine, or the token's."""
    person: bool
    """Whether it is a person's session, else a program's token."""
    scopes: frozenset[Scope]
    ends: float = 0.0
    """The latest end of the session, in seconds since the epoch; 0.0 for a token."""
    session: str = ""
    """Names the session within this process; empty for a token."""

    @property
    def by(self) -> str:
        """The caller, as an answered question records them."""
        return f"{self.name} (dashboard)" if self.person else f"token {self.name} (dashboard)"


class SessionSecrets(Record):
    """The secrets of a session, which a browser gets when it logs in."""

    cookie: str
    csrf: str
    ends: float
    """When the session ends at the latest, in seconds since the epoch."""


class _Session:
    """One session of a person."""

    def __init__(self, csrf: bytes, now: float) -> None:
        self.csrf = csrf
        self.began = self.used = now
        self.ends = time.time() + LASTS_SECONDS

    def is_over(self, now: float) -> bool:
        return now - self.began >= LASTS_SECONDS or now - self.used >= IDLE_SECONDS


class Access:
    """Links and sessions of one process. Its times come from a clock that nobody sets."""

    def __init__(self, person: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without links and sessions.

        Args:
            person: The name of this process's user, for whom the links are.
            clock: Seconds of a monotonic clock.
        """
        self._person = person
        self._clock = clock
        self._link: tuple[bytes, float] | None = None
        self._sessions: dict[str, _Session] = {}
        self._wrong: deque[float] = deque(maxlen=MOST_WRONG)
        self._used: dict[bytes, tuple[str, bytes]] = {}
        """The session that each used link began, and its CSRF token's hash; the oldest link first."""
        self._twice: set[str] = set()
        """Sessions whose link was used by a second browser."""
        self.on_link_over: Callable[[], None] = lambda: None
        """Called when a link was used, or another took its place."""
        self.on_twice: Callable[[], None] = lambda: None
        """Called when a second browser has used a link, once for each link."""

    def new_link(self) -> str:
        """Make a token that begins one session within a minute. The token before no longer works."""
        self.on_link_over()
        token = secrets.token_urlsafe(_BYTES)
        self._link = (_hash(token), self._clock() + LINK_SECONDS)
        return token

    def login(self, token: str, cookies: Sequence[str] = (), csrf: str = "") -> SessionSecrets:
        """Begin a session.

        Args:
            token: The link's.
            cookies: Those that the browser has from this dashboard.
            csrf: The CSRF token of the session that it has already; empty where it knows of none.

        Raises:
            RequestRefused: The link is wrong, used or too old, or there were too many wrong ones.
        """
        now = self._clock()
        expected, until = self._link or (b"", 0.0)
        if not hmac.compare_digest(_hash(token), expected) or now >= until:
            raise self._refuse_again(token, cookies, csrf) or self._refuse_login(now)
        self._link = None
        self.on_link_over()
        begun = self._begin(now)
        self._used[_hash(token)] = _name(begun.cookie), _hash(begun.csrf)
        if len(self._used) > _MOST_USED:
            self._twice.discard(self._used.pop(next(iter(self._used)))[0])
        return begun

    def _refuse_again(self, token: str, cookies: Sequence[str], csrf: str) -> RequestRefused | None:
        """Refuse a link that was used before; ``None`` where it was not. A second browser ends its session."""
        session, expected = self._used.get(_hash(token), ("", b""))
        if not session:
            return None
        if session in map(_name, cookies) and hmac.compare_digest(_hash(csrf), expected):
            return RequestRefused(401, "this browser has used this link already", code=USED_HERE)
        self._sessions.pop(session, None)
        if session not in self._twice:
            self._twice.add(session)
            self.on_twice()
        return RequestRefused(401, _TWICE, code=TWICE)

    def why_not(self, cookies: Sequence[str]) -> RequestRefused:
        """The refusal for a browser without a valid session."""
        challenge = {"WWW-Authenticate": 'Bearer realm="lockgate"'}
        if any(_name(cookie) in self._twice for cookie in cookies):
            return RequestRefused(401, _TWICE, code=TWICE, headers=challenge)
        return RequestRefused(401, "log in with the link of `lockgate dashboard`", code="login", headers=challenge)

    def _refuse_login(self, now: float) -> RequestRefused:
        # The right link always works: else whoever sends wrong ones could lock the person out.
        if len(self._wrong) == MOST_WRONG and now - self._wrong[0] < _WINDOW:
            after = str(math.ceil(_WINDOW - (now - self._wrong[0])))
            return RequestRefused(429, "too many wrong logins", code="logins", headers={"Retry-After": after})
        self._wrong.append(now)
        return RequestRefused(401, "this link was used, is too old, or is not one: make another", code="link")

    def _begin(self, now: float) -> SessionSecrets:
        self._sessions = {name: each for name, each in self._sessions.items() if not each.is_over(now)}
        if len(self._sessions) >= _MOST_SESSIONS:
            del self._sessions[min(self._sessions, key=lambda name: self._sessions[name].used)]
        cookie, csrf = secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES)
        session = self._sessions[_name(cookie)] = _Session(_hash(csrf), now)
        return SessionSecrets(cookie, csrf, session.ends)

    def person(self, cookies: list[str], csrf: str) -> ApiCaller | None:
        """The person whose session has these two secrets; ``None`` for nobody. This counts as use of the session."""
        now = self._clock()
        for cookie in cookies:
            name = _name(cookie)
            session = self._sessions.get(name)
            if session is None or session.is_over(now):
                continue
            if hmac.compare_digest(_hash(csrf), session.csrf):
                session.used = now
                return ApiCaller(self._person, True, frozenset(("read", "approve")), session.ends, name)
        return None

    def lasts(self, caller: ApiCaller) -> bool:
        """Whether a caller's session still lasts. A token is looked up at each request instead."""
        if not caller.person:
            return True
        session = self._sessions.get(caller.session)
        return session is not None and not session.is_over(self._clock())

    def logout(self, caller: ApiCaller) -> None:
        """End a session."""
        self._sessions.pop(caller.session, None)


def cookies_named(name: str, headers: Mapping[str, str]) -> list[str]:
    """The values of all cookies with a name (RFC 6265): another port of this host may have set some of them."""
    pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return [value for key, _, value in pairs if key == name and value][:_MOST_COOKIES]


def _name(cookie: str) -> str:
    """The name of a session within this process. It does not reveal the cookie."""
    return _hash(cookie).hex()


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
