"""Tables of cases in YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""In C where there is libyaml: all tables are read whenever tests are collected, by each process that runs some."""


def read(path: Path) -> Any:
    """What a file says."""
    return yaml.load(path.read_bytes(), Loader=_LOADER)
