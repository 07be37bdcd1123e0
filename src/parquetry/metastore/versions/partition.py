"""A partition of one version of a table, decoded only as far as needed.

Listing a million partitions decodes neither their values nor their files.

A write needs no more of a table to place its files than the key and the default location of a partition.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import msgspec

from parquetry.data_files import FileRecord
from parquetry.errors import TableNotFoundError, ValueTypeError
from parquetry.key_schema import KeySchema
from parquetry.layout import ArrangementSpec
from parquetry.locations import partition_paths
from parquetry.locations.partition_path import partition_path
from parquetry.metastore.manifest.entries import (
    decode_entries,
    decode_entry,
    decode_with_files,
    files_in_parts,
    read_files,
    read_listed,
)
from parquetry.metastore.storage.keyspace import partition_prefix, ticket_of
from parquetry.metastore.storage.model import ListedFile, PartitionEntry, TableMetadata
from parquetry.metastore.storage.wire import decode_arrangement
from parquetry.store import Store
from parquetry.types import ColumnType, Value


class _Table(Protocol):
    """The attributes that a partition needs of its table's version; see `snapshot.TableSnapshot`."""

    store: Store
    id: bytes

    @property
    def placement(self) -> TablePlacement: ...


class PartitionSnapshot(msgspec.Struct, eq=False, gc=False):
    """A partition of a version of a table.

    The garbage collector ignores these objects: a scan makes a hundred thousand, and none refers to itself.

    Attributes:
        key: key of the partition's values, as `parquetry.keys` encodes them.

    Its row may be read only when it is needed: see `range_manifests`.
    """

    _table: _Table
    key: bytes
    _age: bytes
    _value: bytes
    _entry: PartitionEntry | None = None
    _values: tuple[Value, ...] | None = None

    @property
    def values(self) -> tuple[Value, ...]:
        """Return the internal values of the partition columns."""
        if self._values is None:
            self._values = self._table.placement.values_of(self.key)
        return self._values

    @property
    def ticket(self) -> int:
        """Return the ticket of the commit that wrote the partition's row."""
        return ticket_of(self._age)

    @property
    def entry(self) -> PartitionEntry:
        """Return the stored record."""
        if self._entry is None:
            self._entry = decode_entry(self._stored)
        return self._entry

    @property
    def _stored(self) -> bytes:
        if not self._value:
            self._read([self])
        return self._value

    @classmethod
    def _read(cls, partitions: Sequence[PartitionSnapshot]) -> None:
        """Read the rows of partitions whose keys and ages came from a range manifest.

        Raises:
            TableNotFoundError: the table was dropped, or a vacuum retired this version.
        """
        unread = [partition for partition in partitions if not partition._value]
        if not unread:
            return
        table = unread[0]._table
        prefix = partition_prefix(table.id)
        values = table.store.get_many([prefix + partition.key + partition._age for partition in unread])
        for partition, value in zip(unread, values, strict=True):
            if value is None:
                raise TableNotFoundError(
                    f"The row of partition {table.placement.describe(partition.key)} was removed while it was being "
                    "read: the table was dropped, or its version vacuumed away."
                )
            partition._value = value

    @property
    def location(self) -> str:
        """Return the absolute location of the partition, without a trailing slash."""
        if not self._value:  # in a range manifest: no location of its own
            return self._table.placement.default_location(self.values)
        return self.entry.location or self._table.placement.default_location(self.values)

    @property
    def files(self) -> tuple[FileRecord, ...]:
        """Return the data files, in the order of the partition's list.

        Raises:
            TableNotFoundError: the table was dropped meanwhile.
        """
        return read_files(self._table.store, self._table.id, self.entry)

    def files_besides(self, other: PartitionSnapshot | None) -> tuple[FileRecord, ...]:
        """Return the data files that are not in chunks that another version of the partition shares.

        Raises:
            TableNotFoundError: the table was dropped meanwhile.
        """
        entry = self.entry
        if other is not None and entry.chunks and self.location == other.location:
            shared = set(other.entry.chunks)
            own = tuple(chunk for chunk in entry.chunks if chunk not in shared)
            entry = msgspec.structs.replace(entry, chunks=own)
        return read_files(self._table.store, self._table.id, entry)

    def each_file(self) -> Iterator[FileRecord]:
        """Yield the data files, with some thousand in memory at a time.

        Raises:
            TableNotFoundError: the table was dropped meanwhile.
        """
        return files_in_parts(self.entry, partial(read_files, self._table.store, self._table.id))

    def each_listed(self, start: int = 0) -> Iterator[ListedFile]:
        """Yield the data files without their statistics, with some thousand in memory at a time.

        Args:
            start: number of files to skip.

        Raises:
            TableNotFoundError: the table was dropped meanwhile.
        """
        return files_in_parts(self.entry, partial(read_listed, self._table.store, self._table.id), start)

    @property
    def file_count(self) -> int:
        """Return the number of data files."""
        return self.entry.file_count

    @property
    def rows(self) -> int | None:
        """Return the number of rows, or None if one file's number is not known."""
        return self.entry.rows

    @property
    def bytes(self) -> int:
        """Return the size of the data files."""
        return self.entry.bytes

    @property
    def record_bytes(self) -> int:
        """Return the size of the record, including its inline files."""
        return len(self._stored)

    @property
    def arrangement(self) -> ArrangementSpec:
        """Return the partition's own arrangement, which the table's may differ from by now."""
        return decode_arrangement(self.entry.arrangement)

    @classmethod
    def entries(cls, partitions: Sequence[PartitionSnapshot]) -> list[PartitionEntry]:
        """Return the records of many partitions, decoded in one call, which is faster than one by one."""
        undecoded = [partition for partition in partitions if partition._entry is None]
        if len(undecoded) > 1:
            cls._read(undecoded)
            entries = decode_entries([partition._value for partition in undecoded])
            for partition, entry in zip(undecoded, entries, strict=True):
                partition._entry = entry
        return [partition._entry or partition.entry for partition in partitions]

    @classmethod
    def all_values(cls, partitions: Sequence[PartitionSnapshot]) -> list[tuple[Value, ...]]:
        """Return the values of many partitions of one table, decoded together."""
        undecoded = [partition for partition in partitions if partition._values is None]
        if undecoded:
            rows = undecoded[0]._table.placement.key_schema.decode_all(
                [partition.key for partition in undecoded]
            )
            for partition, values in zip(undecoded, rows, strict=True):
                partition._values = values
        return [partition._values or partition.values for partition in partitions]

    @classmethod
    def locations(cls, partitions: Sequence[PartitionSnapshot]) -> list[str]:
        """Return the locations of many partitions of one table."""
        # a partition whose row has not been read is in a range manifest, and has no location of its own
        there = iter(cls.entries([partition for partition in partitions if partition._value]))
        recorded = [next(there).location if partition._value else None for partition in partitions]
        own = [location for location in recorded if location]
        if len(own) == len(recorded):
            return own
        usual = partitions[0]._table.placement.default_locations(cls.all_values(partitions))
        return [location or other for location, other in zip(recorded, usual, strict=True)]

    @classmethod
    def with_files(cls, partitions: Sequence[PartitionSnapshot], names: tuple[str, ...]) -> list[Any] | None:
        """Return the records with their inline files, decoded in one call; see `decode_with_files`."""
        cls._read(partitions)
        return decode_with_files([partition._value for partition in partitions], names)

    def __repr__(self) -> str:
        return f"Partition({self._table.placement.describe(self.key)}, files={self.file_count}, bytes={self.bytes})"


