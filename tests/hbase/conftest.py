"""Tables of a real HBase, and a proxy before it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from parquetry.store.hbase.store import HBaseStore
from tests.support.hbase.launcher import HBaseServer, shared_server
from tests.support.hbase.proxy import Proxy

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def hbase() -> HBaseServer:
    """A running HBase in one JVM."""
    return shared_server()


@pytest.fixture
def table() -> str:
    """A table's name, not used before."""
    return f"t{next(_NUMBERS)}"


@pytest.fixture
def store(hbase: HBaseServer, table: str) -> Iterator[HBaseStore]:
    """An empty store."""
    opened = HBaseStore.open(hbase.url(table), create=True)
    yield opened
    opened.close()


@pytest.fixture
def proxy(hbase: HBaseServer) -> Iterator[Proxy]:
    """A way to the server that can be disturbed."""
    opened = Proxy(hbase.port)
    yield opened
    opened.close()
