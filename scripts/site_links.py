"""A hook of mkdocs: links that lead out of ``docs/``, to other files of the repository.

On a checkout they are right as they are. On the site each Markdown file that is linked to becomes a page below
``repository/``, any other file is served as it is, and a link to a folder becomes plain text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
MIRROR = "repository"
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")


def in_repository(src_uri: str) -> str:
    """The path of a page's file in the repository."""
    return src_uri.removeprefix(f"{MIRROR}/") if src_uri.startswith(f"{MIRROR}/") else f"docs/{src_uri}"


def site_path(path: str) -> str | None:
    """Where a file of the repository is on the site, as mkdocs names sources; ``None`` for a folder."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{MIRROR}/{path}" if (ROOT / path).is_file() else None


def targets(markdown: str, src_uri: str) -> set[str]:
    """The files of the repository outside of ``docs/`` that a page links to."""
    folder = posixpath.dirname(in_repository(src_uri))
    found = {posixpath.normpath(posixpath.join(folder, match[2])) for match in _LINK.finditer(markdown)}
    return {path for path in found if not path.startswith(("docs/", "..")) and (ROOT / path).is_file()}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what pages link to, and what these pages link to."""
    waiting = [file for file in files if file.src_uri.endswith(".md")]
    while waiting:
        file = waiting.pop()
        for path in sorted(targets(file.content_string, file.src_uri)):
            if files.get_file_from_path(f"{MIRROR}/{path}") is None:
                added = File.generated(config, f"{MIRROR}/{path}", abs_src_path=str(ROOT / path))
                files.append(added)
                if path.endswith(".md"):
                    waiting.append(added)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead each link to where its file is on the site."""
    src_uri = page.file.src_uri
    folder = posixpath.dirname(in_repository(src_uri))

    def led(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, match[2]))
        place = site_path(path)
        if place is None:
            return match[1] if (ROOT / path).is_dir() else match[0]
        return f"[{match[1]}]({posixpath.relpath(place, posixpath.dirname(src_uri) or '.')}{match[3] or ''})"

    return _LINK.sub(led, markdown)
