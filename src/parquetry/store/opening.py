"""Which store a warehouse has: by default a SQLite file inside it, otherwise what a URL names."""

from __future__ import annotations

import os
import urllib.parse

from parquetry.errors import ConfigurationError
from parquetry.store.base import Store
from parquetry.store.memory import MemoryStore
from parquetry.store.shown_url import without_password
from parquetry.store.sqlite import SQLiteStore

SQLITE_FILE = os.path.join("_parquetry", "metastore.sqlite")
"""Where a warehouse on a local disk keeps its metastore."""


_URLS_OF_SQLITE_FILE = (None, "sqlite")
"""URLs that name that file."""


def others_nearby(url: str | None, warehouse: str) -> list[str]:
    """Return the warehouses beside one that is about to be made, and the one that it would be within: the path may be a slip.

    Args:
        url: of its store; nobody looks if that is elsewhere.
        warehouse: absolute local path, or URI of another file system, beside which nobody looks.
    """
    if (
        url not in _URLS_OF_SQLITE_FILE
        or not os.path.isabs(warehouse)
        or os.path.exists(os.path.join(warehouse, SQLITE_FILE))
    ):
        return []
    parent = os.path.dirname(warehouse)
    try:
        beside = [os.path.join(parent, name) for name in sorted(os.listdir(parent))]
    except OSError:
        return []
    return [folder for folder in (parent, *beside) if os.path.exists(os.path.join(folder, SQLITE_FILE))]


def open_store(url: str | None, warehouse: str, *, create: bool = False) -> Store:
    """Open the store of a warehouse.

    Args:
        url: ``sqlite`` (or None) for the file inside the warehouse, ``sqlite:///path`` (or ``sqlite:////path``) for another file,
            ``postgresql://user@host:port/database`` for a table of PostgreSQL, ``hbase://host:port/table`` for one of HBase,
            ``memory`` for one that ends with the process.
        warehouse: absolute local path, or URI of another file system.
        create: make the store if it is not there.

    Raises:
        ConfigurationError: the URL is not understood.
        WarehouseError: there is no store and `create` is not given, or it cannot be opened.
        StoreError: the server cannot be reached.
    """
    if url == "memory":
        return MemoryStore()
    if url in _URLS_OF_SQLITE_FILE:
        if not os.path.isabs(warehouse):
            raise ConfigurationError(
                f"The warehouse {warehouse!r} is not on a local disk, where SQLite needs its file to be; "
                "say where the metastore is: store='sqlite:///absolute/path.sqlite'."
            )
        return SQLiteStore(os.path.join(warehouse, SQLITE_FILE), create=create)
    if url.startswith("sqlite:///") and len(url) > len("sqlite:///"):
        path = urllib.parse.unquote(url.removeprefix("sqlite://"))
        return SQLiteStore(f"/{path.lstrip('/')}", create=create)  # as others write it, sqlite:////path
    if url.startswith("hbase:"):
        from parquetry.store.hbase import HBaseStore  # needs the extra parquetry[hbase]

        return HBaseStore.open(url, create=create)
    if url.startswith(("postgresql:", "postgres:")):
        from parquetry.store.postgresql import PostgreSQLStore  # needs the extra parquetry[postgres]

        return PostgreSQLStore.open(url, create=create)
    raise ConfigurationError(
        f"Store {without_password(url)!r} is not known; known are 'sqlite', 'sqlite:///absolute/path', "
        "'postgresql://user@host:port/database', 'hbase://host:port/table' and 'memory'."
    )
