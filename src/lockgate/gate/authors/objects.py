"""Finds the issues, pull requests and commits that a call reads, by its structure and never by its result."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.model import EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.authors import gitlab_calls
from lockgate.gate.authors.service_object import HOST_PATTERN, ServiceObject, only_push_address, split_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from lockgate.core.model import Analysis, Command, ToolCall
    from lockgate.gate.authors.service_object import ObjectPart
    from lockgate.resources.host_view import HostView

GITHUB = "github.com"
MOST = 5
"""Objects that are asked about for one call."""
_READS = frozenset({EffectKind.FETCH, EffectKind.INGEST})
_OWN_SERVER = ("GH_HOST", "GH_REPO", "GH_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_TOKEN", "GITHUB_ENTERPRISE_TOKEN",
               "GH_CONFIG_DIR")  # fmt: skip
"""Variables with which ``gh`` asks another server, or asks as somebody else.

Source: https://cli.github.com/manual/gh_help_environment
"""
_OWNER = r"([A-Za-z0-9](?:[A-Za-z0-9_-]{0,38}))"
_NAME = r"((?!\.{1,2}(?:/|$))[A-Za-z0-9._-]{1,100})"
_REPOSITORY = lazy_re(rf"(?:https://)?(?:{HOST_PATTERN}/)?{_OWNER}/{_NAME}")
_REMOTE = lazy_re(rf"(?:(?:https|ssh)://(?:git@)?{HOST_PATTERN}/|git@{HOST_PATTERN}:){_OWNER}/{_NAME}")
_ADDRESS = lazy_re(
    rf"https://{HOST_PATTERN}/{_OWNER}/{_NAME}/(issues|pull)/([1-9][0-9]{{0,9}})(?:#issuecomment-[0-9]+)?"
)
_NUMBER = lazy_re(r"#?([1-9][0-9]{0,9})")
_API = lazy_re(
    rf"/?repos/(?:{_OWNER}/{_NAME}|\{{owner\}}/\{{repo\}})/(issues|pulls|commits)"
    r"(?:/([1-9][0-9]{0,9})(?:/(comments|reviews|files|commits))?)?(?:\?[A-Za-z0-9_=&.+-]*)?"
)
_OF_COMMITS = lazy_re(
    rf"/?repos/(?:{_OWNER}/{_NAME}|\{{owner\}}/\{{repo\}})/"
    r"(?:commits/([0-9a-f]{7,64})|contents/((?!/)[A-Za-z0-9._/-]{1,500})(?:\?ref=([A-Za-z0-9._/-]{1,200}))?)"
)
"""One commit, or one file. A path that goes up is none."""
_KINDS = {"issue": "issues", "pr": "pulls", "pull": "pulls", "issues": "issues", "pulls": "pulls"}
_VALUES = frozenset({"-R", "--repo", "--json", "-q", "--jq", "-t", "--template", "-L", "--limit", "-s", "--state", "-l",
                     "--label", "-a", "--assignee", "-A", "--author", "-S", "--search", "-m", "--milestone",
                     "--mention", "--app", "-B", "--base", "-H", "--head"})  # fmt: skip
_FLAGS = frozenset({"-c", "--comments", "-d", "--draft", "--name-only"})
_API_VALUES = frozenset({"-q", "--jq", "-t", "--template", "-H", "--header", "--cache", "-X", "--method"})
_API_FLAGS = frozenset({"--paginate", "--slurp"})
_TALK = frozenset({"comments", "reviews", "latestReviews"})
_PARTS: Mapping[str, ObjectPart] = {"comments": "talk", "reviews": "talk", "files": "diff", "commits": "diff"}
_PULLS = frozenset(
    {"-q", "--quiet", "-p", "--prune", "--rebase", "-r", "--no-rebase", "--ff-only", "--ff", "--no-edit"}
)
"""Options of ``git pull`` and ``git fetch`` that change nothing of where they read."""
_GIT = frozenset({"program:git/pull", "program:git/fetch"})
_PROGRAMS = ("program:gh/", "program:glab/")
_SERVERS = ("mcp__github__", "mcp__plugin_github_github__")
_TOOLS: Mapping[str, tuple[str, ObjectPart]] = {
    "get_issue": ("issues", ""),
    "get_issue_comments": ("issues", "talk"),
    "list_issues": ("issues", ""),
    "get_pull_request": ("pulls", ""),
    "get_pull_request_comments": ("pulls", "talk"),
    "get_pull_request_reviews": ("pulls", "talk"),
    "list_pull_requests": ("pulls", ""),
    "issue_read:get": ("issues", ""),
    "issue_read:get_comments": ("issues", "talk"),
    "pull_request_read:get": ("pulls", ""),
    "pull_request_read:get_comments": ("pulls", "talk"),
    "pull_request_read:get_reviews": ("pulls", "talk"),
    "pull_request_read:get_review_comments": ("pulls", "talk"),
    "pull_request_read:get_diff": ("pulls", "diff"),
    "pull_request_read:get_files": ("pulls", "diff"),
    "get_pull_request_diff": ("pulls", "diff"),
    "get_pull_request_files": ("pulls", "diff"),
    "list_commits": ("commits", ""),
}
"""Tools of GitHub's MCP server, with their methods: what they read, and which part of it.

