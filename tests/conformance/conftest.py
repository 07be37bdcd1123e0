"""The stores that the conformance suite runs on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from parquetry.store import MemoryStore, SQLiteStore, Store, open_store as store_of_url
from parquetry.testing import OpenStore
from tests.support.hbase import launcher as hbase
from tests.support.postgresql import launcher as postgresql

_NUMBERS = itertools.count()


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        *(pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("postgresql", "hbase")),
    ]
)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    """Opens an empty store of each kind."""
    if request.param == "memory":
        store = MemoryStore()
        return lambda: store
    if request.param == "sqlite":
        return lambda: SQLiteStore(tmp_path / "rows.sqlite")
    server = {"postgresql": postgresql, "hbase": hbase}[request.param].shared_server()
    url = server.url(f"conformance{next(_NUMBERS)}")
    return lambda: store_of_url(url, str(tmp_path), create=True)


@pytest.fixture
def store(open_store: OpenStore) -> Iterator[Store]:
    """An empty store of each kind."""
    opened = open_store()
    yield opened
    opened.close()
