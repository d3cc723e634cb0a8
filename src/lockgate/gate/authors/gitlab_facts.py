"""Reads GitLab's answers about an issue or a merge request: who wrote it, who changed it, and in which lines. Pure.

GitLab lets whoever may report change title and description of an issue, and tells of it only in notes of its own. So
their authors count as authors. Names of labels and milestones are nobody's: who made them is not told.
Source: https://docs.gitlab.com/api/issues/, .../merge_requests/, .../notes/, .../members/, .../users/
"""

from __future__ import annotations

import re

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.authors.facts import PAGE, FormError, lines_of, moments_of
from lockgate.gate.authors.words import normal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

DEVELOPER = 30
"""The least level of access with which somebody may push. Source: https://docs.gitlab.com/api/members/, "Roles" """
_ROLES = {30: "developer", 40: "maintainer", 50: "owner", 60: "administrator"}
_USERNAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_NOBODYS = ("labels", "milestone", "epic", "iteration")
_ALWAYS = ("comments/notes:", "comments / notes", "there are no comments on this issue.")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")


class GitlabUser(Record):
    """Somebody with an account."""

    id: int
    username: str
    """In lower case."""


def user_of(said: Any) -> GitlabUser:
    """The user that an answer names. Raises :class:`FormError`."""
    number, name = (said.get("id"), said.get("username")) if isinstance(said, dict) else (None, None)
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise FormError("it does not say who wrote a text")
    if not isinstance(name, str) or not _USERNAME.fullmatch(name):
        raise FormError("it does not say who wrote a text")
    return GitlabUser(number, name.lower())


def owns(project: Any, path: str) -> bool:
    """Whether an answer about a project is about the one at this path."""
    full = project.get("path_with_namespace") if isinstance(project, dict) else None
    return isinstance(full, str) and full.lower() == path.lower()


def texts_in(item: Any, notes: Any, number: int) -> tuple[Mapping[str, Any], ...]:
    """The object and what was said about it, with the service's own notes of changes.

    Raises:
        FormError: The answers are of another form, about something else, or there may be more.
    """
    if not isinstance(item, dict) or item.get("iid") != number or not isinstance(notes, list):
        raise FormError("it answers other JSON")
    if len(notes) >= PAGE:
        raise FormError("it has too many notes")
    if not all(isinstance(note, dict) and isinstance(note.get("system"), bool) for note in notes):
        raise FormError("it answers other JSON")
    return ({name: value for name, value in item.items() if name not in _NOBODYS}, *notes)


def authors_of(texts: Sequence[Mapping[str, Any]]) -> tuple[GitlabUser, ...]:
    """Everybody who wrote or changed one of the texts, each once. Raises :class:`FormError`."""
    return tuple(dict.fromkeys(user_of(text.get("author")) for text in texts))


def find_named(item: Mapping[str, Any]) -> tuple[GitlabUser, ...]:
    """The people whom the service itself names in an object, as assignees are; each once."""
    found = [each for value in item.values() for each in (value if isinstance(value, list) else [value])]
    return tuple(dict.fromkeys(user_of(each) for each in found if isinstance(each, dict) and "username" in each))


def role_of(members: Any, author: GitlabUser) -> str:
    """What somebody may do who may write to a project; empty where they may not.

    Args:
        members: The members with these numbers, with those that are inherited.
        author: Somebody.
    """
    if not isinstance(members, list):
        raise FormError("it does not say what somebody may do")
    levels = [
        each.get("access_level")
        for each in members
        if isinstance(each, dict) and each.get("state") == "active" and user_of(each) == author
    ]
    return next((_ROLES[level] for level in levels if level in _ROLES), "")


def is_person(user: Any, author: GitlabUser) -> bool:
    """Whether an answer about an account says that it is a person's."""
    return user_of(user) == author and user.get("bot") is False and user.get("state") == "active"


def times_of(texts: Sequence[Mapping[str, Any]], username: str) -> list[float]:
    """When somebody wrote, or changed, what they wrote of some texts. Raises :class:`FormError`."""
    return [at for text in texts if user_of(text.get("author")).username == username for at in moments_of(text)]


def lines_by(texts: Sequence[Mapping[str, Any]], trusted: frozenset[str]) -> frozenset[str]:
    """All lines in texts that people who are trusted wrote, and the heads that ``glab`` writes above notes."""
    written = [text for text in texts if text.get("system") is not True]
    heads = {normal(f"{user_of(text['author']).username} commented {_client_time(text)}") for text in written[1:]}
    return lines_of(written, trusted.__contains__, "username") | heads | {*_ALWAYS}


def _client_time(text: Mapping[str, Any]) -> str:
    """The moment of a note as the client writes it."""
    match = _MOMENT.fullmatch(str(text.get("created_at")))
    if match is None:
        raise FormError("it does not say when a text was written")
    fraction = (match[3] or "").rstrip("0")
    return f"{match[1]} {match[2]}{'.' * bool(fraction)}{fraction} +0000 UTC"
