"""Determines who wrote the words of a CI event, by the table ``events.yaml``. Pure.

Only what the service says for sure counts, and never what stands in a text. An event that the table does not know, or
whose shape it does not tell, is a stranger's.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lockgate.core.lazy import lazy_re

GITHUB_SHA = "GITHUB_SHA"
FORK = "a pull request from a fork"
"""What is said of a change that somebody proposes who need not be able to write."""
_COMMON = {"action", "enterprise", "installation", "organization", "repository", "sender"}
"""What any event may hold: nobody's words but those of who owns the repository."""
_SHA = lazy_re(r"(?!0+\Z)(?:[0-9a-f]{40}|[0-9a-f]{64})")
"""An object of git. One of zeros stands for none."""
_LOGIN = lazy_re(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98})(?:\[bot\])?")
_NAME = lazy_re(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")
_MOST_COMMITS = 2048
"""Commits in one event. The service leaves out the others (GitHub's description of the event push)."""


class JobFacts(NamedTuple):
    """The facts of a job that are known for sure."""

    event: str
    """The event's name; empty where it is none of the table's."""
    repository: str
    """``OWNER/NAME``; empty where the event does not say."""
    number: int
    """The number of the issue, pull request or discussion; 0 where there is none."""
    base: str
    """The commit whose configuration and instructions count; empty where none is known."""
    sender: str
    """The user who caused the event; empty where nobody did, or it does not say."""
    strangers: tuple[str, ...]
    """The authors in its prompt of whom nothing proves that they can write here: ``issue 7 by octocat``."""


def facts_of(name: str, event: object, sha: str, bots: Collection[str] = ()) -> JobFacts:
    """Read an event.

    Args:
        name: The event's name, as the service gives it.
        event: The event file's value.
        sha: The commit that the service names for the job (``GITHUB_SHA``).
        bots: Log-ins of bots that a person trusts as one who can write: ``renovate[bot]``.
    """
    row = _table().get(name)
    if row is None or not isinstance(event, Mapping):
        known = "an event that is not known" if row is None else "an event file that holds no event"
        return JobFacts("", "", 0, "", "", (known,))
    repository = event.get("repository")
    strangers = tuple(dict.fromkeys(_strangers(row, event, frozenset(map(str.casefold, bots)))))
    base = row.get("base_if", row["base"]) if strangers else row["base"]
    commit = sha if base == GITHUB_SHA else _value_at(event, base)
    number = _value_at(event, row.get("number", ""))
    return JobFacts(
        name,
        _match(_NAME, repository.get("full_name") if isinstance(repository, Mapping) else None),
        number if type(number) is int and number > 0 else 0,
        _match(_SHA, commit),
        _login(event.get("sender")),
        strangers,
    )


def is_commit(text: str) -> bool:
    """Whether a text can name a commit, and nothing else."""
    return bool(_SHA.fullmatch(text))


def _table() -> Any:
    return json.loads(Path(__file__).with_name("events.json").read_bytes())


def _strangers(row: Mapping[str, Any], event: Mapping[str, Any], bots: frozenset[str]) -> Iterator[str]:
    """The authors who may be strangers."""
    more = set(event) - _COMMON - {*row["words"], *row["facts"]}
    if more:
        yield "fields of the event whose author is not known"
    if "head" in row and not _is_own(event, row["head"]):
        yield FORK
    if _value_at(event, "issue.pull_request") is not None:
        yield "a pull request whose branch the event does not tell"
    if any(_value_at(event, path) != 0 or type(_value_at(event, path)) is not int for path in row.get("alone", ())):
        yield "a thread whose other authors the event does not tell"
    if row["writers"] == "sender" and not _is_person(event.get("sender")) and not _is_named(event.get("sender"), bots):
        yield f"an event that {_login(event.get('sender')) or 'somebody'} caused"
    for what in row["words"]:
        if not _is_by_writer(event, event.get(what), bots):
            by = _login(_value_at(event, f"{what}.user")) or "somebody"
            number = _value_at(event, f"{what}.number")
            numbered = f" {number}" if type(number) is int else ""
            yield f"{what.replace('_', ' ')}{numbered} by {by}"
    if row.get("commits"):
        yield from _foreign_commits(event)


def _is_by_writer(event: Mapping[str, Any], words: object, bots: frozenset[str]) -> bool:
    """Whether an object's words are those of somebody who can write to the repository, as far as the event proves it.

    The owner of a repository is one person. In an organization's nobody is, and the association of its members says
    nothing of what they may do.
    """
    if not isinstance(words, Mapping):
        return False
    app = words.get("performed_via_github_app")
    if app is not None and not _is_named({"login": f"{_value_at(app, 'slug')}[bot]", "type": "Bot"}, bots):
        return False
    user = words.get("user")
    if _is_named(user, bots):
        return True
    owner = _value_at(event, "repository.owner")
    return (
        _is_person(user)
        and _is_person(owner)
        and _value_at(words, "user.id") == _value_at(event, "repository.owner.id")
        and words.get("author_association") == "OWNER"
    )


def _foreign_commits(event: Mapping[str, Any]) -> Iterator[str]:
    """Which of the commits that a push brings are not its sender's own."""
    sender, commits = _login(event.get("sender")), event.get("commits")
    if not isinstance(commits, list) or len(commits) >= _MOST_COMMITS or event.get("deleted") is True:
        yield "a push whose commits are not all told"
        return
    if not sender or _value_at(event, "pusher.name") != sender:
        yield f"a push that {sender or 'somebody'} did not make"
    newest = event.get("head_commit")
    for commit in (*commits, newest):
        said = [_value_at(commit, f"{who}.username") for who in ("author", "committer")]
        if others := [who for who in said if who != sender]:
            named = sorted(_match(_LOGIN, who) or "somebody" for who in others)
            yield f"a commit by {named[0]}"


def _is_own(event: Mapping[str, Any], what: str) -> bool:
    """Whether a change comes from the repository itself."""
    ids = [_value_at(event, path) for path in (f"{what}.head.repo.id", f"{what}.base.repo.id", "repository.id")]
    return all(type(one) is int and one == ids[0] for one in ids)


def _is_person(user: object) -> bool:
    return bool(_login(user)) and _value_at(user, "type") == "User" and type(_value_at(user, "id")) is int


def _is_named(user: object, bots: frozenset[str]) -> bool:
    name = _login(user).casefold()
    return bool(name) and _value_at(user, "type") == "Bot" and name in bots


def _login(user: object) -> str:
    return _match(_LOGIN, _value_at(user, "login"))


def _match(form: Any, value: object) -> str:
    return value if isinstance(value, str) and form.fullmatch(value) else ""


def _value_at(value: object, path: str) -> object:
    """What stands at a path of names; ``None`` where nothing does."""
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
