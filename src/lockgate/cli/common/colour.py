"""Colours text for a terminal."""

from __future__ import annotations

import os
import sys

import click


def paint(text: str, colour: str | None, *, bold: bool = False) -> str:
    """Colour text where standard output is a terminal and ``NO_COLOR`` is not set (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return click.style(text, fg=colour, bold=bold)
