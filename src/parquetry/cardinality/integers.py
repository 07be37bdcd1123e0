"""Integers, dates and timestamps of a column in many files, in arrays.

Most keys of joins are integers, and facts have thousands of files. This takes a tenth of the time that
`columns` takes file by file, and gives the same statistics.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquetry.cardinality.distinct_values import DENSE, MANY_ROWS_PER_VALUE
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
        distinct: about how many values each file has, as far as dictionaries tell, or None if none does.
    """

    nulls: int
    rows: NDArray[np.int64]
    least: NDArray[np.int64]
    greatest: NDArray[np.int64]
    distinct: NDArray[np.int64] | None = None

    def possible_values(self, *, at_most: bool = False) -> int:
        """Return about how many distinct values there are; see `distinct_values`.

        Args:
            at_most: see `combine_distinct`.
        """
        if not len(self.rows):
            return 0
        order = np.lexsort((self.greatest, self.least))
        least, greatest = self.least[order], np.maximum.accumulate(self.greatest[order])
        first = np.concatenate(([0], np.flatnonzero(least[1:] > greatest[:-1]) + 1))
        last = np.concatenate((first[1:] - 1, [len(order) - 1]))
        rows = np.add.reduceat(self.rows[order], first)
        groups = zip(
            rows.tolist(),
            least[first].tolist(),
            greatest[last].tolist(),
            self._limits(order, first, rows, at_most=at_most).tolist(),
            strict=True,
        )
        return sum(
            min(rows, limit if high - low >= DENSE * limit else high - low + 1)
            for rows, low, high, limit in groups
        )

    def _limits(
        self, order: NDArray[np.intp], first: NDArray[np.intp], rows: NDArray[np.int64], *, at_most: bool
    ) -> NDArray[np.int64]:
        """Return how many values the dictionaries of each group allow; see `combine_distinct`."""
        if self.distinct is None:
            return rows
        single = self.least[order] == self.greatest[order]
        numbers = np.where(single, 1, self.distinct[order])
        numbers = np.where(numbers == UNKNOWN, self.rows[order], numbers)
        total, largest = np.add.reduceat(numbers, first), np.maximum.reduceat(numbers, first)
        if at_most:
            return total
        return np.where(rows >= MANY_ROWS_PER_VALUE * total, largest, total)


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
    distinct = None if statistics.distinct is None else statistics.distinct[filled]
    return IntegersInFiles(total, rows - nulls, least, greatest, distinct)
