"""Open the store of a URL by its scheme, also the schemes that installed packages add.

A package adds a scheme by an entry point of the group `parquetry.stores`. The entry point's name is the
scheme, and its object is an `OpenUrl`::

    [project.entry-points."parquetry.stores"]
    fdb = "my_package:open_store"
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from parquetry.errors import ConfigurationError
from parquetry.store.base import Store
from parquetry.store.passwords import without_password
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
