"""Whole days of an agent through real clients, with and without Lockgate: needless stops and other outputs.

    .venv/bin/python evals/days/compare_days.py [DAY...] [--client NAME] [--verbose]

Each day runs twice without Lockgate and once with it, on a fresh machine at the same place. What varies by itself
between the two is left out of account, and nothing else. Exit status 0 where no harmless step was stopped, every result
and every file is the same, and the clean day has neither a stop nor a source.
"""

from __future__ import annotations

import argparse
import time

import days
from clients import ClaudeCodeInFront, place_of
from day_labels import Judged, acts, judged
from machine import Machine
from other_clients import CLIENTS


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
    if given.in_front:
        _in_front({name: known[name] for name in given.names or known})
        return
    rows, wrong = [], False
    for name in given.names or known:
        for client in given.client or CLIENTS:
            began = time.monotonic()
            machine = Machine(place_of(name, client), known[name])
            agent = CLIENTS[client](machine)
            try:
                bare = [agent.run(guarded=False), agent.run(guarded=False)]
                found = judged(known[name], bare, agent.run(guarded=True))
            finally:
                machine.end()
            _show(name, client, found, verbose=given.verbose)
            rows.append(_row(name, client, found, time.monotonic() - began))
            wrong = wrong or found.wrong(known[name])
    _table(rows)
    raise SystemExit(1 if wrong else 0)


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
        marks = [mark for mark, holds in (("NEEDLESS", one.needless), ("OTHER", one.difference)) if holds]
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
        sum(bool(one.difference) for one in outcomes) + len(found.files),
        len(acts(outcomes)),
    )
    return name, client, *map(str, counts), "yes" if found.sourced else "no", f"{seconds:.0f} s"


def _table(rows: list[tuple[str, ...]]) -> None:
    head = ("day", "client", "steps", "contained", "stops", "needless", "other", "acts stopped", "source", "took")
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    for row in (head, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
