"""The version of this build, the folder of its package and the tables in it.

A module of its own: who needs the version must not import the whole package.
"""

from __future__ import annotations

import os

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The absolute path of ``src/lockgate``, or of the installed package."""


def resource_table(name: str) -> Any:
    """The rows of a table of ``resources/data``, as it was compiled. Who asks remembers them."""
    import json

    with open(os.path.join(PACKAGE_FOLDER, "resources", "data", f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)
