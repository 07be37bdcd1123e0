"""An open data file: its columns by name, the types they are stored in, and their batches.

Names are compared as Spark compares them, without case. Hive's old ORC writers wrote no column names
(`_col0`); then Spark goes by position, and so does this module. An ORC timestamp is a local time without a
time zone. An INT96 is an instant, but its Arrow type does not show that. `conversions` decides what the
values mean in the table.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from parquetry.hashing import arrow_type_name

ROWS_PER_BATCH = 1 << 16
"""Rows in one batch of a large row group. A batch of an ORC file is a stripe."""
MAX_BYTES_AT_ONCE = 16_000_000
"""Bytes of a row group, not compressed, that is decoded at once: faster than in batches, and still small."""
_MIN_BYTES_FOR_THREADS = 500_000
"""Bytes of a row group, not compressed, whose columns several threads decode. One thread decodes fewer."""
_UNITS = {"milliseconds": "MILLIS", "microseconds": "MICROS", "nanoseconds": "NANOS"}
_ANNOTATIONS = {
    "None": "", "String": "STRING", "Enum": "ENUM", "JSON": "JSON", "BSON": "BSON", "Date": "DATE",
    "UUID": "UUID", "Interval": "INTERVAL", "Float16": "FLOAT16", "Null": "UNKNOWN",
}  # fmt: skip
_SPARK_TYPE = b"spark.sql.catalyst.type"
"""The attribute of a number in ORC that Spark has written as a time or an interval."""


class StoredFile:
    """An open Parquet or ORC file.

    Attributes:
        is_orc: whether it is an ORC file.
        schema: its columns with Arrow's types.

    Args:
        source: the file.
        file_format: ``parquet`` or ``orc``.

    Raises:
        pyarrow.ArrowException: the file cannot be read.
    """

    def __init__(self, source: Any, file_format: str) -> None:
        self.is_orc = file_format == "orc"
        self._file: Any = (
            orc.ORCFile(source) if self.is_orc else pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
        )
        self.schema: pa.Schema = self._file.schema if self.is_orc else self._file.schema_arrow

    @property
    def rows(self) -> int:
        """Return the number of the file's rows."""
        return int(self._file.nrows if self.is_orc else self._file.metadata.num_rows)

    @property
    def parts(self) -> int:
        """Return the number of its row groups, or of its stripes."""
        return int(self._file.nstripes if self.is_orc else self._file.num_row_groups)

    @property
    def key_values(self) -> Mapping[bytes, bytes]:
        """Return the keys and values of a Parquet file's footer."""
        return {} if self.is_orc else self._file.metadata.metadata or {}

    @property
    def is_nameless(self) -> bool:
        """Return whether it is an ORC file whose columns have no names of their own."""
        names: list[str] = self.schema.names
        return self.is_orc and bool(names) and all(name.startswith("_col") for name in names)

    def spellings(self, name: str, position: int | None = None) -> list[str]:
        """Return the file's columns of a name, in any case.

        Args:
            name: the physical name.
            position: of the column among the table's columns in files, for files without column names; None
                if unknown.
        """
        names: list[str] = self.schema.names
        if self.is_nameless and position is not None:
            return names[position : position + 1]
        return [each for each in names if each.lower() == name.lower()]

    def type_of(self, name: str) -> pa.DataType:
        """Return the Arrow type of a column, in the file's spelling."""
        return self.schema.field(name).type

    def leaves(self, name: str) -> list[str]:
        """Return how the values of a column are stored, for each column of values in it, in order.

        Returns:
            Types as a file's record states them, such as ``parquet INT64 TIMESTAMP(MILLIS)`` and
            ``orc bigint``.
        """
        if self.is_orc:
            return [f"orc {each}" for each in _orc_leaves(self.schema.field(name))]
        return self._parquet_leaves.get(self.schema.get_field_index(name), [])

    @functools.cached_property
    def _parquet_leaves(self) -> dict[int, list[str]]:
        schema = self._file.metadata.schema
        leaves: dict[int, list[str]] = {}
        at = 0
        for position, field in enumerate(self.schema):
            count = _count_leaves(field.type)
            leaves[position] = [
                f"parquet {_parquet_type(schema.column(leaf))}" for leaf in range(at, at + count)
            ]
            at += count
        return leaves

    def batches(self, names: Sequence[str], parts: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Yield columns of some row groups or stripes, batch by batch.

        Args:
            names: in the file's spelling; at least one.
            parts: positions of the row groups or stripes.
        """
        for part in parts:
            if self.is_orc:
                yield self._file.read_stripe(part, columns=list(names))
            elif self.part_bytes(part) <= MAX_BYTES_AT_ONCE:
                yield from self.row_group(part, names).to_batches()
            else:
                options = {"row_groups": [part], "columns": list(names)}
                yield from self._file.iter_batches(ROWS_PER_BATCH, **options)

    def row_group(self, part: int, names: Sequence[str]) -> pa.Table:
        """Return columns of a row group, which is decoded at once.

        Args:
            part: position of the row group.
            names: in the file's spelling; at least one.
        """
        columns = None if len(names) == len(self.schema) else list(names)
        threads = self.part_bytes(part) >= _MIN_BYTES_FOR_THREADS
        return self._file.read_row_group(part, columns, use_threads=threads)

    def part_bytes(self, part: int) -> int:
        """Return the bytes of a row group, not compressed."""
        return int(self._file.metadata.row_group(part).total_byte_size)

    @property
    def parquet_schema(self) -> pq.ParquetSchema:
        """Return the columns of a Parquet file with Parquet's types."""
        return self._file.metadata.schema

    def part_rows(self, part: int) -> int | None:
        """Return the rows of a row group, or None for a stripe, which says so only when it is read."""
        return None if self.is_orc else int(self._file.metadata.row_group(part).num_rows)


def plain(array: pa.Array) -> pa.Array:
    """Return an array without a dictionary, and without an extension type."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _count_leaves(type: pa.DataType) -> int:
    if isinstance(type, pa.BaseExtensionType):
        type = type.storage_type
    if pa.types.is_dictionary(type) or not type.num_fields:
        return 1
    if pa.types.is_map(type):
        return _count_leaves(type.key_type) + _count_leaves(type.item_type)
    return sum(_count_leaves(type.field(position).type) for position in range(type.num_fields))


def _parquet_type(column: Any) -> str:
    return _stored_type(column.physical_type, column.logical_type.to_json())


@functools.lru_cache(maxsize=256)
def _stored_type(physical: str, logical: str) -> str:
    """Return how a file's record states a type, by Parquet's physical type and its logical type in JSON."""
    about = json.loads(logical)
    match about["Type"]:
        case "Int":
            annotation = f"{'INT' if about['isSigned'] else 'UINT'}({about['bitWidth']})"
        case "Decimal":
            annotation = f"DECIMAL({about['precision']},{about['scale']})"
        case "Timestamp" | "Time" as kind:
            annotation = f"{kind.upper()}({_UNITS[about['timeUnit']]})"
        case kind:
            annotation = _ANNOTATIONS.get(kind, str(kind).upper())
    return f"{physical} {annotation}".rstrip()


def _orc_leaves(field: pa.Field) -> list[str]:
    type = field.type
    mark = (field.metadata or {}).get(_SPARK_TYPE)
    if mark is not None and not type.num_fields:
        return [mark.decode()]
    if pa.types.is_map(type):
        return [*_orc_leaves(type.key_field), *_orc_leaves(type.item_field)]
    if type.num_fields:
        return [leaf for position in range(type.num_fields) for leaf in _orc_leaves(type.field(position))]
    if pa.types.is_timestamp(type):
        return ["timestamp with local time zone" if type.tz else "timestamp"]
    if pa.types.is_decimal(type):
        return [f"decimal({type.precision},{type.scale})"]
    return [arrow_type_name(type)]
