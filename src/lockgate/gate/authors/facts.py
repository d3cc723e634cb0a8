"""Reads a service's answers about an object: who wrote it, and in which lines. Pure."""

from __future__ import annotations

import re

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.authors.words import MOST_LINES, normal, own_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

MOST_AUTHORS = 10
PAGE = 100
"""Comments and objects that are asked for; what comes after them is nobody's."""
_LOG_IN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,98}(\[bot\])?")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NOT_THEIRS = frozenset({"diff_hunk", "patch"})
"""Fields that hold lines of files."""
WRITES = frozenset({"write", "admin"})
PERMISSIONS = WRITES | {"read", "none"}
"""What ``permission`` says of who may push; ``maintain`` is told as ``write``, ``triage`` as ``read``.

Source: github/rest-api-description, "Get repository permissions for a user"
"""


class TextAuthor(Record):
    """The author of a text, as the service tells."""

    login: str
    is_bot: bool = False


class FormError(ValueError):
    """The service answers something else than its documentation says."""


def authors_of(texts: Sequence[Mapping[str, Any]]) -> tuple[TextAuthor, ...]:
    """Everybody who wrote one of some texts, each once.

    Raises:
        FormError: Of one it is not said.
    """
    return tuple(dict.fromkeys(author for text in texts for author in _authors(text)))


