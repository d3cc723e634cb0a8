"""Finds plugins, agents, skills and mods of Claude Code with hooks of their own. Unreadable ones count."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from lockgate.clients.claude.foreign_hooks import foreign_hooks
from lockgate.clients.common import transcripts
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from lockgate.clients.install.claude_settings_view import CheckContext
    from lockgate.system.process_arguments import CommandLine

_JSON_MAX = 1024 * 1024
_HEAD = 8192
"""Bytes of a Markdown file in which its front matter must end."""
_MOST = 2000
"""Files of agents and skills that are looked at."""
_FOLDERS = ("agents", "skills", "commands")
_OWN = "lockgate"
_KEY = re.compile(r"""(?:^|[\s{,])["']?hooks["']?\s*:|^\s*\?|\\[xuU]""", re.MULTILINE)
"""The key ``hooks``, and ways in which YAML can write a key that this does not follow."""


def foreign_extensions(seen: CheckContext, started: CommandLine) -> str:
    """Name an extension that could answer a question, or change a call; empty where there is none.

    Args:
        seen: The client's settings, all layers.
        started: How the client was started.
    """
    mods = Path(seen.claude, "dev-mods")
    if mods.is_dir() and any(mods.iterdir()):
        return f"code that runs inside the client (in {mods})"
    roots = [Path(seen.claude), Path(seen.project, ".claude")]
    for name, folder in _plugins(seen, started):
        if folder is None:
            return f"a plugin whose files are not found ({name})"
        if found := _find_in_plugin(folder, seen):
            return f"{found} (in the plugin {name})"
        roots.append(folder)
    return _find_in_markdown(roots)


def _plugins(seen: CheckContext, started: CommandLine) -> Iterator[tuple[str, Path | None]]:
    """All plugins that are switched on, with where they lie."""
    switched: dict[str, bool] = {}
    for layer in seen.layers:
        plugins = layer.settings.get("enabledPlugins")
        for name, enabled in plugins.items() if isinstance(plugins, dict) else ():
            # One layer is enough: which of them the client prefers does not matter then.
            switched[name] = bool(enabled) or switched.get(name, False)
    installed = transcripts.parse_json(
        transcripts.read_file(os.path.join(seen.claude, "plugins", "installed_plugins.json"), _JSON_MAX)
    )
    for name in (name for name, enabled in switched.items() if enabled):
        paths = [Path(path) for path in _install_paths(installed, name)]
        yield from ((name, path if path.is_dir() else None) for path in paths or [Path(os.devnull)])
    for option in ("--plugin-dir", "--plugin-dirs"):
        for text in started.values(option):
            path = Path(seen.project, text)
            yield text, path if started.exact and path.is_dir() else None


def _install_paths(value: Any, name: str) -> Iterator[str]:
    """Where the client's own list says that a plugin lies."""
    plugins = value.get("plugins") if isinstance(value, dict) else None
    found = plugins.get(name) if isinstance(plugins, dict) else None
    for each in found if isinstance(found, list) else [found]:
        path = each.get("installPath") if isinstance(each, dict) else None
        if isinstance(path, str):
            yield path


def _find_in_plugin(folder: Path, seen: CheckContext) -> str:
    about = _json(folder / ".claude-plugin" / "plugin.json")
    own = isinstance(about, dict) and about.get("name") == _OWN
    declared = about.get("hooks") if isinstance(about, dict) else None
    files = [folder / "hooks" / "hooks.json"] if (folder / "hooks" / "hooks.json").exists() else []
    inline = []
    for each in declared if isinstance(declared, list) else [declared] if declared else []:
        if isinstance(each, str):
            files.append(folder / each)
        else:
            inline.append(each)
    loaded = [*inline, *map(_json, files)]
    for value in loaded:
        if not isinstance(value, dict) or value.get("modules"):
            return "hooks that cannot be looked at"
        if found := foreign_hooks(value.get("hooks", value), seen.folders, own_plugin=own):
            return found
    return ""


def _json(file: Path) -> Any:
    return transcripts.parse_json(transcripts.read_file(str(file), _JSON_MAX))


def _find_in_markdown(roots: list[Path]) -> str:
    """A file of an agent, a skill or a command whose front matter has hooks."""
    looked = 0
    for root in roots:
        for folder in _FOLDERS:
            for file in _markdown(root / folder):
                looked += 1
                if looked > _MOST:
                    return "more agents and skills than are looked at, any of which may have hooks"
                if _has_hooks(file):
                    return f"hooks that could change a call or answer in your place (in {file})"
    return ""


def _markdown(folder: Path) -> Iterator[Path]:
    # Links too, as the client follows them; a circle of them ends with the depth.
    for base, folders, files in os.walk(folder, followlinks=True):
        if base.count(os.sep) - str(folder).count(os.sep) > 6:
            folders.clear()
        yield from (Path(base, name) for name in files if name.endswith(".md"))


def _has_hooks(file: Path) -> bool:
    """Whether the front matter has a key ``hooks``, in whatever way YAML spells it."""
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD).decode("utf-8", "replace")
    except OSError:
        return True
    head = head.removeprefix("\ufeff").lstrip()
    if not head.startswith("---"):
        return False
    front, ended, _ = head[3:].partition("\n---")
    return not ended or _KEY.search(front) is not None
