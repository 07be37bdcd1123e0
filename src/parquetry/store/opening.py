"""Which store a warehouse has: by default a SQLite file inside it, otherwise what a URL names."""

from __future__ import annotations

import os
import re
import urllib.parse

from parquetry.errors import ConfigurationError, WarehouseError
from parquetry.store.base import Store
from parquetry.store.memory import MemoryStore
from parquetry.store.sqlite import SQLiteStore

SQLITE_FILE = os.path.join("_parquetry", "metastore.sqlite")
"""Where a warehouse on a local disk keeps its metastore."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def local_path(location: str) -> str | None:
    """Return the absolute local path that a path or file: URI names; None if it is on another file system.

    >>> local_path("file:///data/my%20lake/"), local_path("file:/data"), local_path("s3a://bucket/lake")
    ('/data/my lake', '/data', None)
    """
    scheme = _SCHEME.match(location)
    if scheme is None:
        return os.path.abspath(os.path.expanduser(location))
    if scheme[1].lower() != "file":
        return None
    parts = urllib.parse.urlsplit(location)
    if parts.netloc not in ("", "localhost"):
        raise WarehouseError(f"{location!r} names a host: write a local path as file:///path")
    return os.path.abspath(urllib.parse.unquote(parts.path))


def open_store(url: str | None, warehouse: str, *, create: bool = False) -> Store:
    """Open the store of a warehouse.

    Args:
        url: ``sqlite`` (or None) for the file inside the warehouse, ``sqlite:///path`` for another file,
            ``hbase://host:port/table`` for a table of HBase, ``memory`` for one that ends with the process.
        warehouse: local path or URI.
        create: make the store if it is not there.

    Raises:
        ConfigurationError: the URL is not understood.
        WarehouseError: there is no store and `create` is not given, or it cannot be opened.
        StoreError: the server cannot be reached.
    """
    if url == "memory":
        return MemoryStore()
    if url is None or url == "sqlite":
        folder = local_path(warehouse)
        if folder is None:
            raise ConfigurationError(
                f"the warehouse {warehouse!r} is not on a local disk, where SQLite needs its file to be; "
                "say where the metastore is: store='sqlite:///absolute/path.sqlite'"
            )
        return SQLiteStore(os.path.join(folder, SQLITE_FILE), create=create)
    if url.startswith("sqlite:///") and len(url) > len("sqlite:///"):
        return SQLiteStore(urllib.parse.unquote(url.removeprefix("sqlite://")), create=create)
    if url.startswith("hbase:"):
        from parquetry.store.hbase import HBaseStore  # needs the extra parquetry[hbase]

        return HBaseStore.open(url, create=create)
    raise ConfigurationError(
        f"store {url!r} is not known; known are 'sqlite', 'sqlite:///absolute/path', "
        "'hbase://host:port/table' and 'memory'"
    )
