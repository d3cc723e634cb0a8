"""What the service says of commits, and of what a pull request changes. A function of its answers alone.

The author of a commit is a claim: anybody can write any address. So where a commit came by a pull request, it is also
the words of whoever opened that. Source: github/rest-api-description, "repos/list-commits",
"repos/list-pull-requests-associated-with-commit", "pulls/list-files"
"""

from __future__ import annotations

import re

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
