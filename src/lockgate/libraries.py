"""Libraries for a process that was started without them.

A hook runs with ``-S``, because looking through the environment costs more than most decisions. Lockgate's own folder
is then the only one that is searched: installed, that holds the libraries too; in a checkout it does not.
"""

from __future__ import annotations

import sys

from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def library(name: str) -> Any:
    """Import a top-level library, looking through the whole environment only where it is not found otherwise.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return __import__(name)
    except ImportError:
        if not sys.flags.no_site:
            raise
        import site

        site.main()
        return __import__(name)
