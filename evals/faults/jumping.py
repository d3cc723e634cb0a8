"""A gate or a hook whose clock is wrong: ``python -I -S jumping.py [.../process.py] ARGUMENTS``, beside a ``lockgate``.

By how many seconds stands in a file ``clock`` beside the folder of ``--state``, and counts from one look at the time to
the next. Only the time of day is wrong: no clock jumps by which a process measures how long it waits.
"""

from __future__ import annotations

import os
import sys
import time

_HERE = os.path.dirname(os.path.abspath(__file__))
_FILE = os.path.join(os.path.dirname(sys.argv[sys.argv.index("--state") + 1]), "clock")
_right = time.time


def _wrong() -> float:
    try:
        with open(_FILE, encoding="ascii") as file:
            return _right() + float(file.read())
    except (OSError, ValueError):
        return _right()


time.time = _wrong
program = sys.argv.pop(1) if sys.argv[1].endswith(".py") else os.path.join(_HERE, "lockgate", "hook.py")
sys.argv[0] = program
sys.path[:0] = [os.path.dirname(program)]
with open(program, encoding="utf-8") as source:
    exec(compile(source.read(), program, "exec"), {"__name__": "__main__", "__file__": program})
