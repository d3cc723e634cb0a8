"""What a project's settings have Claude Code run, or whom they have it talk to.

The client takes a changed file into the running session at once (seen with version 2.1.329): hooks that came with a
branch run at the next call. Keys: https://code.claude.com/docs/en/settings
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockgate.clients.common.transcripts import parse_json, read_file
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_MAX = 4 * 1024 * 1024
_SOURCES = frozenset({"project_settings", "local_settings"})
_ACTING = (
    *("env", "statusLine", "subagentStatusLine", "fileSuggestion", "apiKeyHelper", "otelHeadersHelper"),
    *("awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "enabledPlugins", "extraKnownMarketplaces"),
    *("enableAllProjectMcpServers", "enabledMcpjsonServers"),
)
"""Settings that name a command, code that is loaded, or variables of the client."""


def acting(source: str, file: str, entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The settings in a changed file that act, for a person; empty where there are none.

    Only the files of a project: whoever brings in a branch brings in those, and no agent can write the others.

    Args:
        source: Which settings the client says have changed.
        file: Their file.
        entries: The gate's own hooks for each event.
    """
    if source not in _SOURCES or not file:
        return ""
    settings = parse_json(read_file(file, _MAX))
    if not isinstance(settings, Mapping):
        return ""
    found = ["hooks"] if _has_other_hooks(settings.get("hooks"), entries) else []
    return ", ".join(found + [name for name in _ACTING if settings.get(name)])


def _has_other_hooks(hooks: Any, entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
    """Whether there are hooks, or what could be hooks, beside the gate's own. Those are known by their whole entry."""
    if not isinstance(hooks, Mapping):
        return bool(hooks)
    return any(
        not _all_in(group, entries.get(event, ()))
        for event, groups in hooks.items()
        for group in (groups if isinstance(groups, list) else [groups])
    )


def _all_in(group: Any, own: Sequence[Mapping[str, Any]]) -> bool:
    inside = group.get("hooks") if isinstance(group, Mapping) else None
    return isinstance(inside, list) and all(entry in own for entry in inside)
