"""Writes the API's contract to ``schema/lockgate-api.json``.

``python -m lockgate.service.http.schemas.build [--check]``
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from lockgate.service.http.app import make_api
from lockgate.service.http.context import DashboardContext

PLACE = Path(__file__).parents[5] / "schema" / "lockgate-api.json"


def contract() -> str:
    """The OpenAPI document, as it is kept."""
    nothing = cast(DashboardContext, SimpleNamespace(at_end=[]))  # no route is called
    return json.dumps(make_api(nothing).openapi(), indent=2, sort_keys=True) + "\n"


def main(arguments: Sequence[str] = ()) -> int:
    """Write the document, or with ``--check`` say whether it is stale. Returns the exit code."""
    text = contract()
    if "--check" not in arguments:
        PLACE.write_text(text, encoding="utf-8")
        return 0
    if PLACE.is_file() and PLACE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PLACE.name} is stale: run make knowledge", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
