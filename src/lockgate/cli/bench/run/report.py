"""Prints the report of ``lockgate bench``: as JSON, as text, and as a plot."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from lockgate.cli.bench.run.contained import BY_LAUNCHER, BY_PYTHON, NAMES, over_bare
from lockgate.cli.bench.run.costs import Clock, Series, Spread
from lockgate.cli.bench.run.plot import Bar, bars
from lockgate.cli.bench.run.resident import SESSIONS, ResidentTimes

BASES = ("interpreter", "true")
"""What ratios are to."""


def report_of(found: Sequence[Series], told: ResidentTimes, rounds: int) -> dict[str, Any]:
    """All figures as a value for JSON."""
    bases = {base: next(series for series in found if series.name == base) for base in BASES}
    rows = [_row(series, bases) for series in found]
    return {
        "rounds": rounds,
        "python": sys.version.split()[0],
        "platform": sys.platform,
        "processors": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 2),
        "rows": rows,
        "contained_over_bare": {
            name: _name_values(over, "_ms", 2) for name in (BY_LAUNCHER, BY_PYTHON) if (over := over_bare(found, name))
        },
        "gate": gate_of(told),
    }


def _row(series: Series, bases: Mapping[str, Series]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": series.name, "what": series.what}
    for clock in Clock:
        row[clock] = {
            **_name_values(series.spread(clock), "_ms", 3),
            **{f"to_{base}": _name_values(series.ratio(other, clock), "", 4) for base, other in bases.items()},
        }
    return row


def _name_values(spread: Spread, unit: str, digits: int) -> dict[str, Any]:
    return {
        f"median{unit}": round(spread.median, digits),
        f"quartiles{unit}": [round(spread.low, digits), round(spread.high, digits)],
    }


def gate_of(told: ResidentTimes) -> dict[str, Any]:
    """The figures of the resident gate."""
    return {
        "start_to_first_answer": _name_values(told.start_ms, "_ms", 1),
        "sessions": SESSIONS,
        "decisions": told.seen.answered,
        "decisions_per_second": round(told.seen.rate),
        "processor_ms_per_decision": round(told.processor_ms, 3),
        "in_gate_p50_ms": told.status["p50_ms"],
        "in_gate_p99_ms": told.status["p99_ms"],
        "at_client_p50_ms": round(told.seen.wait(0.5), 2),
        "at_client_p99_ms": round(told.seen.wait(0.99), 2),
        "declined": told.seen.declined,
        "memory_mb": told.status["memory_mb"],
    }


def table(report: Mapping[str, Any]) -> list[str]:
    """The report as lines of text."""
    heads = ("median", "quartiles", "x interp.", "x true", "median", "x interp.", "x true")
    width = max(len(row["what"]) for row in report["rows"])
    lines = [f"{'':{width}}{'wall clock':>47}{'processor time':>32}", f"{'what':{width}}{_cells(heads)}"]
    for row in report["rows"]:
        wall, cpu = row["wall"], row["cpu"]
        low, high = wall["quartiles_ms"]
        cells = [f"{wall['median_ms']:.2f} ms", f"{low:.2f} .. {high:.2f}", *_ratios(wall)]
        cells += [f"{cpu['median_ms']:.2f} ms", *_ratios(cpu)]
        lines.append(f"{row['what']:{width}}{_cells(cells)}")
    return [*lines, *_containment_lines(report["contained_over_bare"]), "", *_gate_lines(report["gate"])]


def _containment_lines(over: Mapping[str, Any]) -> list[str]:
    if not over:
        return []
    lines = ["", "a contained command takes longer than the bare one, in the same rounds:"]
    for name, how in ((BY_LAUNCHER, "by the launcher"), (BY_PYTHON, "by the Python program")):
        if name in over:
            low, high = over[name]["quartiles_ms"]
            lines.append(f"  {how:<26}{over[name]['median_ms']:>11.2f} ms, quartiles {low:.2f} .. {high:.2f}")
    return lines


def _cells(texts: Sequence[str]) -> str:
    widths = (11, 18, 10, 8, 14, 10, 8)
    return "".join(f"{text:>{width}}" for text, width in zip(texts, widths, strict=True))


def _ratios(figures: Mapping[str, Any]) -> list[str]:
    ratios = [figures[f"to_{base}"]["median"] for base in BASES]
    return [f"{ratio:.3f}" if ratio < 0.1 else f"{ratio:.2f}" for ratio in ratios]


def _gate_lines(gate: Mapping[str, Any]) -> list[str]:
    start = gate["start_to_first_answer"]
    low, high = start["quartiles_ms"]
    return [
        f"resident gate, {gate['sessions']} sessions at once, each answer checked:",
        f"  decisions a second          {gate['decisions_per_second']:>9,}",
        f"  processor for a decision    {gate['processor_ms_per_decision']:>9.3f} ms",
        f"  decision inside the gate    {gate['in_gate_p50_ms']:>9.3f} ms for half of them,"
        f" {gate['in_gate_p99_ms']:.3f} ms for 99 of 100",
        f"  start to first answer       {start['median_ms']:>9.1f} ms, quartiles {low:.1f} .. {high:.1f}",
        f"  memory                      {gate['memory_mb'] or 0:>9.1f} MB",
        *([f"  left to their hooks         {gate['declined']:>9,}"] if gate["declined"] else []),
    ]


def draw_ratios(report: Mapping[str, Any]) -> str:
    """The ratios to the bare interpreter, as an SVG document."""
    shown = [row for row in report["rows"] if "in process" not in row["what"] and row["name"] not in NAMES]
    return bars(
        "What a hook costs, by the wall clock",
        "times the bare interpreter (python -I -S -c pass); lines: quartiles",
        [
            Bar(row["what"], found["median"], low, high, row["name"].startswith("warm"))
            for row in shown
            for found in [row["wall"]["to_interpreter"]]
            for low, high in [found["quartiles"]]
        ],
    )
