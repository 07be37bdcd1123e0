"""Read columns of a data file with PyArrow, and check whether Spark would read the same values.

Names are compared as Spark compares them, without case. Hive's old ORC writers wrote no column names
(`_col0`); then Spark goes by position, and so does this module. An ORC timestamp is a local time without a
time zone. An INT96 is an instant, but its Arrow type does not show that. The caller decides what the values
mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from parquetry.data_files import TableColumn
from parquetry.hashing import HashType
from parquetry.types import INTEGER_BITS

ROWS_PER_BATCH = 1 << 16
"""Rows in one batch of a Parquet file. A batch of an ORC file is a stripe."""
_Times: TypeAlias = Literal["instants", "local", "unknown"]
"""The meaning of a column's timestamps without a zone."""
_TEXT = ("string", "varchar", "char")
_MAX_DIGITS_IN_64_BITS = 18
"""Digits that fit in 64 bits. Spark hashes longer decimals in another way."""


class ColumnBatches:
    """Some columns of an open file.

    Args:
        source: the file.
        file_format: ``parquet`` or ``orc``.
        names: of the columns, each once.
        positions: of the columns among the table's columns in files, for files without column names; or None
            if unknown.

    Raises:
        pyarrow.ArrowException: the file cannot be read.
    """

    def __init__(
        self, source: Any, file_format: str, names: Sequence[str], positions: Sequence[int] | None = None
    ) -> None:
        self._orc = file_format == "orc"
        self._file: Any = (
            orc.ORCFile(source) if self._orc else pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
        )
        self._schema: pa.Schema = self._file.schema if self._orc else self._file.schema_arrow
        self._spelled = [self._spellings(name, at, positions) for at, name in enumerate(names)]

    def _spellings(self, name: str, at: int, positions: Sequence[int] | None) -> list[str]:
        known: list[str] = self._schema.names
        if positions is not None and known and all(known_name.startswith("_col") for known_name in known):
            return known[positions[at] : positions[at] + 1]
        return [known_name for known_name in known if known_name.lower() == name.lower()]

    @property
    def complete(self) -> bool:
        """Return whether the file has each of the columns exactly once."""
        return all(len(spellings) == 1 for spellings in self._spelled)

    @property
    def rows(self) -> int:
        """Return the number of the file's rows."""
        return int(self._file.nrows if self._orc else self._file.metadata.num_rows)

    def unlike(self, columns: Sequence[TableColumn]) -> dict[str, str]:
        """Return, by physical name, why Spark may read other values of some columns.

        Args:
            columns: of the table, in the order of the names.
        """
        reasons = {}
        for column, spelled in zip(columns, self._spelled, strict=True):
            reason = self._unlike(column, spelled)
            if reason is not None:
                reasons[column.physical] = reason
        return reasons

    def _unlike(self, column: TableColumn, spelled: list[str]) -> str | None:
        if len(spelled) != 1:
            there = "no column" if not spelled else f"{len(spelled)} columns"
            return f"the file has {there} {column.physical}"
        stored = self._schema.field(spelled[0]).type
        if _is_like(HashType.from_column_type(column.column_type), stored, self._times(spelled[0])):
            return None
        return f"the file has {column.physical} as {stored}, and the table as {column.column_type}"

    def _times(self, name: str) -> _Times:
        if self._orc:
            return "unknown"
        leaves = (self._file.schema.column(at) for at in range(len(self._file.schema)))
        own_leaves = (leaf for leaf in leaves if f"{leaf.path}.".startswith(f"{name}."))
        return "instants" if any(leaf.physical_type == "INT96" for leaf in own_leaves) else "local"

    def batches(self, most: int | None = None) -> Iterator[list[pa.Array]]:
        """Yield the columns, batch by batch, in the order of the names. Needs `complete`.

        Args:
            most: how many rows to read in a file that has more, from its first and its last part; or None for
                all.
        """
        names = [spellings[0] for spellings in self._spelled]
        count = int(self._file.nstripes if self._orc else self._file.num_row_groups)
        if most is None or self.rows <= most:
            parts, rows_of_part = list(range(count)), None
        else:
            parts = sorted({0, count - 1})
            rows_of_part = most // len(parts)
        for part in parts:
            remaining = rows_of_part
            for batch in self._part(part, names):
                arrays = [_plain(batch.column(name)) for name in names]
                yield arrays if remaining is None else [array.slice(0, remaining) for array in arrays]
                if remaining is not None:
                    remaining -= len(arrays[0])
                    if remaining <= 0:
                        break

    def _part(self, part: int, names: list[str]) -> Iterator[pa.RecordBatch]:
        if self._orc:
            yield self._file.read_stripe(part, columns=names)
        else:
            yield from self._file.iter_batches(ROWS_PER_BATCH, row_groups=[part], columns=names)


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _is_like(type: HashType, stored: pa.DataType, times: _Times) -> bool:
    """Return whether Spark reads a file's column as the same values of a type."""
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    name = type.name
    if (
        name in INTEGER_BITS
    ):  # Hive stores a tinyint in 32 bits; but an int column that became bigint was hashed as int
        return bool(pa.types.is_signed_integer(stored)) and stored.bit_width >= INTEGER_BITS[name]
    if name in _TEXT or name == "binary":
        return _is_text(stored) or pa.types.is_fixed_size_binary(stored)
    if name == "timestamp":
        return bool(pa.types.is_timestamp(stored)) and (stored.tz is not None or times == "instants")
    if name == "timestamp_ntz":
        return bool(pa.types.is_timestamp(stored)) and stored.tz is None and times == "local"
    if name == "decimal":
        return _is_same_decimal(type.arrow, stored)
    if type.parts:
        return _are_parts_like(type, stored, times)
    return bool(stored == type.arrow)


def _is_text(stored: pa.DataType) -> bool:
    return any(
        is_kind(stored)
        for is_kind in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
        )
    )


def _is_same_decimal(wanted: pa.DataType, stored: pa.DataType) -> bool:
    return (
        bool(pa.types.is_decimal(stored))
        and stored.scale == wanted.scale
        and (stored.precision > _MAX_DIGITS_IN_64_BITS) == (wanted.precision > _MAX_DIGITS_IN_64_BITS)
    )


def _are_parts_like(type: HashType, stored: pa.DataType, times: _Times) -> bool:
    if type.name == "struct":
        names = [field.name.lower() for field in type.arrow]
        return (
            bool(pa.types.is_struct(stored))
            and names == [field.name.lower() for field in stored]
            and all(_is_like(part, field.type, times) for part, field in zip(type.parts, stored, strict=True))
        )
    if type.name == "array":
        return bool(pa.types.is_list(stored) or pa.types.is_large_list(stored)) and _is_like(
            type.parts[0], stored.value_type, times
        )
    key, value = type.parts[0].parts
    return (
        bool(pa.types.is_map(stored))
        and _is_like(key, stored.key_type, times)
        and _is_like(value, stored.item_type, times)
    )
