"""Which engine the pattern library is matched with, measured: ``python evals/patterns/engines.py [--json]``.

Each engine gets the patterns of the shipped library and the same text, in a process of its own, so that import
times and memory are its own. Figures of one run are comparable with each other and with nothing else.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZES = (10_000, 100_000, 1_000_000)
ENGINES = ("hyperscan", "re2 set", "re2 rule by rule", "re rule by rule", "regex rule by rule")
_SLOW = 300_000
"""Characters that engines without a set are given at most."""


def patterns() -> list[str]:
    """All patterns of the shipped library."""
    import yaml

    from lockgate.patterns.library.build import FOLDER

    found: list[str] = []
    for file in sorted((FOLDER / "library").glob("*.yaml")):
        for side in yaml.safe_load(file.read_text(encoding="utf-8"))["patterns"].values():
            for group in side.values():
                rules = [rule for rule in group.get("rules", ()) if not rule["pattern"].startswith("!")]
                found += [("(?m)" if rule.get("multiline") else "") + rule["pattern"] for rule in rules]
    return found


def text(size: int) -> bytes:
    """Source code of the standard library."""
    sources = b"".join(file.read_bytes() for file in sorted(Path(argparse.__file__).parent.glob("*.py")))
    return (sources * (size // len(sources) + 1))[:size]


def _seconds(work: Callable[[], Any], times: int = 3) -> float:
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


def _hyperscan(expressions: list[str]) -> tuple[Callable[[bytes], Any], dict[str, float]]:
    import hyperscan

    from lockgate.patterns.engine.anchors import anchor_of

    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    each = [anchor_of(expression).pattern.encode() for expression in expressions]
    database.compile(expressions=each, ids=list(range(len(each))), flags=[0] * len(each))
    data = hyperscan.dumpb(database)

    def load() -> Any:
        loaded = hyperscan.loadb(data, mode=hyperscan.HS_MODE_BLOCK)
        loaded.scratch = hyperscan.Scratch(loaded)
        return loaded

    loaded = load()
    extra = {"load_ms": _seconds(load) * 1000, "kept_bytes": float(len(data))}
    return lambda some: loaded.scan(some, match_event_handler=lambda *_: None), extra


def _re2_set(expressions: list[str]) -> tuple[Callable[[bytes], Any], dict[str, float]]:
    import re2

    options = re2.Options()
    options.max_mem = 1 << 30
    made = re2.Set.SearchSet(options)
    for expression in expressions:
        made.Add(expression)
    made.Compile()
    return lambda some: made.Match(some.decode("utf-8", "replace")), {}


def _one_by_one(module: str) -> Callable[[list[str]], tuple[Callable[[bytes], Any], dict[str, float]]]:
    def made(expressions: list[str]) -> tuple[Callable[[bytes], Any], dict[str, float]]:
        compiler: Any = __import__(module)
        compiled = []
        for expression in expressions:
            try:
                compiled.append(compiler.compile(expression.encode()))
            except Exception:  # noqa: BLE001 - the dialects differ; a pattern fewer changes little
                continue
        return lambda some: [sum(1 for _ in each.finditer(some)) for each in compiled], {"patterns": len(compiled)}

    return made


_MAKERS: dict[str, Callable[[list[str]], tuple[Callable[[bytes], Any], dict[str, float]]]] = {
    "hyperscan": _hyperscan,
    "re2 set": _re2_set,
    "re2 rule by rule": _one_by_one("re2"),
    "re rule by rule": _one_by_one("re"),
    "regex rule by rule": _one_by_one("regex"),
}


def measure(engine: str) -> dict[str, float]:
    """The figures of one engine, in this process."""
    expressions = patterns()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    __import__(engine.split()[0])
    imported = time.perf_counter()
    scan, figures = _MAKERS[engine](expressions)
    made = time.perf_counter()
    figures |= {"import_ms": (imported - began) * 1000, "compile_ms": (made - imported) * 1000}
    for size in SIZES:
        if engine == "hyperscan" or size <= _SLOW:
            some = text(size)
            figures[f"scan_{size}_ms"] = _seconds(lambda some=some: scan(some)) * 1000  # type: ignore[misc]
    figures["memory_mb"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return figures


def main() -> None:
    """Measure each engine in a process of its own, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--engine", choices=ENGINES, help="measure one, in this process")
    arguments = parser.parse_args()
    if arguments.engine:
        print(json.dumps(measure(arguments.engine)))
        return
    table: dict[str, dict[str, float]] = {}
    for engine in ENGINES:
        command = [sys.executable, __file__, "--engine", engine]
        table[engine] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    if arguments.json:
        print(json.dumps(table, indent=2))
        return
    columns = ["import_ms", "compile_ms", "load_ms", *(f"scan_{size}_ms" for size in SIZES), "memory_mb"]
    print("| engine | " + " | ".join(column.replace("_", " ") for column in columns) + " |")
    print("| --- " * (len(columns) + 1) + "|")
    for engine, figures in table.items():
        cells = (f"{figures[column]:.2f}" if column in figures else "-" for column in columns)
        print(f"| {engine} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
