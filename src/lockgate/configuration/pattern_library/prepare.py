"""Compiles the shipped library beside the code: ``python -m lockgate.configuration.pattern_library.prepare``.

A state folder that is new (each test has one) then needs no compiling. It is part of a checkout's set-up; where
Lockgate was installed otherwise, the library is compiled into the state folder when it is first needed. Where root
registers hooks for every user, it is done for them. Where it is there already, nothing is done.
"""

from __future__ import annotations

import sys

from lockgate.configuration.pattern_library.readiness import make_beside
from lockgate.core.errors import LockgateError


def main() -> int:
    """Compile it, and say what is in the way."""
    try:
        make_beside()
    except (LockgateError, OSError) as error:
        print(f"prepare: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
