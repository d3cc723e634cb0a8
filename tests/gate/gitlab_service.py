"""A stand-in of GitLab's API, for :func:`github_service.serving`: issues, merge requests, notes, and who may write.

The forms of its answers are those of https://docs.gitlab.com/api/issues/, .../notes/, .../members/ and .../users/. Only
fields that matter are there.
"""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

AT = "2026-11-20T10:00:00.120Z"
PEOPLE = {"ann": 1, "bob": 2, "tim": 3, "eve": 4, "project_7_bot_ab12": 5}


def user(name: str, **more: Any) -> dict[str, Any]:
    number = PEOPLE.get(name, 99)
    return {"id": number, "username": name, "name": name.title(), "state": "active", "locked": False} | more


def issue(by: str = "ann", body: str = "It was green.", **more: Any) -> dict[str, Any]:
    return {
        "id": 700,
        "iid": 7,
        "project_id": 70,
        "title": "The button is blue",
        "description": body,
        "state": "opened",
        "created_at": AT,
        "updated_at": AT,
        "labels": ["bug"],
        "milestone": None,
        "assignees": [user("bob")],
        "author": user(by),
        "type": "ISSUE",
        "user_notes_count": 1,
        "issue_type": "issue",
        "web_url": "https://gitlab.com/my-org/web/app/-/issues/7",
    } | more


def note(by: str, body: str, **more: Any) -> dict[str, Any]:
    written = {"id": 11, "body": body, "author": user(by), "created_at": AT, "updated_at": AT, "system": False}
    return written | {"noteable_type": "Issue", "internal": False} | more


class GitLab:
    """What the service holds, and what it was asked."""

    def __init__(self) -> None:
        self.project = "my-org/web/app"
        self.item = issue()
        self.notes: list[Any] = []
        self.levels = {"ann": 30, "bob": 40, "tim": 20, "project_7_bot_ab12": 40}
        self.members: list[Any] | None = None
        self.bots = {"project_7_bot_ab12"}
        self.person = "ann"
        self.asked: list[str] = []
        self.address = ""
        self.answer: Callable[[BaseHTTPRequestHandler], bool] = lambda _: False

    def find(self, path: str) -> Any:
        """What a path tells; ``None`` where there is nothing."""
        match path.strip("/").split("/"):
            case ["user"]:
                return user(self.person)
            case ["users", number]:
                name = next((name for name, known in PEOPLE.items() if str(known) == number), "")
                return user(name, bot=name in self.bots) if name else None
            case ["projects", "my-org%2Fweb%2Fapp"]:
                return {"id": 70, "path_with_namespace": self.project}
            case ["projects", "my-org%2Fweb%2Fapp", "issues" | "merge_requests", "7"]:
                return self.item
            case ["projects", "my-org%2Fweb%2Fapp", "issues" | "merge_requests", "7", "notes"]:
                return self.notes
            case ["projects", "my-org%2Fweb%2Fapp", "members", "all"]:
                if self.members is not None:
                    return self.members
                return [user(name, access_level=level) for name, level in self.levels.items()]
        return None
