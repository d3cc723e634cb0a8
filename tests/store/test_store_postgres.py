"""The shared store keeps the contract, on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from contract import StoreContract

from lockgate.store.opening import open_store
from lockgate.store.protocol import Store
from support.postgres import use


class TestPostgres(StoreContract):
    @pytest.fixture
    def make(self, tmp_path: Path, postgres_url: str) -> Callable[[], Store]:
        state = use(tmp_path / "state", postgres_url, "here")
        return lambda: open_store(str(state), busy_seconds=5.0)
