"""Leave out the row groups of a Parquet file that cannot have a row for a condition.

The code that judges the statistics of whole files judges theirs, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.fs as pafs

from parquetry.data_files import (
    FileRecord,
    RecordedFiles,
    TableColumn,
    bounds_in_files,
    footer_record,
    open_footer,
)
from parquetry.errors import ParquetryError
from parquetry.predicate import Bounds, Filter, Knowledge, Match, match
from parquetry.types import Value


def candidate_row_groups(
    filesystem: pafs.FileSystem,
    path: str,
    filter: Filter,
    columns: Sequence[TableColumn],
    partition: Mapping[str, Value],
    count: int,
) -> list[int] | None:
    """Return the positions of the row groups that may have a matching row, or None if all may.

    Args:
        filesystem: of the file.
        path: of the file on it.
        filter: the condition.
        columns: the table's columns that are in files.
        partition: the values of the partition columns by name.
        count: of the row groups, as PyArrow has it.
    """
    try:
        footers = open_footer(filesystem, path).by_row_group()
        records = [footer_record(footer, path, 0, None) for footer in footers]
    except (pa.ArrowException, OSError, ValueError, ParquetryError):
        return None  # reading the rows raises the error
    if len(records) != count:
        return None
    answers = match(filter, _RowGroups(records, columns, partition))
    return [position for position, answer in enumerate(answers) if answer != Match.CANNOT]


class _RowGroups(Knowledge):
    """The statistics of row groups; see `Knowledge`."""

    def __init__(
        self, records: Sequence[FileRecord], columns: Sequence[TableColumn], partition: Mapping[str, Value]
    ) -> None:
        self._files = RecordedFiles(records)
        self._columns = {column.name: column for column in columns}
        self._partition = partition
        self.count = len(records)

    def bounds(self, column: str) -> Bounds | None:
        """Return the bounds of a column in each of the row groups, or None if it has no statistics."""
        if column in self._partition:
            return Bounds.from_values([self._partition[column]] * self.count)
        bounds = bounds_in_files(self._columns[column], self._files) if column in self._columns else None
        return None if bounds is None else bounds.bounds
