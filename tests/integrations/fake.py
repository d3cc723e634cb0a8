"""The fake model of the examples, for tests too."""

from __future__ import annotations

import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.append(str(EXAMPLES))

from fake_model import FakeModel, Item, call, item, say  # noqa: E402

__all__ = ["EXAMPLES", "FakeModel", "Item", "call", "item", "say"]
