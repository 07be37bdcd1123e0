"""Ordered maps of bytes: all that a metastore asks of a database.

`base` says what is promised, `memory` and `sqlite` keep it, `tests/conformance` checks it. What the bytes
mean is the metastore's business.
"""

from parquetry.store.base import Store
from parquetry.store.memory import MemoryStore
from parquetry.store.opening import open_store
from parquetry.store.sqlite import SQLiteStore

__all__ = ["MemoryStore", "SQLiteStore", "Store", "open_store"]
