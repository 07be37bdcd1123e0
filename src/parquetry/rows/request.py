"""The request of a scan, and its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from parquetry.data_files import FileRecord, TableColumn
from parquetry.identifiers import field_path
from parquetry.predicate import TRUE, Filter, columns_of
from parquetry.rows.arrow_types import arrow_schema
from parquetry.types import Value


@dataclass(frozen=True)
class ReadRequest:
    """The rows and columns to read of each file of a scan.

    Attributes:
        file_format: ``parquet`` or ``orc``.
        columns: the columns to give, in their order, partition columns among them.
        data_columns: all columns of the table that are in files, in their order.
        partition_by: the partition columns, in the order of the partitions' values.
        filter: the condition that rows must satisfy.
        zone: the time zone of ORC's timestamps, or None if it is not known.
    """

    file_format: str
    columns: tuple[TableColumn, ...]
    data_columns: tuple[TableColumn, ...]
    partition_by: tuple[TableColumn, ...]
    filter: Filter = field(default_factory=lambda: Filter(TRUE))
    zone: str | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        """Return the schema of the batches.

        Raises:
            UnsupportedError: a column's type is read by Spark alone.
        """
        return arrow_schema(self.columns)

    @cached_property
    def read(self) -> tuple[TableColumn, ...]:
        """Return the columns to read: the given ones, and further ones of the condition."""
        about = self.tested - {column.name for column in self.columns}
        others = (column for column in (*self.data_columns, *self.partition_by) if column.name in about)
        return (*self.columns, *others)

    @cached_property
    def tested(self) -> frozenset[str]:
        """Return the names of the columns of the condition."""
        return frozenset(field_path(name)[0] for name in columns_of(self.filter.node))


@dataclass(frozen=True, slots=True)
class FileRows:
    """A file of a table.

    Attributes:
        path: absolute path or URI.
        record: its record.
        values: of its partition.
        certain: whether all of its rows satisfy the condition.
    """

    path: str
    record: FileRecord
    values: tuple[Value, ...]
    certain: bool = False
