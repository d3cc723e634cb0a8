"""Asks the service who wrote what a call reads. Answers are kept sealed for ten minutes, and never as text.

Where anything is not as it must be, it is a stranger's.
"""

from __future__ import annotations

import time
from urllib.parse import quote

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.authors import changes, facts, gitlab_facts
from lockgate.gate.authors.acts import acts, is_within
from lockgate.gate.authors.service import SECONDS, ReadingApi, UnansweredError, api_of, gitlab_token_for, token_for
from lockgate.gate.session.sealed_settings import drop_old, seal_setting, unseal_setting
from lockgate.store import chain_links
from lockgate.store.audit import record
from lockgate.system.digests import blake2b, sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from lockgate.core.events import Context
    from lockgate.gate.authors.acts import Times
    from lockgate.gate.authors.service_object import ServiceObject
    from lockgate.store.protocol import Store, Transaction

HOLDS = 600.0
"""Seconds for which an answer holds. Until then nobody is asked again, whatever it was."""
_SETTING = "authors:"
_MOST = 400
"""Answers that are kept."""
_NOT_YET = "the service is being asked"
_PERSON = b"lockgate line"


class AuthorStanding(Record):
    """What somebody who wrote an object may do. It is told, and nothing is decided by it."""

    login: str
    permission: str
    """What the service says, or what a person says of a bot."""
    wrote: str
    """Which part of the object they wrote first."""

    @property
    def sentence(self) -> str:
        """All of it, for a person."""
        return f"{self.login}: {self.permission} ({self.wrote})"


class KnownObject(Record):
    """The stored facts of an object."""

    stranger: str
    """Why its words are a stranger's, in a few words; empty where they are not."""
    lines: frozenset[str] = frozenset()
    """The lines that people who are trusted wrote; where they come from the state, keyed hashes of them."""
    authors: tuple[AuthorStanding, ...] = ()
    """Who wrote it."""


class Trust(Record):
    """The authors that a person trusts: the configuration's ``trust``."""

    owners: frozenset[tuple[str, str]] = frozenset()
    """Host and owner, in lower case."""
    bots: frozenset[str] = frozenset()
    apis: Mapping[str, str] = {}
    labels: frozenset[str] = frozenset()
    reactions: frozenset[str] = frozenset()
    """With which somebody who may write endorses an object of a stranger."""

    def names(self, each: ServiceObject) -> bool:
        """Whether the owner of an object is named."""
        return (each.host, each.owner.lower()) in self.owners


def trust_of(configured: Mapping[str, Any] | None) -> Trust:
    """The trust of a configuration; nobody where look-ups are turned off."""
    if not configured or configured.get("lookups", True) in (False, "off"):
        return Trust()
    named = [("github.com/" + owner if "/" not in owner else owner).lower() for owner in configured.get("owners", ())]
    return Trust(
        frozenset((host, owner) for host, _, owner in (each.partition("/") for each in named)),
        frozenset(bot.lower() for bot in configured.get("bots", ())),
        configured.get("apis", {}),
        frozenset(configured.get("endorsed_by", {}).get("labels", ())),
        frozenset(configured.get("endorsed_by", {}).get("reactions", ())),
    )


def hash_line(key: bytes, line: str) -> str:
    """The keyed hash of a line: the state tells nobody what stands in an issue."""
    return str(blake2b(line.encode("utf-8", "replace"), key=key, person=_PERSON, digest_size=8).hexdigest())


def read_known(tx: Transaction, name: str, now: float) -> KnownObject | None:
    """What is known of an object; ``None`` where it has to be asked for."""
    kept = _read_cached(tx, name, now)
    if not kept:
        return None
    authors = tuple(AuthorStanding(**each) for each in kept.get("authors", ()))
    return KnownObject(str(kept["stranger"]), frozenset(kept.get("lines", ())), authors)


def _read_cached(tx: Transaction, name: str, now: float) -> dict[str, Any]:
    setting = sha256(name.encode("utf-8", "replace")).hexdigest()
    kept = unseal_setting(tx, chain_links.PURPOSE_AUTHORS, setting, tx.setting(_SETTING + setting), now)
    return kept if kept and 0 <= now - kept["at"] <= HOLDS else {}


def _keep(tx: Transaction, name: str, now: float, facts: Mapping[str, Any]) -> None:
    setting = sha256(name.encode("utf-8", "replace")).hexdigest()
    text = seal_setting(tx, chain_links.PURPOSE_AUTHORS, setting, {"at": now, **facts})
    tx.put_setting(_SETTING + setting, text)


