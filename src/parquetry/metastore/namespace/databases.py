"""Databases: one row each, and dropping a database while other processes may be making tables in it.

Only single rows change atomically, so each side writes its own row first and then looks at the other's. A
process that drops a database marks the database, and then looks for tables. A process that makes a table
writes the table's name, and then looks for the mark and removes it. At least one of the two sees the other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from parquetry.errors import NamespaceExistsError, NamespaceNotFoundError
from parquetry.metastore.storage.head import pause, swap
from parquetry.metastore.storage.keyspace import DATABASES, database_key, prefix_range
from parquetry.metastore.storage.model import Database
from parquetry.metastore.storage.valid_names import DEFAULT_DATABASE, name_fault, normalise_name
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.store import Store


class DatabaseRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A database as stored.

    Attributes:
        nonce: random, so that no two values of the row are ever equal, and a compare-and-set cannot confuse
            them.
        dropping: whether a process is about to remove the row, unless it finds a table.
    """

    properties: dict[str, str]
    nonce: bytes
    dropping: bool = False


class Databases:
    """The databases of a metastore. ``default`` always exists."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def names(self) -> list[str]:
        """Return the names, sorted."""
        names = {key[1:].decode() for key, _ in self._store.scan(*prefix_range(DATABASES))}
        return sorted(names | {DEFAULT_DATABASE})

    def get(self, name: str) -> Database:
        """Return a database.

        Raises:
            NamespaceNotFoundError: it does not exist.
        """
        name = name.lower()
        fault = name_fault(name)
        value = None if fault else self._store.get(database_key(name))
        if value is not None:
            return Database(name, _decode(value).properties)
        if name == DEFAULT_DATABASE:
            return Database(name)
        remedy = f"no database can have this name: {fault}" if fault else "CREATE DATABASE makes it"
        raise NamespaceNotFoundError(f"Database {name!r} does not exist; {remedy}.")

    def exists(self, name: str) -> bool:
        """Return whether there is a database of this name."""
        name = name.lower()
        if name == DEFAULT_DATABASE:
            return True
        return name_fault(name) is None and self._store.get(database_key(name)) is not None

    def create(self, name: str, properties: Mapping[str, str]) -> Database:
        """Make a database.

        Raises:
            NamespaceExistsError: it exists.
        """
        name = normalise_name("database", name)
        value = self._value(properties)
        if name == DEFAULT_DATABASE or not swap(self._store, database_key(name), None, value):
            raise NamespaceExistsError(f"Database {name!r} exists already.")
        return Database(name, dict(properties))

    def alter(self, name: str, properties: Mapping[str, str]) -> Database:
        """Replace the properties of a database.

        Raises:
            NamespaceNotFoundError: it does not exist.
        """
        name = self.get(name).name
        attempt = 0
        while True:
            before = self._store.get(database_key(name))
            if before is None and name != DEFAULT_DATABASE:
                raise NamespaceNotFoundError(f"Database {name!r} was dropped meanwhile.")
            if swap(self._store, database_key(name), before, self._value(properties)):
                return Database(name, dict(properties))
            attempt += 1
            pause(attempt)

    def mark(self, name: str) -> bytes:
        """Announce that a database is about to be dropped.

        Returns:
            the mark, for `remove` or `unmark`.

        Raises:
            NamespaceNotFoundError: it does not exist.
        """
        properties = self.get(name).properties
        mark = self._value(properties, dropping=True)
        while True:
            before = self._store.get(database_key(name))
            if before is None:
                raise NamespaceNotFoundError(f"Database {name!r} was dropped meanwhile.")
            if swap(self._store, database_key(name), before, mark):
                return mark

    def unmark(self, name: str, mark: bytes) -> None:
        """Remove a mark."""
        swap(self._store, database_key(name), mark, self._value(_decode(mark).properties))

    def remove(self, name: str, mark: bytes) -> bool:
        """Remove a database, unless another process has removed the mark because of a new table."""
        return swap(self._store, database_key(name), mark, None)

    def pin(self, name: str) -> bool:
        """Make sure that a process that drops a database sees the name that was just written into it.

        Returns:
            False if the database was dropped.
        """
        while name != DEFAULT_DATABASE:
            value = self._store.get(database_key(name))
            if value is None:
                return False
            row = _decode(value)
            if not row.dropping or swap(self._store, database_key(name), value, self._value(row.properties)):
                break
        return True

    @staticmethod
    def _value(properties: Mapping[str, str], dropping: bool = False) -> bytes:
        return encode(DatabaseRow(dict(properties), os.urandom(8), dropping))


def _decode(value: bytes) -> DatabaseRow:
    row: DatabaseRow = decoder(DatabaseRow).decode(value)
    return row
