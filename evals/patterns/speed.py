# /// script
# dependencies = ["matplotlib>=3.9"]
# ///
"""Measures whether the time of a scan grows with the length of a text, and no faster.

    python evals/patterns/speed.py [--longest 10000000] [--shape NAME] [--plot docs/patterns-linear.svg]

Texts of each shape grow from 1 KB to 10 MB. They are scanned with the whole shipped library in a process that is warm,
as a call of a tool is, so each group has its own time (``timeout_ms``); where that was over, the figure has a star, and
the group's fallback decides. Times are of the processor, the least of some rounds. Fails where a bound is not kept.
"""

from __future__ import annotations

import argparse
import base64
import gc
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import harmless  # noqa: E402
from formats import BASE64, HEX, some  # noqa: E402
from scanner import open_scanner  # noqa: E402

from lockgate.patterns.engine.request import CheckRequest  # noqa: E402
from lockgate.patterns.engine.scanner import Scanner  # noqa: E402
from lockgate.patterns.fields import Field  # noqa: E402
from lockgate.patterns.model import Side  # noqa: E402

LENGTHS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
ORDINARY = frozenset({"Python source", "JavaScript, minified", "lock file", "log"})
BOUNDS = {10_000: 1.0, 1_000_000: 60.0}
"""Milliseconds for ordinary texts of a length."""
MOST = 1_000.0
"""Milliseconds for any text of 1 MB: all groups' times, and what is shared."""
_ROUNDS = 3


