"""Statistics of files, read for tuples of some columns: tuples that no row has, the one that all rows have, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from parquetry.data_files.bounds import FileBounds, bounds_reader
from parquetry.data_files.records import FileRecord, TableColumn
from parquetry.types import Value

Row: TypeAlias = tuple[Value, ...]


class StatedTuples:
    """Reads the statistics of files for some columns.

    Args:
        columns: that have the tuples' values.
    """

    def __init__(self, columns: Sequence[TableColumn]) -> None:
        self._types = [column.column_type for column in columns]
        self._readers = [bounds_reader(column) for column in columns]

    def possible(self, file: FileRecord, rows: Iterable[Row]) -> list[Row]:
        """Return the tuples, among some, that rows of a file may have."""
        bounds = [
            None if type.name == "char" else read(file)  # whose values are padded, or not
            for type, read in zip(self._types, self._readers, strict=True)
        ]
        return [
            row
            for row in rows
            if not any(
                known is not None and lacks(known, value) for known, value in zip(bounds, row, strict=True)
            )
        ]

    def only(self, file: FileRecord) -> Row | None:
        """Return the tuple that all rows of a file have, or None if that is not proved."""
        row: list[Value] = []
        for type, read in zip(self._types, self._readers, strict=True):
            bounds = read(file)
            if bounds is None or not file.rows:
                return None
            if bounds.all_null:
                row.append(None)
            elif bounds.nulls == 0 and not type.floating and _is_one_value(bounds):
                row.append(bounds.min)
            else:
                return None
        return tuple(row)

    def counts(self, files: Iterable[FileRecord]) -> Counter[Row]:
        """Return of how many rows of files it is proved that they have a tuple: at least so many have it.

        Args:
            files: each counts if its rows are alike. A single column counts its NULLs besides, and its values if they are one.
        """
        found: Counter[Row] = Counter()
        for file in files:
            row = self.only(file)
            if row is not None:
                found[row] += file.rows or 0
            elif len(self._readers) == 1 and (bounds := self._readers[0](file)) is not None and bounds.nulls:
                found[None,] += bounds.nulls
                if file.rows and not self._types[0].floating and _is_one_value(bounds):
                    found[bounds.min,] += file.rows - bounds.nulls
        return found


def _is_one_value(bounds: FileBounds) -> bool:
    return bounds.min_exact and bounds.max_exact and bounds.min is not None and bounds.min == bounds.max


def lacks(bounds: FileBounds, value: Value) -> bool:
    """Return whether no row has a value in a column."""
    if value is None:
        return bounds.nulls == 0 and not bounds.all_null
    if value != value:
        return bounds.all_null
    low: Any = bounds.min
    high: Any = bounds.max
    return bounds.all_null or (low is not None and value < low) or (high is not None and high < value)
