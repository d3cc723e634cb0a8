"""``lockgate bench``: what it measures is what a client runs, and its figures are whole."""

from __future__ import annotations

import json

from click.testing import CliRunner

from lockgate.cli.bench import bench

PROCESSES = ["true", "interpreter", "pre", "pre-script", "pre-read", "refused", "post"]
NAMES = [*PROCESSES, "check-short", "check-3kb", "gate-check", "gate-finished"]


def test_the_figures_are_whole() -> None:
    report = json.loads(CliRunner().invoke(bench, ["--rounds", "3", "--json"], catch_exceptions=False).stdout)
    assert [row["name"] for row in report["rows"]] == NAMES
    for row in report["rows"]:
        for clock in ("wall", "cpu"):
            low, high = row[clock]["quartiles_ms"]
            assert 0 <= low <= high
            assert row[clock]["median_ms"] > 0
    interpreter = report["rows"][1]
    assert interpreter["wall"]["ratio_to_interpreter"] == interpreter["cpu"]["ratio_to_interpreter"] == 1


def test_the_table_has_a_line_for_each() -> None:
    lines = CliRunner().invoke(bench, ["--rounds", "3"], catch_exceptions=False).stdout.splitlines()
    assert len(lines) == len(NAMES) + 2
    assert len({len(line) for line in lines}) == 1
