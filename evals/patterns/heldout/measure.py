"""Measure `lockgate scan --jsonl` on lines whose labels a person wrote.

    python evals/patterns/heldout/measure.py FILE.jsonl... [--kind KIND] [--errors]

A row is {"text", "label", "kind", "form"}; a text may be a list of pieces that are
joined, so that no file here looks like a key to a scanner. Any finding is a "yes".
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path


def rows_of(path: str) -> list[dict[str, object]]:
    """The rows of one file, with their texts joined."""
    rows = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
    for row in rows:
        row["text"] = "".join(row["text"])
    return rows


def findings_of(rows: list[dict[str, object]], kind: str | None) -> list[list[str]]:
    """The rules that fire on each row."""
    command = [str(Path(sys.executable).with_name("lockgate")), "scan", "--jsonl"]
    if kind:
        command += ["--kind", kind]
    lines = "".join(json.dumps({"text": row["text"]}) + "\n" for row in rows)
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    if len(answers) != len(rows):
        raise SystemExit(f"{len(answers)} answers to {len(rows)} rows: {ran.stderr[-500:]}")
    return [[found["rule"] for found in answer["findings"]] for answer in answers]


def figures(yes: list[bool], labels: list[int]) -> str:
    """Precision, recall and F1 in one line."""
    count = Counter(zip(yes, labels, strict=True))
    right, false, missed = count[True, 1], count[True, 0], count[False, 1]
    precision = right / max(1, right + false)
    recall = right / max(1, right + missed)
    f1 = 2 * right / max(1, 2 * right + false + missed)
    return (
        f"precision {precision:.3f}  recall {recall:.3f}  F1 {f1:.3f}  ({right} found, {missed} missed, {false} false)"
    )


def main() -> None:
    """Print the figures of the files together, and of each kind beside the negatives."""
    options = argparse.ArgumentParser()
    options.add_argument("files", nargs="+")
    options.add_argument("--kind")
    options.add_argument("--errors", action="store_true")
    options = options.parse_args()
    rows = [row for path in options.files for row in rows_of(path)]
    found = findings_of(rows, options.kind)
    if options.errors:
        for row, rules in zip(rows, found, strict=True):
            if bool(rules) != bool(row["label"]):
                print(f"{row['kind']:8}{row['form']:11}{row['text']!r} {rules or ''}")
    for kinds in ("human", "machine"), ("human",), ("machine",):
        part = [at for at, row in enumerate(rows) if row["kind"] in (*kinds, "none")]
        text = figures([bool(found[at]) for at in part], [rows[at]["label"] for at in part])
        print(f"{'+'.join(kinds):14} {text}")


if __name__ == "__main__":
    main()
