"""SQLite's module itself, without the package around it.

``sqlite3`` adds conversions of dates, which are not used here, and for these it imports ``datetime``: that costs a hook
as much as opening the database does.
"""

from __future__ import annotations

from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import _sqlite3 as sqlite3
    except ImportError:  # another interpreter than CPython
        import sqlite3

__all__ = ["sqlite3"]