def find_named(texts: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The log-ins of all people who are named in texts by the service itself, as assignees are; each once."""
    found: dict[str, None] = {}
    stack: list[Any] = list(texts)
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += value
        elif isinstance(value, dict):
            stack += value.values()
            login = value.get("login")
            if isinstance(login, str) and _LOG_IN.fullmatch(login) and value.get("type") == "User":
                found[login.lower()] = None
    return tuple(found)


def _authors(text: Mapping[str, Any]) -> list[TextAuthor]:
    if "commit" in text:
        # What is merged on the service's page is committed, and signed, by the service itself.
        found = [_author(text.get("author")), _author(text.get("committer"))]
        return found[:1] if found[1].login == "web-flow" and is_signed(text) else found
    user, app = text.get("user"), text.get("performed_via_github_app")
    found = [_author(user)]
    if app is not None:
        # With a member's token an app speaks, and not the member.
        slug = app.get("slug") if isinstance(app, dict) else None
        found.append(_author({"login": f"{slug}[bot]", "type": "Bot"}))
    return found


def is_signed(commit: Mapping[str, Any]) -> bool:
    """Whether the service says that a commit has the signature of whoever committed it."""
    commit = commit["commit"] if isinstance(commit.get("commit"), dict) else {}
    return isinstance(said := commit.get("verification"), dict) and said.get("verified") is True


def _author(user: Any) -> TextAuthor:
    login, kind = (user.get("login"), user.get("type")) if isinstance(user, dict) else (None, None)
    if not isinstance(login, str) or not _LOG_IN.fullmatch(login) or kind not in ("User", "Bot"):
        raise FormError("it does not say who wrote a text")
    return TextAuthor(login.lower(), kind == "Bot" or login.endswith("[bot]"))


def texts_in(answers: Sequence[Any], number: int) -> list[Mapping[str, Any]]:
    """The texts in answers about one object or about a list of them, each with its author.

    Args:
        answers: What the service says of the object, then the lists of what was said about it.
        number: The object's number; 0 for a list.

    Raises:
        FormError: The answers are of another form, or about something else.
    """
    first = answers[:1] if number else []
    lists = answers[len(first) :]
    if not all(isinstance(each, list) for each in lists) or not all(isinstance(each, dict) for each in first):
        raise FormError("it answers other JSON")
    texts = [*first, *(text for each in lists for text in each)]
    if not all(isinstance(text, dict) for text in texts) or any(text.get("number") != number for text in first):
        raise FormError("it answers other JSON")
    return texts


def lines_of(
    texts: Sequence[Mapping[str, Any]], is_trusted: Callable[[str], bool], name_field: str = "login"
) -> frozenset[str]:
    """All lines in texts that people who are trusted wrote, as :func:`lockgate.gate.authors.words.normal` has them.

    What somebody quotes is not theirs, and a name of somebody who is not trusted is no line of theirs either.

    Args:
        texts: What the service says.
        is_trusted: Whether somebody is, by their name in lower case.
        name_field: The field of a user that holds it.

    Raises:
        FormError: There are too many.
    """
    found: set[str] = set()
    stack: list[Any] = list(texts)
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += value
        elif isinstance(value, dict):
            if _is_of_a_stranger(value, is_trusted, name_field):
                continue
            found.update(map(normal, value))
            stack += (part for name, part in value.items() if name not in _NOT_THEIRS)
        elif isinstance(value, str):
            found.update(map(normal, own_lines(value)))
    if len(found) > MOST_LINES:
        raise FormError("it has too many lines")
    return frozenset(found)


def _is_of_a_stranger(value: Mapping[str, Any], is_trusted: Callable[[str], bool], name_field: str) -> bool:
    people = [value, *(value.get(role) for role in ("user", "creator", "owner", "author"))]
    named = [each[name_field] for each in people if isinstance(each, dict) and name_field in each]
    return not all(isinstance(login, str) and is_trusted(login.lower()) for login in named)


def owns(repository: Any, host_owner: str, name: str) -> bool:
    """Whether an answer about a repository is about this one, and says that it has this owner."""
    owner = repository.get("owner") if isinstance(repository, dict) else None
    login = owner.get("login") if isinstance(owner, dict) else None
    full = repository.get("full_name") if isinstance(repository, dict) else None
    return (
        isinstance(login, str)
        and isinstance(full, str)
        and login.lower() == host_owner.lower()
        and full.lower() == f"{host_owner}/{name}".lower()
    )


def moment(text: Any) -> float:
    """A moment of the service, in seconds since the epoch. Raises :class:`FormError`."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) and text.endswith("Z") else 1 / 0
    except (ValueError, ZeroDivisionError):
        raise FormError("it does not say when a text was written") from None


def moments_of(text: Mapping[str, Any]) -> list[float]:
    """When a text was written and last changed, as far as that is said."""
    said = [text[name] for name in ("created_at", "updated_at", "submitted_at") if text.get(name) is not None]
    return [moment(each) for each in said] or [moment(None)]


def times_written_by(texts: Sequence[Mapping[str, Any]], login: str) -> list[float]:
    """When somebody wrote, or changed, what they wrote of some texts."""
    own = [text for text in texts if "commit" not in text and any(each.login == login for each in _authors(text))]
    return [at for text in own for at in moments_of(text)]


class Endorsement(Record):
    """Somebody's label, or reaction, at an object."""

    login: str
    at: float


def endorsements(
    item: Mapping[str, Any], events: Any, reactions: Any, labels: frozenset[str], signs: frozenset[str]
) -> tuple[Endorsement, ...]:
    """The labels and reactions at an object that can endorse it, whoever set them.

    Args:
        item: The object.
        events: Its events, of which each tells whether a label was set or removed.
        reactions: Its reactions.
        labels: Which labels count.
        signs: Which reactions count.

    Raises:
        FormError: One of them is of another form, or there may be more.
    """
    if not isinstance(events, list) or not isinstance(reactions, list) or max(len(events), len(reactions)) >= PAGE:
        raise FormError("it has too many events, or answers other JSON")
    present = {each.get("name") for each in item.get("labels", ()) if isinstance(each, dict)}
    last: dict[str, Mapping[str, Any]] = {}
    for event in events:
        if event.get("event") in ("labeled", "unlabeled"):
            last[event["label"]["name"]] = event
    set_now = [event for name, event in last.items() if name in present & labels and event["event"] == "labeled"]
    by_label = [(event.get("actor"), event) for event in set_now if event.get("performed_via_github_app") is None]
    by_sign = [(each.get("user"), each) for each in reactions if each.get("content") in signs]
    found = [(_author(who), moment(what.get("created_at"))) for who, what in (*by_label, *by_sign)]
    return tuple(Endorsement(author.login, at) for author, at in found if not author.is_bot)


def is_unchanged_since(texts: Sequence[Mapping[str, Any]], at: float) -> bool:
    """Whether no text was written or changed after a moment, as far as each of them says when it was changed."""
    return all("updated_at" in text and max(moments_of(text)) <= at for text in texts)


def login_in(user: Any) -> str:
    """The log-in of whoever is logged in. Raises :class:`FormError`."""
    return _author(user).login


def permission_of(answer: Any, login: str) -> str:
    """What an answer about somebody's permission says that they may do: one of :data:`PERMISSIONS`.

    Raises:
        FormError: It is of another form, or about somebody else.
    """
    user = answer.get("user") if isinstance(answer, dict) else None
    said = answer.get("permission") if isinstance(answer, dict) else None
    if not isinstance(user, dict) or str(user.get("login")).lower() != login or said not in PERMISSIONS:
        raise FormError("it does not say what somebody may do")
    return str(said)


def part_by(texts: Sequence[Mapping[str, Any]], author: TextAuthor, number: int) -> str:
    """Which text somebody wrote first, in the service's own numbers.

    Args:
        texts: All of them, as :func:`texts_in` has them.
        author: One of their authors.
        number: The object's number; 0 for a list of objects.
    """
    place, text = next((place, text) for place, text in enumerate(texts) if author in _authors(text))
    if not number and "commit" not in text:
        return f"number {_plain_number(text.get('number'))}"
    if "commit" in text:
        return f"commit {sha_of(text)[:10]}"
    if not place:
        return "the first text"
    return f"{'review' if 'submitted_at' in text else 'comment'} {_plain_number(text.get('id'))}"


def _plain_number(value: Any) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1e18 else "?"


def sha_of(commit: Any) -> str:
    """The id of a commit. Raises :class:`FormError`."""
    found = commit.get("sha") if isinstance(commit, dict) else None
    if not isinstance(found, str) or not _SHA.fullmatch(found):
        raise FormError("it does not say which commit it is")
    return found