def _claim(tx: Transaction, name: str, now: float) -> bool:
    """Claim an object to ask about; whether nobody else asks about it now, or has within ten minutes."""
    if _read_cached(tx, name, now):
        return False
    if len(drop_old(tx, chain_links.PURPOSE_AUTHORS, _SETTING, now)) >= _MOST:
        for setting in tx.settings(_SETTING):
            tx.put_setting(setting, None)
    _keep(tx, name, now, {"stranger": _NOT_YET})
    return True


class Lookup:
    """Asks services for a gate."""

    def __init__(
        self,
        store: Store,
        environ: Mapping[str, str],
        token: Callable[[str, Mapping[str, str], float], str] = token_for,
        clock: Callable[[], float] | None = None,
        gitlab_token: Callable[[str, Mapping[str, str], float], str] = gitlab_token_for,
    ) -> None:
        """Use a store and a log-in.

        Args:
            store: Keeps the answers.
            environ: The variables of whoever asks.
            token: Tells the log-in to a host.
            clock: The gate's, where it is not the store's.
            gitlab_token: Tells the log-in to a host of GitLab.
        """
        self._store, self._environ = store, environ
        self._tokens = {"github": token, "gitlab": gitlab_token}
        self._clock = clock or store.clock

    def ask(self, context: Context, objects: Sequence[ServiceObject], trust: Trust) -> None:
        """Look up who wrote some objects. An object without an answer counts as a stranger's.

        Args:
            context: The event's context.
            objects: Objects whose owners are named.
            trust: The authors that a person trusts.
        """
        until = time.monotonic() + SECONDS
        for each in objects:
            with self._store.transaction() as tx:
                if not _claim(tx, each.name, self._clock()):
                    continue
            self._look(context, each, trust, until)

    def _look(self, context: Context, each: ServiceObject, trust: Trust, until: float) -> None:
        api: ReadingApi | None = None
        try:
            address = api_of(each.host, trust.apis.get(each.host, ""), each.service)
            token = self._tokens[each.service](each.host, self._environ, until - time.monotonic())
            api = ReadingApi(address, token, until, each.service)
            find = self._find_gitlab_words if each.service == "gitlab" else self._find_words
            said = find(api, each, trust)
        except (UnansweredError, facts.FormError) as error:
            said = KnownObject(f"{each.host}: {error}")
        except (LookupError, TypeError, AttributeError):
            said = KnownObject(f"{each.host}: it answers other JSON")
        kept = sorted(hash_line(self._store.fleet_key, line) for line in said.lines)
        authors = [author._asdict() for author in said.authors]
        with self._store.transaction() as tx:
            now = self._clock()
            _keep(tx, each.name, now, {"stranger": said.stranger, "lines": kept, "authors": authors})
            told = {
                "object": each.name,
                "requests": api.asked if api else 0,
                "stranger": said.stranger,
                "written_by": [author.sentence for author in said.authors],
            }
            tx.append_audit(now, record.event_record(context, "authors", told))

    def _find_words(self, api: ReadingApi, each: ServiceObject, trust: Trust) -> KnownObject:
        """Why the words of an object are a stranger's, or all of its lines."""
        paths = paths_of(each)
        root = f"/repos/{quote(each.owner)}/{quote(each.repository)}"
        is_new = not self._knows(f"{each.host}{root}".lower())
        repository, *answers = [None] * (not is_new) + api.get_all([root] * is_new + paths)
        if is_new:
            self._note(f"{each.host}{root}".lower(), facts.owns(repository, each.owner, each.repository))
        if not self._knows(f"{each.host}{root}".lower()):
            return KnownObject("its repository has another owner")
        if each.part == "diff":
            texts = facts.texts_in(answers[:2], each.number)
            return self._judge(api, each, trust, root, texts, changes.diff_lines(*answers))
        if each.kind == "contents":
            return self._find_writers(api, each, trust, root, answers)
        if each.which:
            texts = facts.texts_in([[answers[0]], answers[1]], 0)
            return self._judge(api, each, trust, root, texts, changes.commit_lines(answers[0]))
        texts = facts.texts_in(answers, each.number)
        if each.kind != "commits":
            return self._judge(api, each, trust, root, texts)
        merged = api.get_all([f"{root}/commits/{facts.sha_of(text)}/pulls" for text in texts])
        return self._judge(api, each, trust, root, [*texts, *facts.texts_in(merged, 0)], changes.log_lines(texts))

    def _find_writers(
        self, api: ReadingApi, each: ServiceObject, trust: Trust, root: str, answers: Sequence[Any]
    ) -> KnownObject:
        """The same of a file: of all commits that changed it, with the pull requests by which they came."""
        content, history = answers
        ids = [facts.sha_of(commit) for commit in facts.texts_in([history], 0)]
        if not 0 < len(ids) <= changes.COMMITS:
            return KnownObject("not all of its commits are told")
        oldest, *merged = api.get_all([f"{root}/commits/{ids[-1]}", *(f"{root}/commits/{sha}/pulls" for sha in ids)])
        texts = facts.texts_in([history, *merged], 0)
        lines = changes.content_lines(content, each.which, history, oldest)
        return self._judge(api, each, trust, root, texts, lines)

    def _find_gitlab_words(self, api: ReadingApi, each: ServiceObject, trust: Trust) -> KnownObject:
        """The same of GitLab, where no bot can be named: project tokens change their names."""
        path = f"{each.owner}/{each.repository}"
        root = f"/projects/{quote(path, safe='')}"
        item = f"{root}/{each.kind}/{each.number}"
        project, told, notes = api.get_all([root, item, f"{item}/notes?per_page={facts.PAGE}"])
        if not gitlab_facts.owns(project, path):
            return KnownObject("its project is at another path")
        texts = gitlab_facts.texts_in(told, notes, each.number)
        authors = gitlab_facts.authors_of(texts)
        if len(authors) > facts.MOST_AUTHORS:
            return KnownObject("it has too many authors")
        named = [each for each in gitlab_facts.find_named(texts[0]) if each not in authors][: facts.MOST_AUTHORS]
        may, me = self._gitlab_standing(api, root, authors, named)
        standing = tuple(
            AuthorStanding(author.username, may.get(author.username) or "none", "a part of it") for author in authors
        )
        stranger = next((author.username for author in authors if not may.get(author.username)), "")
        if stranger:
            return KnownObject(f"{stranger} is nobody who may write to the repository", authors=standing)
        with self._store.reading() as tx:
            times = acts(tx)
        if times and is_within(gitlab_facts.times_of(texts, me), times):
            return KnownObject(f"{me} wrote when an agent could", authors=standing)
        return KnownObject("", gitlab_facts.lines_by(texts, frozenset(may)), standing)

    def _gitlab_standing(
        self,
        api: ReadingApi,
        root: str,
        authors: Sequence[gitlab_facts.GitlabUser],
        named: Sequence[gitlab_facts.GitlabUser],
    ) -> tuple[dict[str, str], str]:
        """What people may do in a project, by their names, and who is logged in. Authors that are bots may nothing."""
        asked = "&".join(f"user_ids[]={each.id}" for each in (*authors, *named))
        accounts = [f"/users/{author.id}" for author in authors]
        members, own, *users = api.get_all([f"{root}/members/all?per_page={facts.PAGE}&{asked}", "/user", *accounts])
        people = [author for author, user in zip(authors, users, strict=True) if gitlab_facts.is_person(user, author)]
        may = {each.username: gitlab_facts.role_of(members, each) for each in (*people, *named)}
        return {name: standing for name, standing in may.items() if standing}, gitlab_facts.user_of(own).username

    def _judge(
        self,
        api: ReadingApi,
        each: ServiceObject,
        trust: Trust,
        root: str,
        texts: Sequence[Mapping[str, Any]],
        more: frozenset[str] = frozenset(),
    ) -> KnownObject:
        authors = facts.authors_of(texts)
        people = [author.login for author in authors if not author.is_bot]
        named = [login for login in facts.find_named(texts) if login not in people]
        if len(people) > facts.MOST_AUTHORS:
            return KnownObject("it has too many authors")
        own, times = self._own_acts(api, each.host)
        able = self._able(api, f"{root}/collaborators", each.host, [*people, *named][: facts.MOST_AUTHORS])
        standing = tuple(self._find_standing(each, trust, root, author, texts) for author in authors)
        strangers = [author.login for author in authors if author.login not in (trust.bots if author.is_bot else able)]
        if own in people and is_within(facts.times_written_by(texts, own), times):
            strangers.append(own)
        if times and any(not facts.is_signed(text) or own in people for text in texts if "commit" in text):
            return KnownObject("an agent may have pushed commits as anybody", authors=standing)
        trusted = {*able, *trust.bots, each.owner.lower()}
        if not strangers:
            return KnownObject("", facts.lines_of(texts, trusted.__contains__) | more, standing)
        if endorser := self._endorser(api, each, trust, root, texts, own, times):
            standing += (AuthorStanding(endorser, "write", "endorses it as it is"),)
            return KnownObject("", facts.lines_of(texts, {*trusted, *strangers}.__contains__), standing)
        is_by_agent = strangers[0] == own and own in able
        because = "wrote when an agent could" if is_by_agent else "is nobody who may write to the repository"
        return KnownObject(f"{strangers[0]} {because}", authors=standing)

    def _find_standing(
        self,
        each: ServiceObject,
        trust: Trust,
        root: str,
        author: facts.TextAuthor,
        texts: Sequence[Mapping[str, Any]],
    ) -> AuthorStanding:
        """What somebody may do, as far as that was asked."""
        if author.is_bot:
            may = "a bot that is named" if author.login in trust.bots else "a bot that nobody names"
        else:
            with self._store.reading() as tx:
                kept = _read_cached(tx, f"{each.host}{root}/collaborators/{author.login}".lower(), self._clock())
            may = str(kept.get("permission", "not asked"))
        return AuthorStanding(author.login, may, facts.part_by(texts, author, each.number))

    def _endorser(
        self,
        api: ReadingApi,
        each: ServiceObject,
        trust: Trust,
        root: str,
        texts: Sequence[Mapping[str, Any]],
        own: str,
        times: Times,
    ) -> str:
        """Who may write and has endorsed an object as it is now; empty where nobody has."""
        if not each.number or not (trust.labels or trust.reactions):
            return ""
        item = f"{root}/issues/{each.number}"
        page = f"per_page={facts.PAGE}"
        events, reactions = api.get_all([f"{item}/events?{page}", f"{item}/reactions?{page}"])
        found = facts.endorsements(texts[0], events, reactions, trust.labels, trust.reactions)
        able = self._able(api, f"{root}/collaborators", each.host, list(dict.fromkeys(each.login for each in found)))
        counting = (
            said.login
            for said in found
            if said.login in able
            and facts.is_unchanged_since(texts, said.at)
            and not (said.login == own and is_within([said.at], times))
        )
        return next(counting, "")

    def _own_acts(self, api: ReadingApi, host: str) -> tuple[str, Times]:
        """The logged-in user, and when an agent with a label may have written as them; nobody where none could."""
        with self._store.reading() as tx:
            times = acts(tx)
            kept = _read_cached(tx, f"{host}/user", self._clock())
        if not times:
            return "", times
        login = kept.get("login")
        if login is None:
            login = facts.login_in(api.get_all(["/user"])[0])
            with self._store.transaction() as tx:
                _keep(tx, f"{host}/user", self._clock(), {"login": login})
        return str(login), times

    def _able(self, api: ReadingApi, root: str, host: str, people: Sequence[str]) -> frozenset[str]:
        """Those of some people who may write to the repository."""
        unknown = [login for login in people if self._find_known_answer(f"{host}{root}/{login}") is None]
        paths = [f"{root}/{quote(login)}/permission" for login in unknown]
        for login, answer in zip(unknown, api.get_all(paths), strict=True):
            permission = facts.permission_of(answer, login)
            self._note(f"{host}{root}/{login}", permission in facts.WRITES, {"permission": permission})
        return frozenset(login for login in people if self._knows(f"{host}{root}/{login}"))

    def _knows(self, name: str) -> bool:
        return bool(self._find_known_answer(name))

    def _find_known_answer(self, name: str) -> bool | None:
        with self._store.reading() as tx:
            kept = _read_cached(tx, name.lower(), self._clock())
        return bool(kept["is_so"]) if kept else None

    def _note(self, name: str, is_so: bool, told: Mapping[str, str] = {}) -> None:
        with self._store.transaction() as tx:
            _keep(tx, name.lower(), self._clock(), {"is_so": is_so, **told})


