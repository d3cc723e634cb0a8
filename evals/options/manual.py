"""Manual pages: groff sources, rendered so that what is in italics shows as a value."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import subprocess
from pathlib import Path

from documented import Documented
from texts import options, usage

_ITALIC = re.compile(r"(?:_\x08.)+")
_BOLD = re.compile(r"(.)\x08\1")
_OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_SECONDS = 20


def find(name: str, roots: list[Path]) -> Path | None:
    """The page of a name in sections 1, 8 and 6 below some roots; the first root first."""
    for root in roots:
        for section in ("1", "8", "6"):
            for page in sorted((root / "usr/share/man" / f"man{section}").glob(f"{_literal(name)}.{section}*")):
                if re.fullmatch(rf"{re.escape(name)}\.{section}\w*(\.\w+)?", page.name) and page.exists():
                    return page
    return None


def read(page: Path, *, clusters: bool = True) -> list[Documented]:
    """The options that a page describes."""
    text = rendered(page)
    found = options(text, "manual", manual=True)
    synopsis = re.search(r"^SYNOPSIS\n(.*?)^\S", text, re.S | re.M)
    known = {one.name for one in found}
    extra = usage(synopsis.group(1), clusters=clusters) if synopsis else []
    return found + [one for one in extra if one.name not in known]


def rendered(page: Path) -> str:
    """A page as plain text, one paragraph a line, italics as ``<value>``."""
    content = _OPENERS.get(page.suffix, open)(page, "rb").read()
    if match := re.match(rb"\.so (\S+)\s*$", content):
        other = page.parent.parent / match.group(1).decode()
        found = [other, *other.parent.glob(f"{_literal(other.name)}.*")]
        return next((rendered(path) for path in found if path.exists()), "")
    # groff runs nothing that a page says (its default is the safe mode), and opens no file for it but macros.
    command = ["groff", "-k", "-t", "-mandoc", "-Tascii", "-P-c", "-rLL=2000n", "-rHY=0"]
    done = subprocess.run(command, input=content, capture_output=True, timeout=_SECONDS, check=False)
    text = _ITALIC.sub(_value, done.stdout.decode("ascii", "replace"))
    return re.sub(r".\x08", "", _BOLD.sub(r"\1", text))


def _value(match: re.Match[str]) -> str:
    word = re.sub(r"_\x08", "", match.group())
    return word if word.startswith("-") or not re.search(r"\w", word) else f"<{word}>"


def _literal(name: str) -> str:
    return re.sub(r"([\[*?])", r"[\1]", name)
