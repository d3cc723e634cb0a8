"""Writes ``texts_1.jsonl``: texts with keys, with personal data and with neither, from the tables beside this file.

The tables were written from the providers' formats, before anyone looked at the library's patterns. In a text,
``<hex:32>`` is 32 random letters of a class, ``<card:4:16>`` a value of ``texts_1_values.py``, ``[[b64:...]]`` what
it holds, encoded. ``text`` is written as pieces of a few characters, so that no row looks like a key to a scanner:
``load`` joins them.

    python evals/patterns/heldout/texts_1.py            # writes texts_1.jsonl
    python evals/patterns/heldout/texts_1.py --measure  # and what `lockgate scan --jsonl` finds in it
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import subprocess
import sys
import urllib.parse
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from texts_1_values import CLASSES, VALUES, of

HERE = Path(__file__).parent
PIECE = 7
TABLES = (("secret", 1), ("people", 1), ("harmless", 0))

ENCODERS: dict[str, Callable[[str], str]] = {
    "b64": lambda text: base64.b64encode(text.encode()).decode(),
    "gz": lambda text: base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode(),
    "hex": lambda text: text.encode().hex(),
    "url": lambda text: urllib.parse.quote(text, safe=""),
    "u": lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
    "x": lambda text: "".join(f"\\x{ord(c):02x}" for c in text),
    "html": lambda text: "".join(f"&#{ord(c)};" for c in html.escape(text)),
    "tail": lambda text: text.split(":", 1)[1][int(text.split(":", 1)[0]) :],
}
_ENCODED = re.compile(r"\[\[(b64|gz|hex|url|u|x|html|tail):((?:(?!\[\[).)*?)\]\]", re.DOTALL)
_VALUE = re.compile(r"<(\w+)((?::[\w-]+)*)>")


def expand(template: str, rng: Random) -> str:
    """The text of a row of a table, with new random values."""

    def value(found: re.Match[str]) -> str:
        name, arguments = found[1], found[2].split(":")[1:]
        if name in CLASSES and arguments:
            return of(rng, CLASSES[name], int(arguments[0]))
        return VALUES[name](rng, *arguments) if name in VALUES else found[0]

    text = _VALUE.sub(value, template.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\"))
    while _ENCODED.search(text):
        text = _ENCODED.sub(lambda found: ENCODERS[found[1]](found[2]), text)
    return text


def rows(seed: int = 1) -> Iterator[dict[str, object]]:
    """Each row of the tables, expanded."""
    rng = Random(seed)
    for table, label in TABLES:
        name = "secrets" if table == "secret" else table
        for line in (HERE / f"texts_1_{name}.txt").read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("# "):
                kind, form, template = line.split(" | ", 2)
                yield {"text": expand(template, rng), "label": label, "type": kind, "form": form, "table": table}


def load(path: Path) -> list[dict[str, object]]:
    """The rows of a file, with their text in one piece."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{**row, "text": "".join(row["text"])} for row in found]


def measure(found: list[dict[str, object]], *, show: bool) -> None:
    """Print recall for each type, precision and F1 over all; a text counts as found with any finding above ``low``."""
    lines = "".join(json.dumps({"text": row["text"]}) + "\n" for row in found)
    done = subprocess.run(
        [sys.executable, "-m", "lockgate", "scan", "--jsonl"], input=lines, capture_output=True, text=True, check=False
    )
    answers = [json.loads(line)["findings"] for line in done.stdout.splitlines()]
    tally: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row, findings in zip(found, answers, strict=True):
        told = [f for f in findings if f["severity"] != "low"]
        key = f"{row['table']}: {row['type']}"
        tally[key][0] += bool(told)
        tally[key][1] += 1
        if show and bool(told) != bool(row["label"]):
            print(
                "MISS " if row["label"] else "ALARM",
                key,
                "|",
                row["form"],
                "|",
                repr(row["text"])[:150],
                [f["rule"] for f in told],
            )
        if show and row["label"] and len(findings) > 1:
            print("TWICE", key, "|", row["form"], [(f["rule"], f["start"], f["end"]) for f in findings])
    report(tally)


def report(tally: dict[str, list[int]]) -> None:
    """The figures of a measurement."""
    for name in ("secret", "people", "harmless"):
        part = [counts for key, counts in tally.items() if key.startswith(name)]
        print(f"{name}: {sum(c[0] for c in part)} of {sum(c[1] for c in part)} found")
    hits = sum(c[0] for key, c in tally.items() if not key.startswith("harmless"))
    false = sum(c[0] for key, c in tally.items() if key.startswith("harmless"))
    real = sum(c[1] for key, c in tally.items() if not key.startswith("harmless"))
    precision, recall = hits / (hits + false), hits / real
    print(f"recall {recall:.3f} precision {precision:.3f} F1 {2 * precision * recall / (precision + recall):.3f}")
    for key, counts in sorted(tally.items()):
        print(f"  {key}: {counts[0]}/{counts[1]}")


def main() -> None:
    """Write the file; with ``--measure`` measure it, with ``--show`` list what is wrong too."""
    target = HERE / "texts_1.jsonl"
    if not target.exists() or "--write" in sys.argv:
        with target.open("w", encoding="utf-8") as out:
            for row in rows():
                text = str(row["text"])
                pieces = [text[i : i + PIECE] for i in range(0, len(text), PIECE)]
                out.write(json.dumps({**row, "text": pieces}, ensure_ascii=False) + "\n")
    if "--measure" in sys.argv:
        measure(load(target), show="--show" in sys.argv)


if __name__ == "__main__":
    main()
