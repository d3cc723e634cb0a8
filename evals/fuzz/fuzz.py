"""Fuzz one target with atheris (``make fuzz TIME=60``).

    python evals/fuzz/fuzz.py TARGET [libFuzzer's options]

Begins with the seeds in ``corpus/TARGET``; what is found goes to ``.fuzz/TARGET``. What breaks a law is written to a
file ``.fuzz/TARGET/crash-*``: make it small, and keep it in ``corpus/TARGET`` under a name that says what it was.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

HERE = Path(__file__).resolve().parent
FOUND = HERE.parents[1] / ".fuzz"
LONGEST = 4_096
SLOWEST = 20
"""Seconds for one input, of which much is the instrumentation's."""


def main(name: str, options: list[str]) -> None:
    with atheris.instrument_imports(include=["lockgate"]):
        from targets import TARGETS

    found = FOUND / name
    found.mkdir(parents=True, exist_ok=True)
    arguments = [f"-max_len={LONGEST}", f"-timeout={SLOWEST}", f"-artifact_prefix={found}/", *options]
    words = HERE / "words.txt"
    if words.exists():
        arguments.append(f"-dict={words}")
    atheris.Setup([sys.argv[0], *arguments, str(found), str(HERE / "corpus" / name)], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
