"""Compiles the shipped library beside the code: ``python -m lockgate.configuration.pattern_library.prepare``.

A state folder that is new (each test has one) then needs no compiling. It is part of a checkout's set-up; where
Lockgate was installed otherwise, the library is compiled into the state folder when it is first needed. Where it is
there already, nothing is done.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from lockgate.configuration.pattern_library.cache import BESIDE, beside_path
from lockgate.configuration.pattern_library.compile import artefact_name, compiled, write_artefact
from lockgate.configuration.pattern_library.layers import gather
from lockgate.core.errors import LockgateError
from lockgate.system.ownership import make_folders


def main() -> int:
    """Compile what is missing, and remove what belongs to no version of the library any more."""
    try:
        library = gather(None, ()).linked.library
        path = beside_path(artefact_name(library))
        if os.path.exists(path):
            return 0
        make_folders(BESIDE, 0o755)
        old = [os.path.join(BESIDE, name) for name in os.listdir(BESIDE)]
        write_artefact(path, compiled(library))
    except (LockgateError, OSError) as error:
        print(f"prepare: {error}", file=sys.stderr)
        return 1
    for each in old:
        with suppress(OSError):
            os.unlink(each)
    return 0


if __name__ == "__main__":
    sys.exit(main())
