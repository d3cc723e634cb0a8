"""Whose words commits are, and what a pull request changes."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from lockgate.core.model import Verdict
from lockgate.gate.host.repositories.repository import UnreadableRepository

from .github_service import SHA, changed, commit, pull, user
from .test_result_authors import PUSH, Asking, asking

__all__ = ["asking"]

DIFF = "gh pr diff 7 -R my-org/app"
SHOWN = (
    "diff --git a/src/button.py b/src/button.py\nindex 0123456..89abcde 100644\n--- a/src/button.py\n"
    "+++ b/src/button.py\n@@ -1 +1 @@\n-GREEN = 1\n+BLUE = 1\n"
)
LOG = f"commit {SHA}\nAuthor: Ann <ann@my-org.example>\nDate:   Fri Nov 20 10:00:00 2026 +0000\n\n    Make it blue\n"
PULLED = "From https://github.com/my-org/app\n   0123456..89abcde  main       -> origin/main\nAlready up to date.\n"
FORK = "eve/app"


def read_diff(asking: Asking, by: Any, commits: list[Any], files: list[Any], shown: str = SHOWN) -> set[str]:
    asking.github.issues["my-org/app/7"] = by
    asking.github.commits["my-org/app/7"] = commits
    asking.github.files["my-org/app/7"] = files
    return asking.read(DIFF, shown)


def test_what_members_change_gives_no_label(asking: Asking) -> None:
    assert read_diff(asking, pull(), [commit()], [changed()]) == set()


@pytest.mark.parametrize(
    ("tool", "given", "result"),
    [
        pytest.param("Bash", {"command": "gh api repos/my-org/app/pulls/7/files"}, [changed()], id="files"),
        pytest.param("Bash", {"command": "gh api repos/my-org/app/pulls/7/commits"}, [commit()], id="commits"),
        pytest.param("Bash", {"command": "gh api 'repos/my-org/app/commits?per_page=5'"}, [commit()], id="newest"),
        pytest.param("pull_request_read", {"method": "get_files", "pullNumber": 7}, [changed()], id="get_files"),
        pytest.param("pull_request_read", {"method": "get_diff", "pullNumber": 7}, SHOWN, id="get_diff"),
        pytest.param("list_commits", {}, [commit()], id="list_commits"),
    ],
)
@pytest.mark.parametrize("by", ["ann", "eve"])
def test_changes_by_the_api_and_the_mcp_server(
    asking: Asking, tool: str, given: dict[str, Any], result: Any, by: str
) -> None:
    asking.github.issues["my-org/app/7"] = pull(by)
    asking.github.commits["my-org/app/7"] = [commit()]
    asking.github.commits["my-org/app"] = [commit()]
    asking.github.merged[SHA] = [pull(by)]
    asking.github.files["my-org/app/7"] = [changed()]
    named = {"owner": "my-org", "repo": "app", **given}
    shown = result if isinstance(result, str) else json.dumps(result)
    asking.world.run(*((tool, given) if tool == "Bash" else (f"mcp__github__{tool}", named)), shown)
    assert asking.world.labels() == (set() if by == "ann" else {"untrusted"})


def test_a_renamed_file_of_a_member_gives_no_label(asking: Asking) -> None:
    shown = SHOWN.replace("a/src/button.py", "a/src/old.py")
    renamed = changed(previous_filename="src/old.py")
    assert read_diff(asking, pull(), [commit()], [renamed], shown) == set()


def test_what_is_merged_on_the_services_page_is_its_authors(asking: Asking) -> None:
    by_page = commit("bob", signed=True, committer=user("web-flow"))
    assert read_diff(asking, pull(), [by_page], [changed()]) == set()


@pytest.mark.parametrize(
    ("by", "commits", "files"),
    [
        pytest.param(pull("eve"), [commit()], [changed()], id="a stranger opened it"),
        pytest.param(pull("dependabot[bot]"), [commit()], [changed()], id="a bot opened it"),
        pytest.param(pull(fork=FORK), [commit()], [changed()], id="from a fork"),
        pytest.param(pull(head={"repo": None}), [commit()], [changed()], id="from a fork that is gone"),
        pytest.param(pull(), [commit("eve")], [changed()], id="a commit of a stranger"),
        pytest.param(pull(), [commit(committer=user("eve"))], [changed()], id="committed by a stranger"),
        pytest.param(pull(), [commit(committer=user("web-flow"))], [changed()], id="as the service, without signature"),
        pytest.param(pull(), [commit(author=None)], [changed()], id="an address of nobody"),
        pytest.param(pull(commits=2), [commit()], [changed()], id="more commits than are told"),
        pytest.param(pull(changed_files=2), [commit()], [changed()], id="more files than are told"),
        pytest.param(pull(), [commit()], [changed("vendor/x.py")], id="vendored"),
        pytest.param(pull(), [commit()], [changed("web/app.min.js")], id="made by a program"),
        pytest.param(pull(), [commit()], [changed("package-lock.json")], id="a lock file"),
        pytest.param(pull(), [commit()], [changed("a.py", previous_filename="vendor/a.py")], id="vendored before"),
        pytest.param(pull(), [commit()], [changed("vendor/a.py", previous_filename="a.py")], id="vendored now"),
        pytest.param(pull(), [commit()], [changed(patch="@@ -1 +1 @@\n+Run it.")], id="other lines"),
        pytest.param(pull(), [commit()], [{}], id="another form"),
    ],
)
def test_what_a_stranger_changes_labels(asking: Asking, by: Any, commits: list[Any], files: list[Any]) -> None:
    name = files[0].get("filename", "src/button.py")
    before = files[0].get("previous_filename", name)
    shown = SHOWN.replace("a/src/button.py", f"a/{before}").replace("b/src/button.py", f"b/{name}")
    assert read_diff(asking, by, commits, files, shown) == {"untrusted"}
    assert asking.world.bash(PUSH) is Verdict.DENY


def test_what_a_member_quotes_in_a_change_labels(asking: Asking) -> None:
    quoted = changed("notes.md", "@@ -1 +1 @@\n+> Run it.")
    assert read_diff(asking, pull(), [commit()], [quoted], "+> Run it.\n") == {"untrusted"}


# ---------------------------------------------------------------- git
class Clone(UnreadableRepository):
    """A repository of which only its remote is known."""

    def pushes_to(self, remote: str) -> tuple[str, ...] | None:
        return ("https://github.com/my-org/app.git",) if remote in ("", "origin") else None


@pytest.fixture
def folder(asking: Asking) -> Asking:
    asking.world.repository = Clone(str(asking.world.project))
    return asking


def read_log(
    asking: Asking, commits: list[Any], command: str = "git pull && git log", shown: str = PULLED + LOG
) -> set[str]:
    asking.github.commits["my-org/app"] = commits
    return asking.read(f"cd {asking.world.project} && {command}", shown)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        pytest.param("git pull && git log", PULLED + LOG, id="pull and log"),
        pytest.param("git pull --rebase origin main && git log -3", PULLED + LOG, id="with its remote"),
        pytest.param("git fetch -q && git log --oneline origin/main", "aaaaaaa Make it blue\n", id="one line each"),
    ],
)
def test_commits_of_members_give_no_label(folder: Asking, command: str, shown: str) -> None:
    assert read_log(folder, [commit()], command, shown) == set()


def test_a_pull_that_tells_nothing_asks_nobody(folder: Asking) -> None:
    assert read_log(folder, [commit("eve")], "git pull", PULLED) == set()
    assert folder.github.asked == []


@pytest.mark.parametrize(
    ("commits", "merged"),
    [
        pytest.param([commit("eve")], [], id="of a stranger"),
        pytest.param([commit(), commit("eve", sha="d" * 40)], [], id="one of them"),
        pytest.param([commit()], [pull("eve", FORK)], id="a member's name, in a stranger's pull request"),
        pytest.param([commit()], [pull("dependabot[bot]")], id="a bot's pull request"),
        pytest.param([commit(author=None)], [], id="an address of nobody"),
        pytest.param([commit()], ["no object"], id="another form"),
        pytest.param([commit(sha="../pulls")], [], id="an id that is a path"),
        pytest.param([commit(message="Else")], [], id="another message"),
        pytest.param([commit(message="Make it blue\n\nCo-authored-by: eve <e@x>")], [], id="written with another"),
    ],
)
def test_commits_of_strangers_label(folder: Asking, commits: list[Any], merged: list[Any]) -> None:
    folder.github.merged[SHA] = merged
    assert read_log(folder, commits) == {"untrusted"}


@pytest.mark.parametrize(
    ("made", "labels"),
    [
        pytest.param(commit("bob"), {"untrusted"}, id="in a member's name"),
        pytest.param(commit("ann", signed=True), {"untrusted"}, id="signed by the person"),
        pytest.param(commit("bob", signed=True), set(), id="signed by a member"),
    ],
)
def test_where_a_labelled_agent_could_push_only_signatures_of_others_count(
    folder: Asking, made: Any, labels: set[str]
) -> None:
    folder.world.taint()
    folder.world.unattended = ""
    assert folder.world.ask("Bash", {"command": "gh issue comment 7 -R my-org/app --body x"})[0].verdict is Verdict.ASK
    folder.github.commits["my-org/app"] = [made]
    folder.world.start("startup", "s2")
    shown = PULLED + LOG.replace("Ann <ann", "Bob <bob") if made["author"]["login"] == "bob" else PULLED + LOG
    command = f"cd {folder.world.project} && git pull && git log"
    folder.world.run("Bash", {"command": command}, shown, session_id="s2")
    assert folder.world.labels(session_id="s2") == labels


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("git pull https://github.com/evil/app.git && git log", id="an address"),
        pytest.param("git pull evil && git log", id="another remote"),
        pytest.param("git pull --recurse-submodules && git log", id="submodules"),
        pytest.param("git -C /elsewhere pull && git log", id="another folder by an option"),
    ],
)
def test_another_pull_labels_and_nobody_is_asked(folder: Asking, command: str) -> None:
    assert read_log(folder, [commit()], command) == {"untrusted"}
    assert folder.github.asked == []


# ---------------------------------------------------------------- one commit, one file
def one(by: str = "ann", files: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    return commit(by, files=[changed()] if files is None else files, **more)


ONE = f"gh api repos/my-org/app/commits/{SHA}"
PATCH = "@@ -1 +1 @@\n-GREEN = 1\n+BLUE = 1\n"


@pytest.mark.parametrize(
    ("said", "merged", "labels"),
    [
        pytest.param(one(), [], set(), id="of a member"),
        pytest.param(one(), [pull()], set(), id="by a member's pull request"),
        pytest.param(one("eve"), [], {"untrusted"}, id="of a stranger"),
        pytest.param(one(committer=user("eve")), [], {"untrusted"}, id="committed by a stranger"),
        pytest.param(one(), [pull("eve")], {"untrusted"}, id="a member's name, in a stranger's pull request"),
        pytest.param(one(parents=[{"sha": "b" * 40}, {"sha": "c" * 40}]), [], {"untrusted"}, id="a merge"),
        pytest.param(one(files=[changed("vendor/x.py")]), [], {"untrusted"}, id="a vendored file"),
        pytest.param(one(files=[changed()] * 100), [], {"untrusted"}, id="more files than are told"),
        pytest.param(commit(), [], {"untrusted"}, id="no files"),
        pytest.param(one(files=[changed(patch="@@ -1 +1 @@\n+Else.")]), [], {"untrusted"}, id="other lines"),
    ],
)
def test_one_commit(asking: Asking, said: Any, merged: list[Any], labels: set[str]) -> None:
    asking.github.single[SHA] = said
    asking.github.merged[SHA] = merged
    assert asking.read(f"{ONE} --jq '.files[].patch'", PATCH) == labels


TEXT = "# Use\n\nPress the button.\n"


def readme(text: str = TEXT, **more: Any) -> dict[str, Any]:
    content = base64.encodebytes(text.encode()).decode()
    return {"type": "file", "encoding": "base64", "path": "docs/use.md", "name": "use.md", "content": content} | more


def added(status: str = "added", **more: Any) -> dict[str, Any]:
    return one(files=[changed("docs/use.md", status=status)], **more)


FILE = "gh api repos/my-org/app/contents/docs/use.md"


def read_file(asking: Asking, said: Any, history: list[Any], oldest: Any, command: str, shown: str) -> set[str]:
    asking.github.contents["docs/use.md"] = said
    asking.github.commits["my-org/app"] = history
    asking.github.single[SHA] = oldest
    return asking.read(command, shown)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        pytest.param(FILE, json.dumps(readme()), id="the API's own answer"),
        pytest.param(f"{FILE}'?ref=main'", json.dumps(readme()), id="of a branch"),
        pytest.param(f"{FILE} -H 'Accept: application/vnd.github.raw'", TEXT, id="as it is"),
        pytest.param(f"{FILE} --jq .content | base64 -d", TEXT, id="decoded"),
    ],
)
def test_a_file_of_which_members_made_all_commits_gives_no_label(asking: Asking, command: str, shown: str) -> None:
    assert read_file(asking, readme(), [commit("bob", sha="d" * 40), commit()], added(), command, shown) == set()
    assert "path=docs%2Fuse.md" in next(path for path in asking.github.asked if "/commits?" in path)


@pytest.mark.parametrize(
    ("said", "history", "oldest"),
    [
        pytest.param(readme(), [commit("eve")], added(), id="a commit of a stranger"),
        pytest.param(readme(), [commit(), commit("eve", sha="d" * 40), commit()], added(), id="one among them"),
        pytest.param(readme(), [commit()] * 11, added(), id="more commits than are told"),
        pytest.param(readme(), [], added(), id="no commit"),
        pytest.param(readme(), [commit()], added("renamed"), id="it had another name"),
        pytest.param(readme(), [commit()], added("copied"), id="it was copied"),
        pytest.param(readme(), [commit()], added("modified"), id="it was there before"),
        pytest.param(readme(), [commit()], added(sha="e" * 40), id="another commit"),
        pytest.param(readme(path="docs/else.md"), [commit()], added(), id="another file"),
        pytest.param(readme(type="symlink"), [commit()], added(), id="a link"),
        pytest.param([readme()], [commit()], added(), id="a folder"),
        pytest.param(readme(encoding="none"), [commit()], added(), id="a large file"),
        pytest.param(readme(content="////"), [commit()], added(), id="no text"),
        pytest.param(readme("Run it.\n"), [commit()], added(), id="other lines"),
        pytest.param(readme("> Press the button.\n"), [commit()], added(), id="quoted"),
    ],
)
def test_a_file_of_others_labels(asking: Asking, said: Any, history: list[Any], oldest: Any) -> None:
    shown = "> Press the button.\n" if said == readme("> Press the button.\n") else TEXT
    command = f"{FILE} --jq .content | base64 -d"
    assert read_file(asking, said, history, oldest, command, shown) == {"untrusted"}


def test_a_file_that_came_by_a_strangers_pull_request_labels(asking: Asking) -> None:
    asking.github.merged[SHA] = [pull("eve")]
    assert read_file(asking, readme(), [commit()], added(), FILE, json.dumps(readme())) == {"untrusted"}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("gh api repos/my-org/app/contents/../../evil/private/contents/x", id="a path that goes up"),
        pytest.param("gh api repos/my-org/app/contents/", id="the root"),
        pytest.param(f"{FILE}'?ref=a&ref=b'", id="two branches"),
        pytest.param("gh api repos/my-org/app/commits/main", id="a branch"),
        pytest.param(f"{ONE} -X POST", id="another method"),
    ],
)
def test_another_path_of_the_api_labels_and_nobody_is_asked(asking: Asking, command: str) -> None:
    assert asking.read(command, "Run it.\n") == {"untrusted"}
    assert asking.github.asked == []
