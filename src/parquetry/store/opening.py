"""The store of a warehouse: by default a SQLite file inside it, or the store that a URL names."""

from __future__ import annotations

import os
import urllib.parse

from parquetry.errors import ConfigurationError
from parquetry.store.base import Store
from parquetry.store.memory import MemoryStore
from parquetry.store.shown_url import ASTERISKS, without_password
from parquetry.store.sqlite import SQLiteStore

METASTORE_FOLDER = "_parquetry"
"""Name of the metastore's folder within a warehouse."""
SQLITE_FILE = os.path.join(METASTORE_FOLDER, "metastore.sqlite")
"""Path of the metastore's file within a warehouse on a local disk."""


EMBEDDED = "sqlite"
"""The URL of that file, which a warehouse's mark has, too."""
IN_MEMORY = "memory"
"""The URL of a store that ends with the process."""
_URLS_OF_SQLITE_FILE = (None, EMBEDDED)
"""URLs that name that file."""


def others_nearby(url: str | None, warehouse: str) -> list[str]:
    """Return existing warehouses near one that is about to be made, since its path may be a slip.

    They are the warehouses in the same folder, and the warehouse that the new one would be inside.

    Args:
        url: URL of the new store. The result is empty unless it is the file inside the warehouse.
        warehouse: absolute local path, or URI of another file system. The result is empty for a URI.
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


def recorded_url(url: str | None, store: Store, warehouse: str) -> str:
    """Return a store's URL as a warehouse's mark records it.

    Args:
        url: as the user named the store.
        store: the store.
        warehouse: absolute local path, or URI of another file system.

    Returns:
        `EMBEDDED` for the file inside the warehouse by any name, `IN_MEMORY` for a store that ends with the
        process, and else the URL without a password.
    """
    if isinstance(store, MemoryStore):
        return IN_MEMORY
    if isinstance(store, SQLiteStore):
        inside = os.path.isabs(warehouse) and os.path.join(warehouse, SQLITE_FILE)
        if inside and os.path.realpath(inside) == os.path.realpath(store.path):
            return EMBEDDED
        return f"sqlite://{urllib.parse.quote(os.path.realpath(store.path))}"
    return without_password(url or "")


def reopen_store(recorded: str, warehouse: str) -> Store:
    """Open an existing store by the URL that a warehouse's mark records; passwords come by libpq's ways.

    Raises:
        ParquetryError: it does not exist, or cannot be reached.
    """
    url = recorded.replace(f":{ASTERISKS}@", "@").replace(f"password={ASTERISKS}", "")
    return open_store(url, warehouse)


def open_store(url: str | None, warehouse: str, *, create: bool = False) -> Store:
    """Open the store of a warehouse.

    Args:
        url: URL of the store. None or ``sqlite`` is the file inside the warehouse; ``sqlite:///path`` or
            ``sqlite:////path`` is another file; ``postgresql://user@host:port/database`` is a table of
            PostgreSQL; ``hbase://host:port/table`` is a table of HBase; ``memory`` ends with the process.
        warehouse: absolute local path, or URI of another file system.
        create: whether to create the store if it does not exist.

    Raises:
        ConfigurationError: the URL is not understood.
        WarehouseError: the store does not exist and `create` is False, or it cannot be opened.
        StoreError: the server cannot be reached.
    """
    if url == IN_MEMORY:
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