Source: github/github-mcp-server, README, "Tools"
"""
_SHOWN = frozenset({"mcp:shown", "mcp:asked"})


def objects_of(call: ToolCall, analysis: Analysis, around: HostView) -> tuple[ServiceObject, ...]:
    """The objects that all strangers' words in a call's result can come from; none where there may be other words.

    Args:
        call: The call.
        analysis: What it can do.
        around: The view of this machine.
    """
    if analysis.writes or analysis.keeps or analysis.listens or not analysis.effects:
        return ()
    if call.tool.startswith("mcp__"):
        found = _object_of_tool(call) if all(effect.rule in _SHOWN for effect in analysis.effects) else None
        return (found,) if found else ()
    if call.tool != "Bash" or around.shell_stays or any(map(around.exported, (*_OWN_SERVER, *gitlab_calls.OWN_SERVER))):
        return ()
    if not all(e.kind in _READS and (e.rule.startswith(_PROGRAMS) or e.rule in _GIT) for e in analysis.effects):
        return ()
    commands = [each for each in analysis.commands if each.words[0] in ("gh", "glab") or _brings_commits(each)]
    named = [_object_of_command(command, around) for command in commands]
    found_all = tuple(dict.fromkeys(each for each in named if each is not None))
    return found_all if None not in named and len(found_all) <= MOST else ()


def _object_of_tool(call: ToolCall) -> ServiceObject | None:
    server = next((each for each in _SERVERS if call.tool.startswith(each)), None)
    if server is None:
        return None
    given = call.tool_input
    tool = call.tool.removeprefix(server)
    row = _TOOLS.get(f"{tool}:{given['method']}" if "method" in given else tool)
    owner, name = given.get("owner"), given.get("repo")
    number = given.get("issue_number", given.get("pullNumber", 0))
    if row is None or not (isinstance(owner, str) and isinstance(name, str)) or not _is_number(number):
        return None
    match = _REPOSITORY.fullmatch(f"{owner}/{name}")
    if match is None or match[1] or bool(number) == tool.startswith("list_"):
        return None
    return ServiceObject(GITHUB, owner, name, row[0], int(number), row[1])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e10 and value == int(value)


def _object_of_command(command: Command, around: HostView) -> ServiceObject | None:
    words = command.words
    if any(char < " " for word in words for char in word if char not in "\n\t"):
        return None  # it is not known whole
    if words[0] == "git":
        return _object_of_pull(words, command.folders, around)
    if words[0] == "glab":
        return gitlab_calls.object_of(words, command.folders, around)
    if words[1:2] == ("api",):
        return _object_of_request(words[2:], command.folders, around)
    kind, verb = _KINDS.get("".join(words[1:2])), "".join(words[2:3])
    said = split_options(words[3:], _VALUES, _FLAGS)
    if kind not in ("issues", "pulls") or words[1] not in ("issue", "pr") or said is None:
        return None
    options, operands = said
    asked = options.get("--json", "").split(",")
    talk = not options.keys().isdisjoint({"-c", "--comments"}) or not _TALK.isdisjoint(asked)
    part: ObjectPart = "diff" if verb == "diff" else "talk" if talk else ""
    named = options.get("-R", options.get("--repo"))
    if verb in ("list", "ls") and not operands:
        where = _find_repository(named, command.folders, around)
        return ServiceObject(*where, kind) if where and not talk else None
    if (verb != "view" and (verb, kind) != ("diff", "pulls")) or len(operands) != 1:
        return None
    if address := _ADDRESS.fullmatch(operands[0]):
        return ServiceObject(address[1].lower(), address[2], address[3], _KINDS[address[4]], int(address[5]), part)
    number, where = _NUMBER.fullmatch(operands[0]), _find_repository(named, command.folders, around)
    return ServiceObject(*where, kind, int(number[1]), part) if number and where else None


def _brings_commits(command: Command) -> bool:
    return command.words[0] == "git" and "".join(command.words[1:2]) in ("pull", "fetch")


def _object_of_pull(words: Sequence[str], folders: Sequence[str], around: HostView) -> ServiceObject | None:
    """The commits that a pull brings, from the only remote of its folder."""
    said = split_options(words[2:], frozenset(), _PULLS)
    if said is None or (said[1] and (said[1][0] != "origin" or len(said[1]) > 2)):
        return None
    where = _find_repository(None, folders, around)
    return ServiceObject(*where, "commits") if where else None


def _object_of_request(words: Sequence[str], folders: Sequence[str], around: HostView) -> ServiceObject | None:
    """The object of ``gh api``."""
    said = split_options(words, _API_VALUES, _API_FLAGS)
    if said is None or len(said[1]) != 1:
        return None
    options, (path,) = said
    if options.get("-X", options.get("--method", "GET")) != "GET":
        return None
    if of_commits := _OF_COMMITS.fullmatch(path):
        return _object_of_commits(of_commits.groups(), folders, around)
    match = _API.fullmatch(path)
    if match is None:
        return None
    owner, name, kind, number, part = match.groups()
    where = (GITHUB, owner, name) if owner else _find_repository(None, folders, around)
    if where is None or (_PARTS.get(part) == "diff" and kind != "pulls") or (kind == "commits" and number):
        return None
    return ServiceObject(*where, kind, int(number or 0), _PARTS.get(part, ""))


def _object_of_commits(said: Sequence[str | None], folders: Sequence[str], around: HostView) -> ServiceObject | None:
    """One commit or one file of a repository."""
    owner, name, sha, file, ref = said
    where = (GITHUB, owner, name) if owner and name else _find_repository(None, folders, around)
    if where is None or ".." in (file or "").split("/"):
        return None
    kind = "contents" if file else "commits"
    return ServiceObject(*where, kind, which=sha or file or "", ref=ref or "")


def _find_repository(named: str | None, folders: Sequence[str], around: HostView) -> tuple[str, str, str] | None:
    """Host, owner and name of the repository that ``gh`` asks about: the one that is named, else the only remote."""
    if named is not None:
        match = _REPOSITORY.fullmatch(named)
        return ((match[1] or GITHUB).lower(), match[2], match[3].removesuffix(".git")) if match else None
    found = {_remote_in(folder, around.repository) for folder in folders} if folders else {None}
    return found.pop() if len(found) == 1 else None


def _remote_in(folder: str, repository: Callable[[str], Any]) -> tuple[str, str, str] | None:
    matches = [_REMOTE.fullmatch(address) for address in only_push_address(folder, repository)]
    found = {
        ((match[1] or match[2]).lower(), match[3].lower(), match[4].removesuffix(".git").lower()) if match else None
        for match in matches
    }
    return found.pop() if len(found) == 1 else None
