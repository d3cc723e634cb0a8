"""Draws bars with their spread, and curves, as SVG. They are readable in light and dark, and without colours.

The colours are of a palette that people with any kind of colour blindness tell apart (Okabe and Ito, Color Universal
Design, 2008); what they tell is also written beside, and lines have marks of different forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1a1a1a}.title{font-weight:600;font-size:15px}.note{fill:#595959}"
    ".axis{stroke:#8a8a8a}.grid{stroke:#d0d0d0}.whisker{stroke:#1a1a1a;stroke-width:1.5}"
    ".a{fill:#0072b2;stroke:#0072b2}.b{fill:#d55e00;stroke:#d55e00}.c{fill:#009e73;stroke:#009e73}"
    "polyline{fill:none!important;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#eee}.note{fill:#b5b5b5}.grid{stroke:#444}.whisker{stroke:#eee}"
    ".a{fill:#56b4e9;stroke:#56b4e9}.b{fill:#e69f00;stroke:#e69f00}.c{fill:#35c79a;stroke:#35c79a}}"
)
_WIDTH = 760
_LEFT, _RIGHT, _ROW = 320, 70, 26


class Bar(NamedTuple):
    """One bar."""

    name: str
    value: float
    low: float
    high: float
    stands_out: bool = False


class Curve(NamedTuple):
    """One line: points from left to right."""

    name: str
    points: Sequence[tuple[float, float]]


def bars(title: str, note: str, shown: Sequence[Bar]) -> str:
    """Horizontal bars from zero, each with its value in figures."""
    most = max((max(bar.high, bar.value) for bar in shown), default=1.0) or 1.0
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    parts = []
    for number, bar in enumerate(shown):
        top = 62 + number * _ROW
        end = _LEFT + bar.value * scale
        low, high = (_LEFT + value * scale for value in (bar.low, bar.high))
        name = "b" if bar.stands_out else "a"
        parts += [
            f'<text x="{_LEFT - 8}" y="{top + 13}" text-anchor="end">{escape(bar.name)}</text>',
            f'<rect class="{name}" x="{_LEFT}" y="{top}" width="{end - _LEFT:.1f}" height="16"/>',
            f'<path class="whisker" d="M{low:.1f} {top + 8}H{high:.1f}"/>',
            f'<text x="{max(end, high) + 6:.1f}" y="{top + 13}">{bar.value:.2f}</text>',
        ]
    height = 62 + len(shown) * _ROW + 14
    return _document(title, note, height, parts)


def curves(title: str, note: str, across: str, shown: Sequence[Curve]) -> str:
    """Lines over whole numbers from 1, from zero upwards."""
    most = max((value for curve in shown for _, value in curve.points), default=1.0) or 1.0
    last = max((at for curve in shown for at, _ in curve.points), default=1.0)
    left, top, right, bottom = 70.0, 66.0, _WIDTH - 190.0, 340.0

    def place(at: float, value: float) -> tuple[float, float]:
        return left + (right - left) * (at - 1) / max(last - 1, 1), bottom - (bottom - top) * value / most

    parts = []
    for step in range(5):
        value = most * step / 4
        y = place(1, value)[1]
        parts += [
            f'<path class="grid" d="M{left} {y:.1f}H{right}"/>',
            f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{value:,.0f}</text>',
        ]
    for at in range(1, int(last) + 1):
        parts.append(f'<text x="{place(at, 0)[0]:.1f}" y="{bottom + 20}" text-anchor="middle">{at}</text>')
    parts.append(f'<text x="{(left + right) / 2}" y="{bottom + 42}" text-anchor="middle">{escape(across)}</text>')
    for number, curve in enumerate(shown):
        points = [place(at, value) for at, value in curve.points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        name = "abc"[number % 3]
        parts += [
            f'<polyline class="{name}" points="{line}"/>',
            *(_mark(name, x, y) for x, y in points),
            f'<text x="{points[-1][0] + 12:.1f}" y="{points[-1][1] + 4:.1f}">{escape(curve.name)}</text>',
        ]
    return _document(title, note, 400, parts)


def _mark(name: str, x: float, y: float) -> str:
    if name == "a":
        return f'<circle class="a" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
    if name == "b":
        return f'<rect class="b" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'
    return f'<path class="{name}" d="M{x:.1f} {y - 5:.1f}l5 9h-10z"/>'


def _document(title: str, note: str, height: int, parts: Sequence[str]) -> str:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="t d">',
        f'<title id="t">{escape(title)}</title><desc id="d">{escape(note)}</desc>',
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="16" y="24">{escape(title)}</text>',
        f'<text class="note" x="16" y="44">{escape(note)}</text>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
