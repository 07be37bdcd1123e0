"""The key and the default location of a partition. A write needs no more of a table to place its files."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from parquetry.errors import ValueTypeError
from parquetry.key_schema import KeySchema
from parquetry.locations import partition_paths
from parquetry.locations.partition_path import partition_path
from parquetry.metastore.storage.model import TableMetadata
from parquetry.types import ColumnType, Value


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
