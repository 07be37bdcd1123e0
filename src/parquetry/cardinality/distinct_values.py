"""Estimate the number of distinct values of a column from bounds, rows and bytes of its files.

Files whose ranges overlap are one group. The values of different groups differ, so their numbers add up:

| files of an int column                          | groups         | distinct values                  |
|-------------------------------------------------|----------------|----------------------------------|
| 500 rows, 1 to 9; 500 rows, 5 to 12             | 1 to 12        | 12, as there are no more numbers |
| 500 rows, 7 to 7; 500 rows, 9 to 9              | 7; 9           | 2, exactly                       |
| 500 rows, 1 to 90,000; 500 rows, 95,000 to 95,009 | two          | 500 + 10                         |

A file's dictionary tells about how many values the file has (`data_files`). Files of one group may have
the same values or others:

| values of each of 8 files, of 36,000 rows | why                                            | estimate          |
|-------------------------------------------|------------------------------------------------|-------------------|
| 30 numbers from 1 to 30,000               | each has 1,200 rows: all files have the same   | 30                |
| 3,000 numbers from 1 to 30,000            | each has 12 rows: files may have others        | 24,000            |
| 50 texts                                  | as of values that come at random               | 50                |

Texts, bytes and floats have any number of values between two bounds. Without a dictionary, their compressed
size says more. A column with 10 values takes about log2(10) = 3.3 bits for each row, also if its values are
long. So `8 * bytes / rows` bits stand for at most 2 to that power distinct values. Bytes of dictionaries make
this too high where rows are few; values in order make it too low.

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


MANY_ROWS_PER_VALUE = 100
"""If each value has so many rows in each of several files, they have the same values."""

DENSE = 2
"""A range with so many times the numbers of a dictionary, or fewer, counts as full."""


class ValuesInFile(NamedTuple):
    """The values of a column in one file.

    Attributes:
        rows: how many rows are not NULL, at least 1.
        least: a value that none is below, or None if it is unknown.
        greatest: a value that none is above, or None if it is unknown.
        exact: whether both bounds are values of the file.
        size: compressed bytes of the column, or None if they are unknown.
        distinct: about how many values there are, or None if the file's dictionary does not tell.
    """

    rows: int
    least: Any
    greatest: Any
    exact: bool
    size: int | None = None
    distinct: int | None = None

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
    for group in _groups(files):
        rows = sum(file.rows for file in group)
        values = _possible_values(kind, group)
        numbers = [(file.rows, 1 if file.is_single else file.distinct) for file in group]
        in_dictionaries = combine_distinct(numbers, values, at_most=counted is not None)
        values = values if values <= DENSE * in_dictionaries else in_dictionaries
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


def combine_distinct(
    files: Sequence[tuple[int, int | None]], possible: float, *, at_most: bool = False
) -> float:
    """Return about how many distinct values files have together, or infinity if one's number is unknown.

    Args:
        files: the rows of each file, and the number of its values or None.
        possible: how many values their range has, or infinity.
        at_most: whether to return an upper bound, as if no two files had a value in common.

    >>> combine_distinct([(36_000, 3_000)] * 8, 30_000), combine_distinct([(36_000, 30)] * 8, 30_000)
    (24000, 30)
    >>> combine_distinct([(36_000, 50)] * 8, math.inf), combine_distinct([(1_000, 900)] * 8, math.inf)
    (50, 3824)
    """
    numbers = [number for _, number in files if number is not None]
    if len(numbers) < len(files):
        return math.inf
    total, largest = sum(numbers), max(numbers)
    if at_most:
        return total
    rows = sum(rows for rows, _ in files)
    if largest == total or rows >= MANY_ROWS_PER_VALUE * total:
        return largest
    if not math.isinf(possible):
        return total
    return min(total, max(largest, _of_more_rows(largest, rows * largest / total, rows)))


def _of_more_rows(values: int, rows: float, all_rows: int) -> int:
    """Return how many values all rows have if some rows have `values`, and values come at random.

    Of D values, r rows have D * (1 - exp(-r / D)).
    """
    low, high = float(values), float(values) * max(1.0, all_rows / rows) * 64
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * -math.expm1(-rows / middle) < values else (low, middle)
    return math.ceil(round(low * -math.expm1(-all_rows / low), 6))


def _groups(files: Sequence[ValuesInFile]) -> Iterator[list[ValuesInFile]]:
    """Yield the groups of files whose ranges overlap; all files are one if a bound is unknown."""
    if any(file.least is None or file.greatest is None for file in files):
        yield list(files)
        return
    group: list[ValuesInFile] = []
    greatest: Any = None
    for file in sorted(files, key=lambda file: (file.least, file.greatest)):
        if group and file.least <= greatest:
            group.append(file)
            greatest = max(greatest, file.greatest)
        else:
            if group:
                yield group
            group, greatest = [file], file.greatest
    if group:
        yield group


def _possible_values(kind: ColumnType, group: Sequence[ValuesInFile]) -> float:
    """Return how many values the type has in the range of a group of files."""
    if any(file.least is None or file.greatest is None for file in group):
        return math.inf
    family, least, greatest = kind.facts.family, group[0].least, max(file.greatest for file in group)
    if family is Family.BOOLEAN:
        return 1 + int(least != greatest)
    if family in (Family.INTEGER, Family.TEMPORAL):
        return int(greatest - least + 1)
    if family is Family.DECIMAL:
        return int((greatest - least) * 10**kind.scale) + 1
    return 1 if all(file.is_single for file in group) else math.inf
