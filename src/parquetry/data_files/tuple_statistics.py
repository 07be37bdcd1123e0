"""Statistics of files for tuples of values: which tuples may occur, and how many rows surely have one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from parquetry.data_files.bounds import FileBounds, bounds_reader
from parquetry.data_files.records import FileRecord, TableColumn
from parquetry.types import Value

Row: TypeAlias = tuple[Value, ...]


class StatedTuples:
    """Reads the statistics of files for tuples of values.

    Args:
        columns: of the tuples.
    """

    def __init__(self, columns: Sequence[TableColumn]) -> None:
        self._types = [column.column_type for column in columns]
        self._readers = [bounds_reader(column) for column in columns]

    def possible(self, file: FileRecord, rows: Iterable[Row]) -> list[Row]:
        """Return the tuples among `rows` that rows of a file may have."""
        bounds = [
            None if type.name == "char" else read(file)  # its values may be padded, or not
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
        """Return the tuple that all rows of a file have, or None if the statistics do not prove it."""
        row: list[Value] = []
        for type, read in zip(self._types, self._readers, strict=True):
            bounds = read(file)
            if bounds is None or not bounds.proof or not file.rows:
                return None
            if bounds.all_null:
                row.append(None)
            elif bounds.nulls == 0 and not type.floating and _is_one_value(bounds):
                row.append(bounds.min)
            else:
                return None
        return tuple(row)

    def counts(self, files: Iterable[FileRecord]) -> Counter[Row]:
        """Return a lower bound for the number of rows with each tuple, proved by the statistics.

        A file counts if all of its rows have the same tuple. With a single column, a file also counts for its
        NULLs, and for its other rows if these have one value. Example: a file of 10 rows with 3 NULLs and the
        bounds 5 to 5 counts 3 for NULL and 7 for 5.

        Args:
            files: with statistics.
        """
        proved_rows: Counter[Row] = Counter()
        for file in files:
            row = self.only(file)
            if row is not None:
                proved_rows[row] += file.rows or 0
            elif (
                len(self._readers) == 1
                and (bounds := self._readers[0](file)) is not None
                and bounds.nulls
                and bounds.proof
            ):
                proved_rows[None,] += bounds.nulls
                if file.rows and not self._types[0].floating and _is_one_value(bounds):
                    proved_rows[bounds.min,] += file.rows - bounds.nulls
        return proved_rows


def _is_one_value(bounds: FileBounds) -> bool:
    return bounds.min_exact and bounds.max_exact and bounds.min is not None and bounds.min == bounds.max


def lacks(bounds: FileBounds, value: Value) -> bool:
    """Return whether bounds prove that no row has a value."""
    if value is None:
        return bounds.nulls == 0 and not bounds.all_null
    if value != value:
        return bounds.all_null
    low: Any = bounds.min
    high: Any = bounds.max
    return bounds.all_null or (low is not None and value < low) or (high is not None and high < value)
