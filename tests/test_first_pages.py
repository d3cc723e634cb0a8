"""The pages that a newcomer reads first: short, and each step of them works."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from support.loading import module_at

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
README_WORDS = 900
GLOSSARY_WORDS = 20
PAGE_WORDS = 1500
"""What a person reads at once. Pages that are made from the code, and decisions, have other rules."""
LONGER = {"knowledge-roles.md": 2200, "resident-gate.md": 2600, "upgrading.md": 2700}
"""Tables that people search, and pages that wait to be split: these numbers may only fall."""


def words(page: Path) -> int:
    """How many words a page has, with its tables and commands."""
    return len(page.read_text("utf-8").split())


def test_the_readme_is_short() -> None:
    assert words(ROOT / "README.md") <= README_WORDS


@pytest.mark.parametrize("page", [*DOCS.glob("*.md"), *(DOCS / "threats").glob("*.md")], ids=lambda page: page.name)
def test_a_page_is_read_at_once(page: Path) -> None:
    assert words(page) <= LONGER.get(page.name, PAGE_WORDS)


def test_the_glossary_is_short_and_sorted() -> None:
    terms = re.findall(r"^\| ([a-z ]+) \|", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE)[1:]
    assert terms == sorted(set(terms))
    assert len(terms) <= GLOSSARY_WORDS


def test_the_index_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "index.md").read_text("utf-8")))
    assert {page.name for page in DOCS.glob("*.md")} - linked == {"index.md"}


@pytest.fixture(scope="module")
def picture() -> ModuleType:
    """The script that draws the picture of the demo."""
    return module_at(ROOT / "scripts" / "demo_picture.py", "demo_picture")


def test_the_picture_of_the_readme_is_what_the_demo_prints(picture: ModuleType) -> None:
    drawn = re.findall(r"<text[^>]*>(.*?)</text>", picture.PICTURE.read_text("utf-8"))
    pictured = "".join(html.unescape(text) for text in drawn).replace("\xa0", "").replace(" ", "")
    # How the project's own code is run depends on the machine.
    lines = [
        line for line in picture.shown(picture.recorded()) if "check.sh" not in line and "the only network" not in line
    ]
    assert [line for line in lines if line.replace(" ", "") not in pictured] == []
    assert pictured.count("blocked") == sum("  blocked  " in line for line in lines)


def first_change() -> tuple[str, list[tuple[str, str]]]:
    """The entry of the page, and its commands with what they print."""
    text = (DOCS / "first-change.md").read_text("utf-8")
    entry = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert entry
    return entry[1], re.findall(r"^\$ \.venv/bin/lockgate explain '(.*)'\n((?:.*\n)*?)```", text, re.MULTILINE)


def test_the_first_change_ends_with_a_green_test(tmp_path: Path) -> None:
    """Each step, in a copy of the package."""
    entry, shown = first_change()
    shutil.copytree(ROOT / "src" / "lockgate", tmp_path / "lockgate", ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    (unknown, before), (known, after) = shown
    assert run("-m", "lockgate", "explain", unknown) == before
    table = tmp_path / "lockgate" / "shell" / "knowledge" / "data" / "text.yaml"
    table.write_text(table.read_text("utf-8").replace("programs:\n", f"programs:\n{entry}", 1))
    run("-m", "lockgate.shell.knowledge.data.build")
    assert run("-m", "lockgate", "explain", known) == after
    file = ROOT / "tests" / "analysis" / "shell" / "effects" / "test_knowledge.py"
    tested = run("-m", "pytest", "--verbose", "-p", "no:cacheprovider", str(file), "-k", "family and text")
    assert entry.count("\n      tally") == 4
    assert "1 passed" in tested
