"""What the service says of commits, and of what a pull request changes. A function of its answers alone.

The author of a commit is a claim: anybody can write any address. So where a commit came by a pull request, it is also
the words of whoever opened that. Source: github/rest-api-description, "repos/list-commits",
"repos/list-pull-requests-associated-with-commit", "pulls/list-files"
"""

from __future__ import annotations

import re
from base64 import b64decode

from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.authors.facts import PAGE, FormError, lines_of, sha_of
from lockgate.gate.authors.words import MOST_LINES, normal, own_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

COMMITS = 10
"""Commits of a repository that are asked for. Those before them are nobody's."""
_ALWAYS = ("--- /dev/null", "+++ /dev/null", "\\ No newline at end of file")
_MADE_BY_OTHERS = re.compile(
    r"(?:^|/)(?:vendor|vendored|third[_-]party|node_modules|bower_components|dist|generated)/"
    r"|[.-]min\.(?:js|css)$|(?:^|/)(?:[^/]*[.-]lock(?:\.[a-z]+)?|go\.sum|npm-shrinkwrap\.json)$|[._]pb2?\.[a-z]+$",
    re.I,
)
"""Paths of files that whoever commits them has not written."""


def log_lines(commits: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The lines that ``git log`` writes of commits, beside those of their messages."""
    found = set()
    for each in commits:
        if "commit" in each:
            by = each["commit"]["author"]
            found |= {f"commit {sha_of(each)}", f"Author: {by['name']} <{by['email']}>"}
            parents = " ".join(sha_of(parent)[:7] for parent in each["parents"])
            found.add(f"Merge: {parents}")
    return frozenset(map(normal, found))


def diff_lines(pull: Mapping[str, Any], commits: Sequence[Any], files: Sequence[Any]) -> frozenset[str]:
    """The lines of what a pull request changes.

    Args:
        pull: What the service says of it.
        commits: All of its commits.
        files: All of its files, with their patches.

    Raises:
        FormError: It comes from elsewhere, or there is more of it.
    """
    head, base = ((pull[side]["repo"] or {}).get("full_name") for side in ("head", "base"))
    if not head or head != base:
        raise FormError("it comes from a fork")
    if len(commits) != pull["commits"] or len(files) != pull["changed_files"] or max(len(commits), len(files)) > PAGE:
        raise FormError("it changes too much")
    return _lines_of_files(files)


def commit_lines(commit: Mapping[str, Any]) -> frozenset[str]:
    """The lines of what one commit changes, and those that ``git log`` writes of it.

    Raises:
        FormError: It joins several commits, whose authors are others, or there is more of it.
    """
    files = commit["files"]
    if len(commit["parents"]) > 1:
        raise FormError("it joins commits of others")
    if len(files) >= PAGE:
        raise FormError("it changes too much")
    return _lines_of_files(files) | log_lines([commit])


def content_lines(content: Any, path: str, history: Sequence[Any], oldest: Mapping[str, Any]) -> frozenset[str]:
    """The lines of a file of which all commits are known.

    Args:
        content: What the service says of it.
        path: Its path.
        history: The commits that changed it, newest first.
        oldest: The last of them, with what it changes.

    Raises:
        FormError: It is no text file, is made by others, or came from somewhere else.
    """
    if not isinstance(content, dict) or content.get("type") != "file" or content.get("path") != path:
        raise FormError("it is no file")
    if _MADE_BY_OTHERS.search(path):
        raise FormError("it is made by others")
    if not history or len(history) > COMMITS or sha_of(oldest) != sha_of(history[-1]):
        raise FormError("not all of its commits are told")
    if not any(each.get("filename") == path and each.get("status") == "added" for each in oldest["files"]):
        raise FormError("it was another file before")
    if content.get("encoding") != "base64":
        raise FormError("it is too large")
    try:
        text = b64decode(content["content"]).decode("utf-8")
    except ValueError:
        raise FormError("it is no text") from None
    return frozenset({*lines_of([content], lambda _: False), *map(normal, own_lines(text))})


def _lines_of_files(files: Sequence[Any]) -> frozenset[str]:
    found: set[str] = set(lines_of(files, lambda _: False))
    for file in files:
        name, before = file["filename"], file.get("previous_filename", file["filename"])
        if _MADE_BY_OTHERS.search(name) or _MADE_BY_OTHERS.search(before):
            raise FormError("it changes files that are made by others")
        heads = (f"diff --git a/{before} b/{name}", f"--- a/{before}", f"+++ b/{name}", f"rename from {before}")
        found.update(map(normal, (*heads, f"rename to {name}", name, *_ALWAYS)))
        found.update(map(normal, own_lines(file.get("patch", ""))))
    if len(found) > MOST_LINES:
        raise FormError("it has too many lines")
    return frozenset(found)
