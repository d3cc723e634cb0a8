"""Finds the issue or merge request of GitLab that ``glab`` reads, by the words of the command.

Lists are none: GitLab does not tell who has edited their titles.
Source: https://docs.gitlab.com/cli/issue/view/, https://docs.gitlab.com/cli/mr/view/, https://docs.gitlab.com/cli/api/
"""

from __future__ import annotations

from urllib.parse import unquote

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.authors.service_object import HOST_PATTERN, ServiceObject, only_push_address, split_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockgate.resources.host_view import HostView

GITLAB = "gitlab.com"
OWN_SERVER = ("GITLAB_HOST", "GL_HOST", "GITLAB_URI", "GITLAB_API_HOST", "GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN",
              "OAUTH_TOKEN", "GITLAB_REPO", "GITLAB_GROUP", "REMOTE_ALIAS", "GIT_REMOTE_URL_VAR",
              "GLAB_CONFIG_DIR")  # fmt: skip
"""Variables with which ``glab`` asks another server, or asks as somebody else.

Source: https://docs.gitlab.com/cli/, "Environment variables"
"""
_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,100}[A-Za-z0-9_-])?"
_GROUP = rf"({_PART})"
_REST = rf"((?:{_PART}/){{0,10}}{_PART})"
_PROJECT = lazy_re(rf"{_GROUP}/{_REST}")
_NAMED = lazy_re(rf"(?:https://{HOST_PATTERN}/)?{_GROUP}/{_REST}")
_REMOTE = lazy_re(rf"(?:(?:https|ssh)://(?:git@)?{HOST_PATTERN}/|git@{HOST_PATTERN}:){_GROUP}/{_REST}")
_ADDRESS = lazy_re(rf"https://{HOST_PATTERN}/{_GROUP}/{_REST}/-/(issues|merge_requests)/([1-9][0-9]{{0,9}})")
_NUMBER = lazy_re(r"[#!]?([1-9][0-9]{0,9})")
_API = lazy_re(
    r"/?projects/(:fullpath|:id|[A-Za-z0-9_.%-]{1,300})/(issues|merge_requests)/([1-9][0-9]{0,9})(/notes)?(?:\?[A-Za-z0-9_=&.+-]*)?"
)
_KINDS = {"issue": "issues", "mr": "merge_requests"}
_VALUES = frozenset({"-R", "--repo", "-F", "--output", "-p", "--page", "-P", "--per-page"})
_FLAGS = frozenset({"-c", "--comments"})
_API_VALUES = frozenset({"-X", "--method"})
_API_FLAGS = frozenset({"--paginate"})
_Where = tuple[str, str, str]


def object_of(words: Sequence[str], folders: Sequence[str], around: HostView) -> ServiceObject | None:
    """The object that all strangers' words in the result of ``glab`` can come from; ``None`` where it is not known.

    Args:
        words: The command's.
        folders: Where it runs.
        around: The view of this machine.
    """
    if words[1:2] == ("api",):
        return _object_of_request(words[2:], folders, around)
    kind, said = _KINDS.get("".join(words[1:2])), split_options(words[3:], _VALUES, _FLAGS)
    if kind is None or words[2:3] not in (("view",), ("show",)) or said is None or len(said[1]) != 1:
        return None
    options, (operand,) = said
    talks = not options.keys().isdisjoint(_FLAGS)
    named = options.get("-R", options.get("--repo"))
    if address := _ADDRESS.fullmatch(operand):
        if named is not None or address[4] != kind:
            return None
        return _object((address[1].lower(), address[2], address[3]), kind, address[5], talks)
    number, where = _NUMBER.fullmatch(operand), _find_project(named, folders, around)
    return _object(where, kind, number[1], talks) if number and where else None


def _object_of_request(words: Sequence[str], folders: Sequence[str], around: HostView) -> ServiceObject | None:
    """The object of ``glab api``."""
    said = split_options(words, _API_VALUES, _API_FLAGS)
    match = _API.fullmatch(said[1][0]) if said and len(said[1]) == 1 else None
    if said is None or match is None or said[0].get("-X", said[0].get("--method", "GET")) != "GET":
        return None
    if match[1].startswith(":"):
        where = _find_project(None, folders, around)
    else:
        project = _PROJECT.fullmatch(unquote(match[1]))
        where = (GITLAB, project[1], project[2]) if project else None
    return _object(where, match[2], match[3], bool(match[4])) if where else None


def _object(where: _Where, kind: str, number: str, talks: bool) -> ServiceObject:
    host, group, rest = where
    return ServiceObject(host, group, rest, kind, int(number), "talk" if talks else "", "gitlab")


def _find_project(named: str | None, folders: Sequence[str], around: HostView) -> _Where | None:
    """Host, top group and the rest of the path: of the project that is named, else of the only remote."""
    if named is not None:
        match = _NAMED.fullmatch(named)
        return ((match[1] or GITLAB).lower(), match[2], match[3].removesuffix(".git")) if match else None
    addresses = {address for folder in folders for address in only_push_address(folder, around.repository) or ("",)}
    match = _REMOTE.fullmatch(addresses.pop()) if len(addresses) == 1 else None
    return ((match[1] or match[2]).lower(), match[3], match[4].removesuffix(".git")) if match else None