def _of(piece: str) -> Callable[[int], str]:
    def text(length: int) -> str:
        return (piece * (length // len(piece) + 1))[:length]

    return text


def _made(make: Callable[[Random], str]) -> Callable[[int], str]:
    """Pieces by chance, up to 300 KB of different ones."""

    def text(length: int) -> str:
        chance, pieces, size = Random(1), [], 0
        while size < min(length, 300_000):
            pieces.append(make(chance))
            size += len(pieces[-1])
        return _of("".join(pieces))(length)

    return text


def _python(length: int) -> str:
    folder, found = Path(sysconfig.get_path("stdlib")), ""
    for file in sorted(folder.glob("*.py")):
        found += file.read_text(encoding="utf-8", errors="replace")
        if len(found) >= min(length, 3_000_000):
            break
    return _of(found)(length)


def _minified(chance: Random) -> str:
    name, other = chance.choice("abcdefgh"), some(chance, "abcdefghijklmn", 4)
    body = f"return t.{other}?e[t.key]||(e[t.key]=new {other}(t,{{value:!0}})):void 0"
    return f"function {name}(t,e){{{body}}}var {other}={name}({chance.randrange(999)});"


def _log(chance: Random) -> str:
    at = f"2026-03-01T12:00:{chance.randrange(60):02}.{chance.randrange(1000):03}Z"
    call = f"GET /v1/items/{chance.randrange(10**6)} 200 {chance.randrange(900)}ms"
    return f"{at} INFO api: {call} id={some(chance, HEX, 32)}\n"


def _lock(chance: Random) -> str:
    return chance.choice(list(harmless.LOCKS.values()))(chance)


def _nested(length: int) -> str:
    data = _python(max(100, length // 3)).encode()
    for _ in range(3):
        data = base64.b64encode(data)
    return _of(data.decode())(length)


SHAPES: Mapping[str, Callable[[int], str]] = {
    "Python source": _python,
    "JavaScript, minified": _made(_minified),
    "lock file": _made(_lock),
    "log": _made(_log),
    "base64": _made(lambda chance: some(chance, BASE64, 4096)),
    "base64 in base64 in base64": _nested,
    "hexadecimal": _made(lambda chance: some(chance, HEX, 4096)),
    "hexadecimal, lines": _made(lambda chance: some(chance, HEX, 64) + "\n"),
    "digits": _made(lambda chance: some(chance, "0123456789", 4096)),
    "cards, nearly": _made(lambda chance: "4" + some(chance, "0123456789", 15) + " "),
    "zeros": _of("0"),
    "a.": _of("a."),
    "a@": _of("a@"),
    "a@b.": _of("a@b."),
    "a-": _of("a-"),
    "a ": _of("a "),
    "spaces": _of(" "),
    "lines": _of("\n"),
    "password=": _of("password="),
    "password: ": _of("password: "),
    "password = \"": _of('password = "'),
    "token=a&": _of("token=a&"),
    "secret_": _of("secret_"),
    "key key": _of("api key "),
    "Authorization: Bearer ": _of("Authorization: Bearer "),
    "https://a:b@": _of("https://a:b@"),
    "://": _of("://"),
    "AKIA": _of("AKIA"),
    "ghp_": _of("ghp_"),
    "sk-": _of("sk-"),
    "eyJ": _of("eyJ"),
    "eyJhbGciOi.": _of("eyJhbGciOi."),
    "PEM headers": _of("-----BEGIN PRIVATE KEY-----\n"),
    "PEM headers, one line": _of("-----BEGIN RSA PRIVATE KEY-----"),
    "xoxb-1-": _of("xoxb-1-"),
    "AIza": _of("AIzaSy0"),
    "%41": _of("%41"),
    "\\x41": _of("\\x41"),
    "\\u0041": _of("\\u0041"),
    "&#65;": _of("&#65;"),
    "quotes": _of('"'),
    "'a'+'b'+": _of("'a'+'b'+"),
    "\"a\" \"b\"": _of('"a" "b" '),
    "$A$B": _of("$A${B}"),
    "a=b;": _of("a=b;"),
    "long name": _of("a"),
    "long_name_": _of("long_name_"),
    "brackets": _of("[{("),
    "1.1.1.1.": _of("1.1.1.1."),
    "1-1-": _of("1-1-"),
    "+1 ": _of("+1 "),
    "uuid": _made(lambda chance: harmless.uuid(chance) + "\n"),
    "é": _of("é"),
    "emoji": _of("\U0001f600"),
    "zero bytes": _of("\0"),
    "surrogates": _of("\udcff"),
}  # fmt: skip


class Spent(NamedTuple):
    """What one scan took."""

    milliseconds: float
    unfinished: bool


def spent(scanner: Scanner, text: str, rounds: int = _ROUNDS) -> Spent:
    """The least time of some scans."""
    best, unfinished = float("inf"), False
    for _ in range(rounds):
        gc.collect()
        begun = time.process_time()
        result = scanner.check([Field("", "", text)], CheckRequest(Side.INPUT))
        best = min(best, (time.process_time() - begun) * 1000)
        unfinished |= bool(result.expired)
        if best > 500:
            break
    return Spent(best, unfinished)


def broken(shape: str, times: Mapping[int, Spent]) -> list[str]:
    """The bounds that a shape does not keep."""
    bounds = BOUNDS if shape in ORDINARY else {1_000_000: MOST}
    return [
        f"{shape}, {length:,} characters: {times[length].milliseconds:.1f} ms, at most {bound:.0f}"
        for length, bound in bounds.items()
        if length in times and times[length].milliseconds > bound
    ]


def plot(found: Mapping[str, Mapping[int, Spent]], file: Path) -> None:
    """Draw time against length: ordinary texts as lines, the others as thin ones."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["svg.hashsalt"] = "lockgate"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    for name, times in found.items():
        values = [times[length].milliseconds for length in times]
        usual = name in ORDINARY
        style = {"linewidth": 1.6, "marker": "o", "markersize": 3, "label": name, "zorder": 2}
        axes.plot(list(times), values, **(style if usual else {"linewidth": 0.5, "color": "#bbbbbb", "zorder": 1}))
    axes.plot([], [], linewidth=0.5, color="#bbbbbb", label="made to be slow")
    axes.scatter(list(BOUNDS), list(BOUNDS.values()), marker="v", color="black", label="bound", zorder=3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("characters")
    axes.set_ylabel("milliseconds of processor time")
    axes.legend(fontsize=7, frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description="Measure how a scan grows with a text's length.")
    parser.add_argument("--longest", type=int, default=1_000_000, help="characters; 10000000 takes minutes")
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--plot", type=Path, help="an SVG file to draw (needs matplotlib)")
    arguments = parser.parse_args(given)
    lengths = [length for length in LENGTHS if length <= arguments.longest]
    scanner = open_scanner()
    spent(scanner, _python(1_000))
    print(f"{'milliseconds':28}" + "".join(f"{length:>12,}" for length in lengths))
    found: dict[str, dict[int, Spent]] = {}
    for name in arguments.shape or SHAPES:
        found[name] = {length: spent(scanner, SHAPES[name](length)) for length in lengths}
        row = "".join(f"{each.milliseconds:11.2f}{'*' if each.unfinished else ' '}" for each in found[name].values())
        print(f"{name:28}{row}", flush=True)
    print("* a group's time was over: its fallback decides")
    if arguments.plot:
        plot(found, arguments.plot)
    faults = [fault for name, times in found.items() for fault in broken(name, times)]
    for fault in faults:
        print(f"FAILED: {fault}")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
