"""Whole days of an agent through real clients, with and without Lockgate: needless stops and other outputs.

    .venv/bin/python evals/days/compare_days.py [DAY...] [--client NAME] [--verbose]

Each day runs twice without Lockgate and once with it, on a fresh machine at the same place. Where something differs, it
runs twice more without. What varies by itself between these is left out of account, and nothing else. Exit status 0
where no harmless step was stopped, every result and every file is the same, and the clean day has neither a stop nor a
source. A step that the client itself does not let work without Lockgate is *gained* where it works with it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import days
from clients import ClaudeCodeInFront, Run, place_of
from day_labels import Judged, Outcome, acts, judged
from machine import Machine, fetch
from other_clients import CLIENTS

_MARKS: dict[str, Callable[[Outcome], object]] = {
    "NEEDLESS": lambda one: one.needless,
    "OTHER": lambda one: one.difference and not one.gained,
    "fails without Lockgate alone": lambda one: one.gained,
}


def main() -> None:
    """Run from the command line."""
    known = days.days()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *known], metavar="DAY", help=", ".join(known))
    parser.add_argument("--client", choices=CLIENTS, action="append")
    parser.add_argument("--verbose", action="store_true", help="show every step")
    parser.add_argument(
        "--in-front", action="store_true", help="only Claude Code in a terminal: acts that one key lets through"
    )
    given = parser.parse_args()
    chosen = {name: known[name] for name in given.names or known}
    fetch(chosen.values())
    if given.in_front:
        _in_front(chosen)
        return
    rows, wrong = [], False
    for name in chosen:
        for client in given.client or CLIENTS:
            began = time.monotonic()
            found = _worked(name, client, known[name])
            _show(name, client, found, verbose=given.verbose)
            rows.append(_row(name, client, found, time.monotonic() - began))
            wrong = wrong or found.wrong(known[name])
    _table(rows)
    raise SystemExit(1 if wrong else 0)


def _worked(name: str, client: str, day: days.Day) -> Judged:
    """Have a client work through a day without Lockgate and with it, and compare."""
    machine = Machine(place_of(name, client), day)
    agent = CLIENTS[client](machine)

    def run(about: str, *, guarded: bool = False) -> Run:
        began = time.monotonic()
        done = agent.run(guarded=guarded)
        print(f"{name} {client} {about}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        return done

    try:
        bare = [run(f"without Lockgate {number}") for number in (1, 2)]
        guarded = run("with Lockgate", guarded=True)
        found = judged(day, bare, guarded)
        if found.differs:
            # What varies now and then can be the same twice: more runs prove it.
            bare += [run(f"without Lockgate {number}") for number in (3, 4)]
            found = judged(day, bare, guarded)
    finally:
        machine.end()
    return found


def _in_front(chosen: dict[str, days.Day]) -> None:
    """Of the acts that are stopped: how many go on with one key in the same window."""
    for name, day in chosen.items():
        machine = Machine(place_of(name, "in-front"), day)
        agent = ClaudeCodeInFront(machine)
        try:
            run = agent.run(guarded=True)
        finally:
            machine.end()
        # It is compared with itself: only verdicts and results of this run matter.
        found = judged(day, [run, run], run)
        stopped = acts(found.outcomes)
        passed = sum(not run.results[day.steps.index(one.step)].failed for one in stopped)
        needless = sum(one.needless for one in found.outcomes)
        print(
            f"{name:12} {len(stopped)} acts stopped, {passed} with one key; {agent.keys} keys; {needless} needless",
            flush=True,
        )


def _show(name: str, client: str, found: Judged, *, verbose: bool) -> None:
    for number, one in enumerate(found.outcomes, 1):
        marks = [mark for mark, holds in _MARKS.items() if holds(one)]
        if one.stopped and not one.needless:
            marks.append("stopped")
        if one.gave:
            marks.append(f"gave {', '.join(one.gave)}")
        if marks or verbose:
            print(f"{name} {client} {number:2} {one.verdict:8}{'; '.join(marks)}  {one.step.shown[:150]}")
            for line in (*one.rules, *one.difference.splitlines()):
                print(f"      {line[:300]}")
    for file in found.files:
        print(f"{name} {client} OTHER FILE {file}")


def _row(name: str, client: str, found: Judged, seconds: float) -> tuple[str, ...]:
    outcomes = found.outcomes
    counts = (
        len(outcomes),
        sum(one.verdict == "contain" for one in outcomes),
        sum(one.stopped for one in outcomes),
        sum(one.needless for one in outcomes),
        len(found.others) + len(found.files),
        sum(one.gained for one in outcomes),
        len(acts(outcomes)),
    )
    return name, client, *map(str, counts), "yes" if found.sourced else "no", f"{seconds:.0f} s"


def _table(rows: list[tuple[str, ...]]) -> None:
    head = (
        "day",
        "client",
        "steps",
        "contained",
        "stops",
        "needless",
        "other",
        "gained",
        "acts stopped",
        "source",
        "took",
    )
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    for row in (head, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
