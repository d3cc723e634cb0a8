"""The pages of the rooms: each room has one, it is short, and what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "lockgate"
PAGES = ROOT / "docs" / "architecture"
ROOMS = sorted(folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").is_file())
MOST_WORDS = 700
OUTSIDE = ("tests", "docs", "native", "evals", "examples", "schema", "scripts", "plugin", "docker")
"""Folders beside the package that a page may name."""


def page_of(room: str) -> str:
    """The text of a room's page."""
    return (PAGES / f"{room}.md").read_text("utf-8")


def named(text: str) -> set[str]:
    """The files and folders that a text names between backquotes."""
    return set(re.findall(r"`((?:[\w-]+/)+(?:[\w.-]+\.\w+)?|(?:tests|evals)/[\w/]+)`", text))


def test_every_room_has_a_page_and_no_page_has_no_room() -> None:
    assert len(ROOMS) == 14
    assert sorted(page.stem for page in PAGES.glob("*.md")) == ROOMS


@pytest.mark.parametrize("room", ROOMS)
def test_a_page_is_short_and_answers_the_three_questions(room: str) -> None:
    text = page_of(room)
    assert len(text.split()) <= MOST_WORDS
    assert text.startswith(f"# {room}\n")
    for heading in ("What comes in", "What goes out", "Where to change what", "Tests"):
        assert f"\n## {heading}\n" in text
    assert f"make room ROOM={room}`" in text


@pytest.mark.parametrize("page", [*ROOMS, "../architecture"])
def test_what_a_page_names_is_there(page: str) -> None:
    names = named(page_of(page))
    assert len(names) >= 3
    missing = {name for name in names if not ((ROOT if name.split("/")[0] in OUTSIDE else PACKAGE) / name).exists()}
    assert missing == set()


@pytest.mark.parametrize("room", ROOMS)
def test_a_page_names_its_own_folders(room: str) -> None:
    """A folder that is new in a room is told of."""
    text = page_of(room)
    folders = {folder.name for folder in (PACKAGE / room).iterdir() if (folder / "__init__.py").is_file()}
    assert {name for name in folders if f"`{room}/{name}/" not in text} == set()


def test_the_first_sheet_leads_to_every_room() -> None:
    text = page_of("../architecture")
    assert {room for room in ROOMS if f"(architecture/{room}.md)" not in text} == set()
