"""The store of a warehouse: by default a SQLite file inside it, or the store that a URL names.

A URL's scheme names the kind of store, also a kind that an installed package adds. A package adds a scheme by
an entry point of the group `parquetry.stores`. The entry point's name is the scheme, and its object is an
`OpenUrl`::

    [project.entry-points."parquetry.stores"]
    fdb = "my_package:open_store"
"""

from __future__ import annotations

import logging
import os
import urllib.parse
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from parquetry.errors import ConfigurationError
from parquetry.store.base import Store
from parquetry.store.memory import MemoryStore
from parquetry.store.passwords import NO_PASSWORDS, REMEDY, is_postgresql, split_passwords, without_password
from parquetry.store.sqlite import SQLiteStore

ENTRY_POINTS = "parquetry.stores"
_FORMS = [
    "sqlite",
    "sqlite:///absolute/path",
    "postgresql://user@host:port/database",
    "hbase://host:port/table",
    "memory",
]


class OpenUrl(Protocol):
    """Opens a store of a package that is not ours."""

    def __call__(self, url: str, *, create: bool) -> Store:
        """Return the store of a URL.

        Args:
            url: whole, with its scheme.
            create: whether to create the store if it does not exist.

        Raises:
            WarehouseError: it does not exist and `create` is False, or it cannot be opened.
            ConfigurationError: the URL is not understood.
            StoreError: the server cannot be reached.
        """
        ...


def open_by_scheme(url: str, *, create: bool, passwords: Mapping[str, str]) -> Store:
    """Open the store that a URL names.

    Args:
        url: with a scheme.
        create: whether to create the store if it does not exist.
        passwords: of PostgreSQL, by libpq's names.

    Raises:
        ConfigurationError: no store has such a URL, or the package that has cannot be used.
    """
    scheme = url.partition(":")[0]
    if scheme in _POSTGRESQL and url != scheme:
        from parquetry.store.postgresql.store import PostgreSQLStore

        return PostgreSQLStore.open(url, create=create, passwords=passwords)
    if scheme in _OWN and url != scheme:
        return _OWN[scheme](url, create=create)
    point = _of_packages().get(scheme)
    if point is None or url == scheme:
        raise unknown_store(url)
    try:
        open_url: OpenUrl = point.load()
    except (ImportError, AttributeError) as error:
        package = "" if point.dist is None else f" of the package {point.dist.name}"
        raise ConfigurationError(
            f"Store {without_password(url)!r} needs {point.value}{package}, which cannot be imported: {error}. Install the "
            f"package again, or remove it."
        ) from error
    return open_url(url, create=create)


def unknown_store(url: str) -> ConfigurationError:
    """Return the error for a URL that no store has; it names the forms that are known."""
    forms = [*_FORMS, *(f"{scheme}:…" for scheme in sorted(_of_packages()))]
    known = ", ".join(map(repr, forms[:-1]))
    return ConfigurationError(
        f"Store {without_password(url)!r} is not known; known are {known} and {forms[-1]!r}."
    )


def _of_packages() -> dict[str, EntryPoint]:
    """Return the schemes that installed packages add; none takes one of ours."""
    return {
        point.name: point
        for point in entry_points(group=ENTRY_POINTS)
        if point.name not in (*_OWN, *_POSTGRESQL)
    }


def _open_sqlite(url: str, *, create: bool) -> Store:
    if not url.startswith("sqlite:///") or url == "sqlite:///":
        raise unknown_store(url)
    path = urllib.parse.unquote(url.removeprefix("sqlite://"))
    return SQLiteStore(f"/{path.lstrip('/')}", create=create)  # as others write it, sqlite:////path


def _open_hbase(url: str, *, create: bool) -> Store:
    from parquetry.store.hbase.store import HBaseStore

    return HBaseStore.open(url, create=create)


_POSTGRESQL = ("postgresql", "postgres")
_OWN: dict[str, OpenUrl] = {"sqlite": _open_sqlite, "hbase": _open_hbase}


METASTORE_FOLDER = "_parquetry"
"""Name of the metastore's folder within a warehouse."""
SQLITE_FILE = os.path.join(METASTORE_FOLDER, "metastore.sqlite")
"""Path of the metastore's file within a warehouse on a local disk."""

_LOG = logging.getLogger("parquetry")
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


def url_for_mark(url: str | None, store: Store, warehouse: str) -> str:
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
    return split_passwords(url)[0] if url is not None and is_postgresql(url) else without_password(url or "")


def reopen_store(recorded: str, warehouse: str) -> Store:
    """Open an existing store by the URL that a warehouse's mark records; passwords come by libpq's ways.

    Raises:
        ParquetryError: it does not exist, or cannot be reached.
    """
    return open_store(recorded, warehouse)


def open_store(
    url: str | None, warehouse: str, *, create: bool = False, passwords: Mapping[str, str] = NO_PASSWORDS
) -> Store:
    """Open the store of a warehouse.

    Args:
        url: URL of the store. None or ``sqlite`` is the file inside the warehouse; ``sqlite:///path`` or
            ``sqlite:////path`` is another file; ``postgresql://user@host:port/database`` is a table of
            PostgreSQL; ``hbase://host:port/table`` is a table of HBase; ``memory`` ends with the process. An
            installed package may add schemes (`OpenUrl`).
        warehouse: absolute local path, or URI of another file system.
        create: whether to create the store if it does not exist.
        passwords: that are given apart from the URL, by libpq's names.

    Raises:
        ConfigurationError: the URL is not understood, or the store takes no password.
        WarehouseError: the store does not exist and `create` is False, or it cannot be opened.
        StoreError: the server cannot be reached.
    """
    if passwords and not is_postgresql(url):
        raise ConfigurationError(
            f"Store {without_password(url or 'sqlite')!r} takes no password: only a store on PostgreSQL does. Remove the setting "
            "store.password (store_password in Python), or name the store: postgresql://user@host:port/database."
        )
    if url == IN_MEMORY:
        return MemoryStore()
    if url in _URLS_OF_SQLITE_FILE:
        if not os.path.isabs(warehouse):
            raise ConfigurationError(
                f"The warehouse {warehouse!r} is not on a local disk, where SQLite needs its file to be; "
                "say where the metastore is: store='sqlite:///absolute/path.sqlite'."
            )
        return SQLiteStore(os.path.join(warehouse, SQLITE_FILE), create=create)
    if is_postgresql(url) and split_passwords(url)[1]:
        _LOG.warning(
            "The store's URL %s has a password, which others may see in settings, logs and lists of processes: %s.",
            without_password(url), REMEDY,
        )  # fmt: skip
    return open_by_scheme(url, create=create, passwords=passwords)


def split_store(url: str) -> tuple[str, dict[str, str]]:
    """Return a store's URL without passwords, and these by libpq's names; for settings, which others may see.

    Raises:
        ConfigurationError: no store has such a URL, and it may have a password; or the end of its password is
            ambiguous.
    """
    if not is_postgresql(url) and without_password(url) != url:
        raise unknown_store(url)
    return split_passwords(url)
