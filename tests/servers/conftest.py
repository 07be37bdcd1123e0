"""Stores on servers, which several machines share: each test runs on every one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Protocol

import pytest

from parquetry.store import Store, open_store
from tests.support.hbase import launcher as hbase
from tests.support.postgresql import launcher as postgresql

_NUMBERS = itertools.count()


class StoreServer(Protocol):
    """A server that holds stores."""

    def url(self, table: str) -> str:
        """Return the URL of a store in a table of the server."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("postgresql", "hbase")],
)
def server(request: pytest.FixtureRequest) -> StoreServer:
    """A running server of each kind."""
    return {"postgresql": postgresql, "hbase": hbase}[request.param].shared_server()


@pytest.fixture
def table() -> str:
    """A table's name, not used before."""
    return f"shared{next(_NUMBERS)}"


@pytest.fixture
def url(server: StoreServer, table: str) -> str:
    """The URL of a store that is yet to be made."""
    return server.url(table)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An empty store."""
    opened = open_store(url, "/lake", create=True)
    yield opened
    opened.close()
