"""A stand-in of GitHub's API on loopback, which answers GET alone: issues, pull requests, and who may write.

The forms of its answers are those of github/rest-api-description ("repos/get", "issues/get", "issues/list-comments",
"pulls/get", "pulls/list-commits", "pulls/list-files", "pulls/list-reviews", "repos/list-commits",
"repos/list-pull-requests-associated-with-commit", "repos/get-collaborator-permission-level") and of octokit/webhooks,
payload-examples/api.github.com/issue_comment/created.payload.json. Only fields that matter are there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

TOKEN = "gho_0123456789abcdefghij"
AT = "2026-11-20T10:00:00Z"
LATER = "2026-11-21T10:00:00Z"


def user(login: str) -> dict[str, Any]:
    kind = "Bot" if login.endswith("[bot]") else "User"
    return {
        "login": login,
        "id": 7,
        "node_id": f"U_{login}",
        "type": kind,
        "url": f"https://api.github.com/users/{login}",
    }


def issue(
    number: int = 7, by: str = "ann", title: str = "The button is blue", body: str = "It was green.", **more: Any
) -> dict[str, Any]:
    return {
        "url": f"https://api.github.com/repos/my-org/app/issues/{number}",
        "html_url": f"https://github.com/my-org/app/issues/{number}",
        "number": number,
        "title": title,
        "user": user(by),
        "labels": [{"id": 1, "name": "bug", "color": "d73a4a", "description": "Something is broken"}],
        "state": "open",
        "locked": False,
        "assignees": [user("bob")],
        "milestone": {"title": "v1.0", "description": "The first one", "creator": user("ann")},
        "comments": 1,
        "created_at": AT,
        "updated_at": AT,
        "author_association": "MEMBER",
        "performed_via_github_app": None,
        "body": body,
    } | more


def comment(by: str, body: str, **more: Any) -> dict[str, Any]:
    return {
        "id": 11,
        "user": user(by),
        "created_at": AT,
        "updated_at": AT,
        "author_association": "OWNER",  # whatever it says: it counts for nothing
        "performed_via_github_app": None,
        "body": body,
    } | more


SHA = "a" * 40


def commit(
    by: str = "ann", message: str = "Make it blue", sha: str = SHA, signed: bool = False, **more: Any
) -> dict[str, Any]:
    who = {"name": by.title(), "email": f"{by}@my-org.example", "date": AT}
    verification = {"verified": signed, "reason": "valid" if signed else "unsigned", "signature": None, "payload": None}
    return {
        "sha": sha,
        "commit": {"author": who, "committer": who, "message": message, "verification": verification},
        "author": user(by),
        "committer": user(by),
        "parents": [{"sha": "b" * 40}],
    } | more


def pull(by: str = "ann", fork: str = "", **more: Any) -> dict[str, Any]:
    head, base = {"full_name": fork or "my-org/app"}, {"full_name": "my-org/app"}
    return issue(by=by, commits=1, changed_files=1, head={"repo": head}, base={"repo": base}) | more


def changed(
    filename: str = "src/button.py", patch: str = "@@ -1 +1 @@\n-GREEN = 1\n+BLUE = 1", **more: Any
) -> dict[str, Any]:
    return {"sha": "c" * 40, "filename": filename, "status": "modified", "additions": 1, "patch": patch} | more


class GitHub:
    """What the service holds, and what it was asked."""

    def __init__(self) -> None:
        self.repositories = {"my-org/app": "my-org", "me/own": "me", "evil/private": "evil"}
        self.permissions = {"ann": "write", "bob": "admin", "tim": "read", "eve": "none", "mallory": "read"}
        self.issues: dict[str, dict[str, Any]] = {"my-org/app/7": issue()}
        self.comments: dict[str, list[dict[str, Any]]] = {}
        self.reviews: dict[str, list[dict[str, Any]]] = {}
        self.events: dict[str, list[Any]] = {}
        self.reactions: dict[str, list[Any]] = {}
        self.commits: dict[str, list[Any]] = {}
        """Of a repository, and of a pull request."""
        self.merged: dict[str, list[Any]] = {}
        """The pull requests by which a commit came."""
        self.files: dict[str, list[Any]] = {}
        self.single: dict[str, Any] = {}
        """One commit, by its id."""
        self.contents: dict[str, Any] = {}
        """One file, by its path."""
        self.person = "ann"
        """Who is logged in."""
        self.asked: list[str] = []
        self.address = ""
        self.answer: Callable[[BaseHTTPRequestHandler], bool] = lambda _: False
        """Answers in the place of the service, where it gives true."""

    def find(self, path: str) -> Any:
        """What a path tells; ``None`` where there is nothing."""
        match path.strip("/").split("/"):
            case ["repos", _, _, "commits", sha]:
                return self.single.get(sha)
            case ["repos", _, _, "contents", *rest]:
                return self.contents.get("/".join(rest))
        return self._find_object(path)

    def _find_object(self, path: str) -> Any:
        match path.strip("/").split("/"):
            case ["user"]:
                return user(self.person)
            case ["repos", owner, name]:
                full = f"{owner}/{name}"
                return self.repositories.get(full) and {
                    "full_name": full,
                    "owner": user(self.repositories[full]),
                    "private": True,
                }
            case ["repos", _, _, "collaborators", login, "permission"]:
                said = self.permissions.get(login, "none")
                return {"permission": said, "role_name": said, "user": user(login)}
            case ["repos", owner, name, "issues" | "pulls"]:
                return [each for key, each in self.issues.items() if key.startswith(f"{owner}/{name}/")]
            case ["repos", owner, name, "issues" | "pulls", number]:
                return self.issues.get(f"{owner}/{name}/{number}")
            case ["repos", owner, name, "issues", number, "events" | "reactions" as kind]:
                return (self.events if kind == "events" else self.reactions).get(f"{owner}/{name}/{number}", [])
            case ["repos", owner, name, "issues", number, "comments"]:
                return self.comments.get(f"{owner}/{name}/{number}", [])
            case ["repos", owner, name, "commits"]:
                return self.commits.get(f"{owner}/{name}", [])
            case ["repos", _, _, "commits", sha, "pulls"]:
                return self.merged.get(sha, [])
            case ["repos", owner, name, "pulls", number, "commits" | "files" as kind]:
                return (self.commits if kind == "commits" else self.files).get(f"{owner}/{name}/{number}", [])
            case ["repos", owner, name, "pulls", number, "comments" | "reviews"]:
                return self.reviews.get(f"{owner}/{name}/{number}", [])
        return None


@contextmanager
def serving(service: Any = None) -> Iterator[Any]:
    """A service, as long as the block lasts: GitHub, if no other one is given."""
    held = service or GitHub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            held.asked.append(self.path)
            if held.answer(self):
                return
            is_known = self.headers["Authorization"] == f"Bearer {TOKEN}"
            found = held.find(urlsplit(self.path).path) if is_known else {}
            self.say(401 if not is_known else 200 if found is not None else 404, found)

        def say(self, status: int, value: Any, kind: str = "application/json; charset=utf-8", **headers: str) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for name, text in headers.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who asked may be gone by then
    held.address = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield held
    finally:
        server.shutdown()
        server.server_close()


def slowly(seconds: float) -> Callable[[BaseHTTPRequestHandler], bool]:
    """An answer that does not come in time."""

    def wait(handler: BaseHTTPRequestHandler) -> bool:
        time.sleep(seconds)
        return False

    return wait