def paths_of(each: ServiceObject) -> list[str]:
    """The paths of the API that tell an object, and what was said about it.

    Source: github/rest-api-description, "repos/get-commit", "repos/get-content", "issues/get", "issues/list-comments",
    "pulls/get", "pulls/list-reviews", "pulls/list-review-comments", "issues/list-for-repo", "pulls/list",
    "pulls/list-commits", "pulls/list-files", "repos/list-commits"
    """
    root = f"/repos/{quote(each.owner)}/{quote(each.repository)}"
    page = f"per_page={facts.PAGE}"
    if each.kind == "contents":
        ref = f"?ref={quote(each.ref, safe='')}" * bool(each.ref)
        at = f"&sha={quote(each.ref, safe='')}" * bool(each.ref)
        history = f"{root}/commits?path={quote(each.which, safe='')}{at}&per_page={changes.COMMITS + 1}"
        return [f"{root}/contents/{quote(each.which)}{ref}", history]
    if each.kind == "commits" and each.which:
        return [f"{root}/commits/{each.which}", f"{root}/commits/{each.which}/pulls"]
    if each.kind == "commits":
        return [f"{root}/commits?per_page={changes.COMMITS}"]
    if not each.number:
        return [f"{root}/{each.kind}?state=all&{page}"]
    own = f"{root}/{each.kind}/{each.number}"
    if each.part == "diff":
        return [own, f"{own}/commits?{page}", f"{own}/files?{page}"]
    if not each.part:
        return [own]
    talk = [f"{root}/issues/{each.number}/comments?{page}"]
    if each.kind == "pulls":
        talk += [f"{own}/reviews?{page}", f"{own}/comments?{page}"]
    return [own, *talk]
