"""Integers, dates and timestamps of a column in many files, in arrays.

Most keys of joins are integers, and facts have thousands of files. This takes a tenth of the time that
`columns` takes file by file, and gives the same statistics.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import UNKNOWN, FileColumns, TableColumn, bounds_in_files
from parquetry.predicate import NO_ROWS, ONLY_NULL

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1
"""Bounds that stand for unknown ones."""


class IntegersInFiles(NamedTuple):
    """The values of a column in the files that have any.

    Attributes:
        nulls: how many rows of all files are NULL.
        rows: how many rows of each file are not NULL.
        least: a value that none of the file is below.
        greatest: a value that none of the file is above.
    """

    nulls: int
    rows: NDArray[np.int64]
    least: NDArray[np.int64]
    greatest: NDArray[np.int64]

    def possible_values(self) -> int:
        """Return how many distinct values there are at most; see `distinct_values`."""
        if not len(self.rows):
            return 0
        order = np.lexsort((self.greatest, self.least))
        least, greatest = self.least[order], np.maximum.accumulate(self.greatest[order])
        first = np.concatenate(([0], np.flatnonzero(least[1:] > greatest[:-1]) + 1))
        last = np.concatenate((first[1:] - 1, [len(order) - 1]))
        groups = zip(
            np.add.reduceat(self.rows[order], first).tolist(),
            least[first].tolist(),
            greatest[last].tolist(),
            strict=True,
        )
        return sum(min(rows, high - low + 1) for rows, low, high in groups)


def integers_in_files(column: TableColumn, files: FileColumns) -> IntegersInFiles | None:
    """Return the integers of a column in files, or None if they have to be looked at one by one.

    They have to if they are few, if something of a file is unknown, or if its column has a default.
    """
    facts = column.column_type.facts
    statistics = files.statistics(column.physical)
    if facts.value is not int or not facts.ranged or statistics is None:
        return None
    found = bounds_in_files(column, files)
    if found is None:
        return None
    least, greatest = np.asarray(found.bounds.least), np.asarray(found.bounds.greatest)
    if least.dtype != np.int64 or greatest.dtype != np.int64:
        return None
    filled = ~np.isin(np.asarray(found.bounds.nulls), (ONLY_NULL, NO_ROWS))
    least, greatest, rows = least[filled], greatest[filled], files.rows[filled]
    nulls, there = statistics.nulls[filled], statistics.there[filled]
    is_known = there & (nulls != UNKNOWN) & (nulls < rows) & (least > _LEAST) & (greatest < _GREATEST)
    if not is_known.all():
        return None
    total = int(files.rows[~filled].sum()) + int(nulls.sum())
    return IntegersInFiles(total, rows - nulls, least, greatest)
