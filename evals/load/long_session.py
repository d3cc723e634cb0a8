"""One session of very many calls: is it as fast at its end as at its start?

::

    python evals/load/long_session.py [--calls 100000] [--json FILE]

An agent asks about a call, tells its result, and goes on. All is one session, whose taints, calls and records grow.
Told is, for each twentieth of the calls, what a call with its result took of the gate's processor time, what its hooks
waited, and the gate's memory. Exits with 1 where the last tenth costs a quarter more than the first, or an answer is
wrong.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lockgate.cli.bench.run import gates, stories
from lockgate.cli.bench.run.load import Load
from lockgate.cli.bench.run.stories import BenchRequest, Client

PARTS = 20
NAME = "long"


def questions(client: Client) -> Iterator[BenchRequest]:
    """The questions of one endless session: the calls of the story again and again, each with an id of its own."""
    first, steps = stories.STORY[0], tuple(step for step in stories.STORY[1:-1] if "tool_name" in step.said)
    yield next(stories.session(client, NAME, (first,)))
    number = 0
    while True:
        for step, question in zip(steps, stories.session(client, NAME, steps), strict=True):
            number += step.event == "PreToolUse"
            yield BenchRequest(renamed(question.data, number), step.verdicts)
        # From the second time on, the session has read what a stranger wrote before it begins.
        steps = tuple(after_reading(steps))


def after_reading(steps: Iterable[stories.StoryEvent]) -> Iterator[stories.StoryEvent]:
    """The steps with what must be answered in a session that has read a stranger's text."""
    for step in steps:
        asked, tool = step.event == "PreToolUse", step.said["tool_name"]
        if tool == "mcp__tracker__get_issue":
            if asked:  # nobody has said of this tool that it only reads, so it does not run, and has no result
                yield step._replace(verdicts=stories.DENIED)
        elif asked and "pytest" in step.said["tool_input"].get("command", ""):
            yield step._replace(verdicts=stories.HELD)
        else:
            yield step


def renamed(data: bytes, number: int) -> bytes:
    """A request with another call id of the same length, so that nothing else in it changes."""
    at = data.rindex(b'"toolu_') + len(b'"toolu_')
    end = data.index(b'"', at)
    return data[:at] + str(number).rjust(end - at, "0").encode() + data[end:]


def measure(calls: int) -> dict[str, Any]:
    """Make the calls, in parts."""
    with tempfile.TemporaryDirectory(prefix="lockgate-load-") as folder:
        where = gates.folders_in(folder)
        gates.prepare(where)
        with gates.run_gate(where) as gate:
            source = questions(gate.client)
            parts = []
            for part in range(PARTS):
                chunk, made = [], 0
                for question in source:
                    chunk.append(question)
                    made += b'"PreToolUse"' in question.data
                    if made >= calls // PARTS:
                        break
                before = gate.processor_seconds()
                seen = Load([gate.path]).run_closed([chunk])
                if seen.wrong:
                    raise SystemExit(seen.wrong[0])
                spent = gate.processor_seconds() - before
                parts.append(
                    {
                        "calls": (part + 1) * (calls // PARTS),
                        "processor_ms_per_call": round(spent / made * 1000, 3),
                        "wait_p50_ms": round(seen.wait(0.5), 3),
                        "memory_mb": gate.status()["memory_mb"],
                        "declined": seen.declined,
                    }
                )
                print(json.dumps(parts[-1]), file=sys.stderr, flush=True)
    tenth = max(PARTS // 10, 1)
    first, last = (
        statistics.median(part["processor_ms_per_call"] for part in some) for some in (parts[:tenth], parts[-tenth:])
    )
    return {"parts": parts, "end_to_start": round(last / first, 3)}


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--json", help="a file for the figures")
    given = parser.parse_args(words)
    found = measure(given.calls)
    text = json.dumps(found, indent=2)
    print(text)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    return 0 if found["end_to_start"] < 1.25 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