@dataclass(frozen=True)
class TablePlacement:
    """The partition columns and the location of one version of a table.

    Example: table `lake.t` is at `/lake/t` and partitioned by `d DATE, h INT`. For the values `(2026-01-02,
    7)`, `key_of` returns the key that orders the partition's rows in the store, and `values_of` returns the
    values of that key. `default_location` is `/lake/t/d=2026-01-02/h=7`, and `describe` returns
    `d=2026-01-02/h=7`.

    Attributes:
        label: the table's name for messages.
        metadata: the version's metadata.
    """

    label: str
    metadata: TableMetadata

    def key_of(self, values: Sequence[Value]) -> bytes:
        """Return the key of a partition's values.

        Raises:
            ValueTypeError: there are too many or too few values, or one does not fit its column.
        """
        if len(values) != len(self.types):
            columns = ", ".join(self.metadata.partition_by) or "none"
            raise ValueTypeError(
                f"Table {self.label} has {len(self.types)} partition columns ({columns}), "
                f"but {len(values)} values were given: {tuple(values)!r}."
            )
        return self.key_schema.encode(values)

    def values_of(self, key: bytes) -> tuple[Value, ...]:
        """Return the values of a partition's key."""
        return self.key_schema.decode(key)

    def fits(self, key: bytes) -> bool:
        """Return whether a key fits these partition columns.

        Before a REPLACE TABLE the table may have had others.
        """
        return self.key_schema.fits(key)

    def default_location(self, values: Sequence[Value]) -> str:
        """Return Hive's location for the partition of these values."""
        path = partition_path(self._physical_names, self.types, values)
        return f"{self.metadata.location}/{path}" if path else self.metadata.location

    def default_locations(self, rows: Sequence[Sequence[Value]]) -> list[str]:
        """Return the default locations of many partitions, given the values of each."""
        location = self.metadata.location
        paths = partition_paths(self._physical_names, self.types, rows)
        return [f"{location}/{path}" if path else location for path in paths]

    def location_of(self, key: bytes) -> str:
        """Return Hive's location for the partition of this key."""
        return self.default_location(self.values_of(key))

    def describe(self, key: bytes) -> str:
        """Return a partition's key for messages: ``d=2024-01-01/h=7``."""
        if not self.types:
            return "(the table's only partition)"
        return partition_path(self.metadata.partition_by, self.types, self.values_of(key))

    @functools.cached_property
    def types(self) -> tuple[ColumnType, ...]:
        """Return the types of the partition columns."""
        return self.metadata.partition_types

    @functools.cached_property
    def key_schema(self) -> KeySchema:
        """Return the fields of a partition's key: the partition columns."""
        columns = zip(self.metadata.partition_by, self.types, strict=True)
        return KeySchema.from_columns(columns, self.metadata.descending)

    @functools.cached_property
    def _physical_names(self) -> tuple[str, ...]:
        return tuple(column.physical for column in self.metadata.partition_columns)
