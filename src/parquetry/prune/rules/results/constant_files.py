"""Find the files that need not be opened, since each wanted column has one value in all of their rows.

    SELECT d.name, count(*) FROM f JOIN d ON f.day = d.day GROUP BY d.name      f is partitioned by day

| wanted columns         | files that need not be opened                                    |
|------------------------|------------------------------------------------------------------|
| partition columns      | all files whose number of rows is known                          |
| skewed columns as well | of these, the files of directories for skewed values of theirs   |
| any other column       | none                                                             |

The rows of such a file are as many copies of its values. Floats are left out, as a directory for 0.0 may have
-0.0, and so are chars, which files may hold unpadded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parquetry.data_files import UNKNOWN, Numbers
from parquetry.layout import REST
from parquetry.metastore import FileBlock, PartitionSnapshot, TableMetadata, TableSnapshot
from parquetry.predicate import Row
from parquetry.prune.rules.arrangements import may_have_directories, skew_maps
from parquetry.prune.rules.directory_knowledge import heavy_tuples

OPENED = -1
"""Stands for the number of rows of a file that must be opened."""


class ConstantFiles(NamedTuple):
    """The files of a scan that need not be opened.

    Attributes:
        columns: the data columns.
        rows: for each file its number of rows, or `OPENED`.
        values: rows of values of these columns.
        of_files: for each file the index of its values.
    """

    columns: list[str]
    rows: Numbers
    values: list[Row]
    of_files: Numbers

    @property
    def file_count(self) -> int:
        """Return how many files need not be opened."""
        return int((self.rows != OPENED).sum())


def constant_files(
    snapshot: TableSnapshot,
    partitions: Sequence[PartitionSnapshot],
    block: FileBlock,
    columns: Sequence[str],
) -> ConstantFiles | None:
    """Return the files that need not be opened for some columns, or None if there are none.

    Args:
        snapshot: the version of the table.
        partitions: the partitions of the files.
        block: the files that are read.
        columns: the wanted columns, in any case.

    Raises:
        ColumnNotFoundError: the table has no such column.
    """
    metadata = snapshot.metadata
    names = [metadata.column(name).name for name in columns]
    data = [name for name in names if name not in metadata.partition_by]
    counts = block.files.rows
    rows = np.where(counts == UNKNOWN, OPENED, counts)
    nothing: list[Row] = [()]
    constant: ConstantFiles | None = ConstantFiles(data, rows, nothing, np.zeros(len(rows), np.int64))
    if data:
        constant = (
            _in_directories(snapshot, partitions, block, data, rows) if _are_kept(metadata, data) else None
        )
    return constant if constant is not None and constant.file_count else None


def _are_kept(metadata: TableMetadata, data: Sequence[str]) -> bool:
    """Return whether equal values of columns are the same values."""
    return all(metadata.column(name).column_type.facts.plain for name in data)


def _in_directories(
    snapshot: TableSnapshot,
    partitions: Sequence[PartitionSnapshot],
    block: FileBlock,
    data: list[str],
    rows: Numbers,
) -> ConstantFiles | None:
    arranged = block.files.arranged
    maps = skew_maps(snapshot, partitions) if may_have_directories(snapshot) else None
    if arranged is None or maps is None:
        return None
    heavy, positions = heavy_tuples(snapshot.metadata, maps.distinct)
    cells, map_of = arranged[0], maps.numbers[block.parts]
    values: list[Row] = []
    of_files = np.full(len(rows), OPENED, np.int64)
    for group, tuples in enumerate(heavy):
        if not set(data) <= set(tuples.names):
            continue
        places = [tuples.names.index(name) for name in data]
        numbers = np.array([n if at == group else -1 for at, n in (each or (-1, -1) for each in positions)])
        mine = np.flatnonzero((map_of >= 0) & (cells > REST) & (numbers[map_of] >= 0))
        of_files[mine] = len(values) + tuples.numbers(numbers[map_of[mine]], cells[mine])
        values += [tuple(row[position] for position in places) for row in tuples.rows]
    known = of_files != OPENED
    return ConstantFiles(data, np.where(known, rows, OPENED), values, np.where(known, of_files, 0))
