"""Every store of the product keeps the contract, by the suite that is shipped for others' stores."""

from __future__ import annotations

from parquetry.store import MemoryStore
from parquetry.testing import KeyReaderSuite, StoreSuite


class TestStore(StoreSuite, KeyReaderSuite):
    """The suites, on each store."""


def test_two_memory_stores_are_apart() -> None:
    """Two stores in memory share no rows."""
    one, other = MemoryStore(), MemoryStore()
    one.put_many([(b"k", b"v")])
    assert other.get(b"k") is None
