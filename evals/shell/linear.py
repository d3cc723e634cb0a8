# /// script
# dependencies = ["matplotlib>=3.9"]
# ///
"""Measures whether the time of the analysis grows with the length of a command, and no faster.

    python evals/shell/linear.py [--plot docs/linear.svg]

For each shape, commands of growing length are analysed in this process. What is said is the time of each character,
as a multiple of that of a command of 1,000: a flat line is linear. Fails where one shape's grows beyond ``MOST``.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell

LENGTHS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
MOST = 3.0
"""How many times more a character of a long command may take. Real growth with the square would be 64."""
_ROUNDS = 5
_AROUND = HostView(home="/home/user", workspace="/home/user/project", variables={"PATH": "/usr/bin"})


def _of(piece: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """A command that repeats a piece; ``@`` in it is a number of its own."""

    def written(length: int) -> str:
        pieces = [before]
        numbers = count(1)
        while length > 0:
            pieces.append(piece.replace("@", str(next(numbers))))
            length -= len(pieces[-1])
        return "".join((*pieces, after))

    return written


SHAPES: Mapping[str, Callable[[int], str]] = {
    "words": _of(" word@", "echo"),
    "options and paths": _of(" -x src/a@.py", "frobnicate"),
    "files to read": _of(" src/a@.py", "cat"),
    "pipeline": _of(" | grep -v word@", "cat a.txt"),
    "list": _of("git status; "),
    "loops": _of("for i in a b; do echo $i; done\n"),
    "assignments": _of("name@=value; "),
    "substitutions": _of(" $(echo word@)", "echo"),
    "here-document": _of("a line of text, $HOME\n", "cat <<E\n", "E\n"),
    "quotes": _of(" 'a word' \"and $x\"", "echo"),
    "functions": _of("f@() { echo a; }; f@\n"),
    "Python": _of("x@ = [1, 2]\nprint(x@)\n", "python3 - <<'E'\n", "E\n"),
    "sed": _of("s/a@/b/g;", "sed '", "' a.txt"),
}


def measured(shape: Callable[[int], str]) -> list[float]:
    """Seconds of processor time for each length: the least of some rounds, as other work only adds to it."""
    best = [float("inf")] * len(LENGTHS)
    texts = [shape(length) for length in LENGTHS]
    for _ in range(_ROUNDS):
        for index, text in enumerate(texts):
            gc.collect()
            begun = time.process_time()
            analyse_shell(text, "/home/user/project", _AROUND)
            best[index] = min(best[index], time.process_time() - begun)
    return best


def ratios(times: Sequence[float]) -> list[float]:
    """The time of each character, as a multiple of the shortest command's."""
    return [(spent / length) / (times[0] / LENGTHS[0]) for spent, length in zip(times, LENGTHS, strict=True)]


def plot(found: Mapping[str, Sequence[float]], file: Path) -> None:
    """Draw the ratios."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["svg.hashsalt"] = "lockgate"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 4), layout="constrained")
    for name, values in found.items():
        axes.plot(LENGTHS, values, marker="o", markersize=3, linewidth=1.2, label=name)
    axes.set_xscale("log", base=2)
    axes.set_xticks(LENGTHS, [f"{length // 1000}k" for length in LENGTHS])
    axes.set_ylim(0, MOST)
    axes.set_xlabel("characters of the command")
    axes.set_ylabel("time per character, relative to 1,000")
    axes.axhline(1, color="gray", linewidth=0.6)
    axes.legend(fontsize=7, ncols=3, frameon=False)
    figure.savefig(file, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how the analysis grows with a command's length.")
    parser.add_argument("--plot", type=Path, help="an SVG file to draw (needs matplotlib)")
    arguments = parser.parse_args()
    found = {}
    print(f"{'':20}" + "".join(f"{length:>8}" for length in LENGTHS) + "   ms for the longest")
    for name, shape in SHAPES.items():
        times = measured(shape)
        found[name] = ratios(times)
        print(f"{name:20}" + "".join(f"{ratio:8.2f}" for ratio in found[name]) + f"{times[-1] * 1000:10.1f}")
    if arguments.plot:
        plot(found, arguments.plot)
    worst = max(found, key=lambda name: max(found[name]))
    print(f"worst: {worst}, {max(found[worst]):.2f} times the time of each character (at most {MOST})")
    return int(max(found[worst]) > MOST)


if __name__ == "__main__":
    sys.exit(main())
