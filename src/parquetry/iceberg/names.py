"""Names in requests. A name that nothing can have is the name of nothing that exists."""

from __future__ import annotations

import functools

from parquetry.errors import NamespaceNotFoundError, TableNotFoundError, UnsupportedError
from parquetry.metastore import normalise_name

_SEPARATOR = "\x1f"
"""The character that Iceberg's clients write between the parts of a namespace."""


@functools.lru_cache(maxsize=1024)
def database_name(name: str) -> str:
    """Return the name of a database.

    Raises:
        NamespaceNotFoundError: it has several parts, or no database can have it.
    """
    if _SEPARATOR in name:
        raise NamespaceNotFoundError(
            f"Namespace {name.replace(_SEPARATOR, '.')!r} does not exist: names have one part."
        )
    try:
        return normalise_name("database", name)
    except UnsupportedError:
        raise NamespaceNotFoundError(
            f"Namespace {name!r} does not exist, and no database can have this name."
        ) from None


@functools.lru_cache(maxsize=1024)
def table_name(database: str, name: str) -> str:
    """Return the name of a table or a view.

    Args:
        database: its database, as `database_name` returns it.
        name: as the request has it.

    Raises:
        TableNotFoundError: no table can have it.
    """
    try:
        return normalise_name("table", name)
    except UnsupportedError:
        raise TableNotFoundError(
            f"Table {name!r} does not exist in {database}, and no table can have this name."
        ) from None
