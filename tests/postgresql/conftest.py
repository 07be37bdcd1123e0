"""Tables of a real PostgreSQL."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from parquetry.store.postgresql.store import PostgreSQLStore
from tests.support.postgresql.launcher import PostgreSQLServer, shared_server

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def server() -> PostgreSQLServer:
    """Return a running PostgreSQL that no test stops."""
    return shared_server()


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgreSQLServer]:
    """A PostgreSQL that may be stopped and killed."""
    started = PostgreSQLServer.start_in_temporary_folder()
    yield started
    started.remove()


@pytest.fixture
def table() -> str:
    """A table's name, not used before."""
    return f"t{next(_NUMBERS)}"


@pytest.fixture
def store(server: PostgreSQLServer, table: str) -> Iterator[PostgreSQLStore]:
    """An empty store."""
    opened = PostgreSQLStore.open(server.url(table), create=True)
    yield opened
    opened.close()
