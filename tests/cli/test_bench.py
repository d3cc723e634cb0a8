"""``lockgate bench``: what it measures is what a client runs, its arithmetic, and its drawing."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockgate.cli.bench import bench
from lockgate.cli.bench.run import gates
from lockgate.cli.bench.run.contained import NAMES
from lockgate.cli.bench.run.costs import Clock, Cost, Series, Spread
from lockgate.cli.bench.run.load import LoadResult
from lockgate.cli.bench.run.plot import Bar, Curve, bars, curves
from lockgate.cli.bench.run.report import table
from lockgate.cli.bench.run.stories import STORY, Client, session, verdict_of
from lockgate.clients.wire.resident import HEADER, request, sizes
from support.prepared import give_state

PROCESSES = ["true", "interpreter", "warm", "warm-first", "pre", "pre-script", "pre-read", "refused", "post"]
STATE = ["code", "state-opened", "labels", "commit", "commit-label"]
INSIDE = ["check-short", "check-3kb", "gate-check", "gate-finished", *STATE, "scan-10kb"]


def test_a_drawing_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    done = CliRunner().invoke(bench, ["--rounds", "2000", "--plot", str(tmp_path / "missing" / "plot.svg")])
    assert done.exit_code == 2
    assert "No such file" in done.output


@pytest.mark.slow  # it measures, which takes its time
def test_the_figures_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plot = tmp_path / "plot.svg"
    started: list[gates.BenchGate] = []
    launched = gates.launch_gate
    monkeypatch.setattr(gates, "launch_gate", lambda where: started.append(launched(where)) or started[-1])
    monkeypatch.setattr(gates, "prepare", lambda where: give_state(Path(where.state)))
    options = ["--rounds", "3", "--seconds", "0.2", "--json", "--plot", str(plot)]
    report = json.loads(CliRunner().invoke(bench, options, catch_exceptions=False).stdout)
    assert started
    assert all(gate.process.poll() is not None for gate in started)
    assert not any(Path(gate.where.home).exists() for gate in started)
    names = [row["name"] for row in report["rows"]]
    contained = [name for name in names if name in NAMES]
    others = [name for name in names if not name.startswith("warm-native") and name not in NAMES]
    assert others == [*PROCESSES, *INSIDE]
    assert {"bare", "contained-python"} <= set(contained), "this machine can contain"
    assert all(over["median_ms"] > 0 for over in report["contained_over_bare"].values())
    for row in report["rows"]:
        for clock in ("wall", "cpu"):
            low, high = row[clock]["quartiles_ms"]
            assert 0 <= low <= row[clock]["median_ms"] <= high
            assert row[clock]["to_interpreter"]["median"] >= 0
    interpreter = report["rows"][1]
    assert interpreter["wall"]["to_interpreter"] == {"median": 1, "quartiles": [1, 1]}
    gate = report["gate"]
    assert gate["decisions"] > 0
    assert gate["decisions_per_second"] > 0
    assert gate["in_gate_p50_ms"] <= gate["in_gate_p99_ms"]
    assert gate["start_to_first_answer"]["median_ms"] > 0
    drawn = ET.parse(plot).getroot()
    assert drawn.tag.endswith("svg")
    assert sum(element.tag.endswith("rect") for element in drawn.iter()) == len(names) - len(INSIDE) - len(contained)
    rows, _, about_gate = "\n".join(table(report)).partition("\n\n")
    assert len(rows.splitlines()) == len(names) + 2
    assert len({len(line) for line in rows.splitlines()}) == 1
    assert f"{gate['decisions_per_second']:,}" in about_gate


@pytest.mark.parametrize(
    ("values", "spread"),
    [
        ([2.0], (2.0, 2.0, 2.0)),
        ([1.0, 3.0], (2.0, 1.5, 2.5)),
        ([4.0, 1.0, 2.0, 3.0, 5.0], (3.0, 2.0, 4.0)),
    ],
)
def test_a_spread_is_the_median_with_its_quartiles(values: list[float], spread: tuple[float, ...]) -> None:
    assert Spread.of(values) == spread


def series(*walls: float, interleaved: bool = True) -> Series:
    return Series("n", "w", [Cost(wall, wall * 2) for wall in walls], interleaved)


def test_ratios_are_of_the_same_round_where_there_are_rounds() -> None:
    slow = series(10.0, 100.0, 10.0)
    base = series(5.0, 50.0, 5.0)
    assert slow.ratio(base, Clock.WALL) == (2.0, 2.0, 2.0)
    assert slow.ratio(base, Clock.CPU) == (2.0, 2.0, 2.0)
    assert series(10.0, 20.0, interleaved=False).ratio(base, Clock.WALL) == (3.0, 2.5, 3.5)


def test_what_a_program_costs_that_is_too_short_for_the_clock_is_no_zero() -> None:
    assert series(1.0).ratio(Series("n", "w", [Cost(0.0, 0.0)]), Clock.CPU).median == 2000.0


def test_a_load_tells_rates_and_waits() -> None:
    seen = LoadResult(2.0, [number / 1000 for number in range(1, 101)], Counter(silent=90, deny=10), [], 0, 0)
    assert seen.answered == 100
    assert seen.rate == 50.0
    assert seen.wait(0.5) == 51.0
    assert seen.wait(0.99) == 100.0
    assert LoadResult(0.0, [], Counter(), [], 0, 0).wait(0.5) == 0.0


def test_a_session_is_what_a_hook_says_and_no_other_session_says_the_same() -> None:
    client = Client(("claude-code", "--home", "/h", "--state", "/s", "--config", "/c"), "/h/project")
    first, second = (list(session(client, name)) for name in ("s1", "s2"))
    assert len(first) == len(STORY)
    for question in first:
        head, payload = sizes(question.data[:HEADER])
        asked = request(question.data[HEADER : HEADER + head], question.data[HEADER + head :])
        assert asked.arguments == client.arguments
        assert len(asked.payload) == payload
        said = json.loads(asked.payload)
        assert said["session_id"] == "s1"
        assert "{" not in said.get("tool_input", {}).get("file_path", "")
    assert not {question.data for question in first} & {question.data for question in second}


@pytest.mark.parametrize(
    ("code", "stdout", "verdict"),
    [
        (0, "", "silent"),
        (2, "", "failed"),
        (0, '{"hookSpecificOutput": {"permissionDecision": "deny"}}', "deny"),
        (0, '{"hookSpecificOutput": {"permissionDecision": "ask"}}', "ask"),
        (0, '{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {}}}', "contain"),
        (0, '{"hookSpecificOutput": {"updatedToolOutput": {}}}', "changed"),
        (0, '{"decision": "block", "reason": "x"}', "block"),
        (0, '{"systemMessage": "x"}', "told"),
    ],
)
def test_a_verdict_is_read_from_an_answer(code: int, stdout: str, verdict: str) -> None:
    assert verdict_of(code, stdout.encode()) == verdict


def test_drawings_escape_what_they_say_and_hold_what_they_show() -> None:
    drawn = ET.fromstring(bars("a < b", "note & more", [Bar("<script>", 2.0, 1.0, 3.0), Bar("b", 4.0, 4.0, 4.0, True)]))
    widths = [float(element.get("width", "0")) for element in drawn.iter() if element.tag.endswith("rect")]
    assert widths[1] == pytest.approx(2 * widths[0])
    lines = ET.fromstring(curves("t", "n", "gates", [Curve("one", [(1, 10.0), (2, 20.0)]), Curve("two", [(1, 5.0)])]))
    points = next(element for element in lines.iter() if element.tag.endswith("polyline")).get("points", "")
    (_, first), (_, second) = (map(float, point.split(",")) for point in points.split())
    assert second < first  # more is higher
    assert bars("t", "n", []).startswith("<svg")
