"""The stores that the conformance suite runs on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parquetry.store import MemoryStore, SQLiteStore, Store


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    opened: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "rows.sqlite")
    yield opened
    opened.close()
