"""The stores that the conformance suite runs on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from parquetry.store import MemoryStore, SQLiteStore, Store, open_store
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
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    opened: Store
    if request.param == "memory":
        opened = MemoryStore()
    elif request.param == "sqlite":
        opened = SQLiteStore(tmp_path / "rows.sqlite")
    elif request.param == "postgresql":
        url = postgresql.shared_server().url(f"conformance{next(_NUMBERS)}")
        opened = open_store(url, str(tmp_path), create=True)
    else:
        url = hbase.shared_server().url(f"conformance{next(_NUMBERS)}")
        opened = open_store(url, str(tmp_path), create=True)
    yield opened
    opened.close()
