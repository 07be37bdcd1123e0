"""Estimate the number of distinct values of a column from bounds, rows and bytes of its files.

Files whose ranges overlap are one group. The values of different groups differ, so their numbers add up:

| files of an int column                          | groups         | distinct values                  |
|-------------------------------------------------|----------------|----------------------------------|
| 500 rows, 1 to 9; 500 rows, 5 to 12             | 1 to 12        | 12, as there are no more numbers |
| 500 rows, 7 to 7; 500 rows, 9 to 9              | 7; 9           | 2, exactly                       |
| 500 rows, 1 to 90,000; 500 rows, 95,000 to 95,009 | two          | 500 + 10                         |

Texts, bytes and floats have any number of values between two bounds. Their compressed size says more. A
column with 10 values takes about log2(10) = 3.3 bits for each row, also if its values are long. So `8 *
bytes / rows` bits stand for at most 2 to that power distinct values. Bytes of dictionaries make this too
high where rows are few; values in order make it too low.

ANALYZE TABLE … FOR COLUMNS counts the values of a whole table. Of 10,000 values in 20,000 rows, evenly
distributed, 2,000 rows have about 1,900.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from parquetry.metastore import CountedColumn
from parquetry.types import ColumnType, Family

_MAX_BITS = 62
"""With so many bits for each row, every row counts as another value: no table has 2**62 rows."""

_KEY_SHARE = 0.9
"""A column is a key if it has at least so many distinct values for each row; counts are some per cent off."""


class ValuesInFile(NamedTuple):
    """The values of a column in one file.

    Attributes:
        rows: how many rows are not NULL, at least 1.
        least: a value that none is below, or None if it is unknown.
        greatest: a value that none is above, or None if it is unknown.
        exact: whether both bounds are values of the file.
        size: compressed bytes of the column, or None if they are unknown.
    """

    rows: int
    least: Any
    greatest: Any
    exact: bool
    size: int | None = None

    @property
    def is_single(self) -> bool:
        """Return whether all rows have one value; bounds of floats do not say so, as they leave out NaN."""
        return self.exact and self.least == self.greatest and not isinstance(self.least, float)


def estimate_distinct(
    kind: ColumnType, files: Sequence[ValuesInFile], counted: CountedColumn | None = None
) -> int:
    """Return the estimated number of distinct values of a column in files.

    Args:
        kind: the column's type.
        files: with values that are not NULL.
        counted: what ANALYZE counted of the column in all rows of some version, or None.

    >>> int_ = ColumnType('int')
    >>> estimate_distinct(int_, [ValuesInFile(500, 1, 9, True), ValuesInFile(500, 5, 12, True)])
    12
    >>> estimate_distinct(int_, [ValuesInFile(500, 7, 7, True), ValuesInFile(500, 9, 9, True)])
    2
    >>> estimate_distinct(ColumnType('string'), [ValuesInFile(18_000, 'Books', 'Women', True, 7_500)])
    11
    """
    possible, others = 0, 0
    for rows, values in _groups(kind, files):
        if math.isinf(values):
            others += rows
        else:
            possible += min(rows, int(values))
    if counted is not None:
        return max(limit_counted(counted, sum(file.rows for file in files), possible + others), _seen(files))
    return max(possible + min(others, _by_bytes(files)), _seen(files)) if others else possible


def limit_counted(counted: CountedColumn, rows: int, possible: int) -> int:
    """Return how many distinct values some rows have by a count of all rows, at most `possible`."""
    return max(min(possible, scale_distinct(counted, rows)), min(1, rows))


def scale_distinct(counted: CountedColumn, rows: int) -> int:
    """Return how many of a column's distinct values some of its rows have, if they are any of its rows.

    With more rows than were counted, a key has more values, and a column of few values as many as before.

    >>> scale_distinct(CountedColumn("c", 10_000, 20_000), 2_000), scale_distinct(CountedColumn("c", 10, 20_000), 2_000)
    (1900, 10)
    >>> scale_distinct(CountedColumn("c", 9_900, 10_000), 20_000)
    19800
    """
    if not counted.rows or not counted.distinct or not rows:
        return 0
    if rows >= counted.rows:
        is_key = counted.distinct >= _KEY_SHARE * counted.rows
        return math.ceil(counted.distinct * rows / counted.rows) if is_key else counted.distinct
    absent: float = (1 - rows / counted.rows) ** (counted.rows / counted.distinct)
    return math.ceil(round(counted.distinct * (1 - absent), 6))


def _by_bytes(files: Sequence[ValuesInFile]) -> int:
    """Return how many values the compressed bytes of a row stand for at most."""
    several = [file for file in files if not file.is_single]
    sizes = [file.size for file in several if file.size is not None]
    bits = 8 * sum(sizes) / sum(file.rows for file in several) if len(sizes) == len(several) else _MAX_BITS
    return math.ceil(2 ** min(bits, _MAX_BITS))


def _seen(files: Sequence[ValuesInFile]) -> int:
    """Return how many values are bounds, and so occur."""
    return len({value for file in files if file.exact for value in (file.least, file.greatest)})


def _groups(kind: ColumnType, files: Sequence[ValuesInFile]) -> Iterator[tuple[int, float]]:
    """Yield the rows of each group of files, and how many values the type has in its range."""
    if any(file.least is None or file.greatest is None for file in files):
        yield sum(file.rows for file in files), math.inf
        return
    rows, least, greatest, single = 0, None, None, True
    for file in sorted(files, key=lambda file: (file.least, file.greatest)):
        if rows and file.least <= greatest:
            rows, greatest, single = rows + file.rows, max(greatest, file.greatest), single and file.is_single
        else:
            if rows:
                yield rows, _possible_values(kind, least, greatest, single=single)
            rows, least, greatest, single = file.rows, file.least, file.greatest, file.is_single
    if rows:
        yield rows, _possible_values(kind, least, greatest, single=single)


def _possible_values(kind: ColumnType, least: Any, greatest: Any, *, single: bool) -> float:
    family = kind.facts.family
    if family is Family.BOOLEAN:
        return 1 + int(least != greatest)
    if family in (Family.INTEGER, Family.TEMPORAL):
        return int(greatest - least + 1)
    if family is Family.DECIMAL:
        return int((greatest - least) * 10**kind.scale) + 1
    return 1 if single else math.inf
