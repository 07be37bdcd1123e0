"""Read the stored columns of a data file, and check whether Spark would hash the same values.

`rows.StoredFile` opens the file and finds the columns. A hash depends on the stored type.
A row whose key was written as an int is in the int's bucket, even if the table has a bigint now. So values
are not converted here. The caller decides what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from parquetry.data_files import TableColumn
from parquetry.hashing import HashType
from parquetry.rows import StoredFile, plain
from parquetry.types import Family, facts_of

_Times: TypeAlias = Literal["instants", "local", "unknown"]
"""The meaning of a column's timestamps without a zone."""
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
        self._stored = StoredFile(source, file_format)
        self._spelled = [
            self._stored.spellings(name, None if positions is None else positions[at])
            for at, name in enumerate(names)
        ]

    @property
    def complete(self) -> bool:
        """Return whether the file has each of the columns exactly once."""
        return all(len(spellings) == 1 for spellings in self._spelled)

    @property
    def rows(self) -> int:
        """Return the number of the file's rows."""
        return self._stored.rows

    def unlike(self, columns: Sequence[TableColumn]) -> dict[str, str]:
        """Return, by physical name, why Spark may hash other values of some columns.

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
        stored = self._stored.type_of(spelled[0])
        if _is_like(HashType.from_column_type(column.column_type), stored, self._times(spelled[0])):
            return None
        return f"the file has {column.physical} as {stored}, and the table as {column.column_type}"

    def _times(self, name: str) -> _Times:
        if self._stored.is_orc:
            return "unknown"
        return "instants" if "parquet INT96" in self._stored.leaves(name) else "local"

    def batches(self, most: int | None = None) -> Iterator[list[pa.Array]]:
        """Yield the columns, batch by batch, in the order of the names. Needs `complete`.

        Args:
            most: how many rows to read in a file that has more, from its first and its last part; or None for
                all.
        """
        names = [spellings[0] for spellings in self._spelled]
        count = self._stored.parts
        if most is None or self.rows <= most:
            parts, rows_of_part = list(range(count)), None
        else:
            parts = sorted({0, count - 1})
            rows_of_part = most // len(parts)
        for part in parts:
            remaining = rows_of_part
            for batch in self._stored.batches(names, [part]):
                arrays = [plain(batch.column(name)) for name in names]
                yield arrays if remaining is None else [array.slice(0, remaining) for array in arrays]
                if remaining is not None:
                    remaining -= len(arrays[0])
                    if remaining <= 0:
                        break


def _is_like(type: HashType, stored: pa.DataType, times: _Times) -> bool:
    """Return whether Spark reads a file's column as the same values of a type."""
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    name, facts = type.name, facts_of(type.name)
    if facts.family is Family.INTEGER:
        # Hive stores a tinyint in 32 bits; but an int column that became bigint was hashed as int
        return bool(pa.types.is_signed_integer(stored)) and stored.bit_width >= facts.bits
    if facts.family in (Family.TEXT, Family.BINARY):
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
