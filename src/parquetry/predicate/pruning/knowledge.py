"""Statistics of containers, known without reading their rows; `match` judges containers by them alone.

`Knowledge` describes N containers and `Bounds` one column of them. This module does not say where statistics
come from: for files, see `data_files.bounds_vectorized`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from parquetry.predicate.functions.values import NO_NULL, ONLY_NULL
from parquetry.predicate.pruning.guarantees import Row
from parquetry.predicate.pruning.held_values import (
    Values,
    masked_value_array,
    python_type,
    take_values,
    value_array,
)
from parquetry.predicate.pruning.truth_sets import MAX_LISTED_CONTAINERS, Codes, codes
from parquetry.types import ColumnType, Value


class Bounds(msgspec.Struct, frozen=True, eq=False):
    """The bounds and NULLs of a column in each of N containers: lists for few containers, arrays for many.

    Attributes:
        least: no value in the container is less. It means nothing in a container that has only NULL.
        greatest: no value in the container is greater.
        nulls: whether rows are NULL, one of the four codes of `functions.values`.
        shared: whether the values are exact, as in partitions. All rows of a container then have one value,
            both least and greatest, or NULL. (Where the two differ, the value is not known.) NaN is then a
            value like any other. If not `shared`, these are statistics, which leave NaN out: a float column
            may contain it.
        doubts: the containers whose bounds and NULLs may only leave the container out, and prove nothing
            about all of its rows; None if there are none.
        no_nan: the containers without NaN, or whose rows with NaN are of no interest; None if all of a float
            column may have it.
    """

    least: Values
    greatest: Values
    nulls: Codes
    shared: bool = False
    doubts: NDArray[np.bool_] | None = None
    no_nan: NDArray[np.bool_] | None = None

    def hidden_nan(self, type: ColumnType) -> bool | NDArray[np.bool_]:
        """Return which containers may have NaN although no bound shows it: all, none, or a flag for each."""
        if not type.floating or self.shared:
            return False
        if self.no_nan is None or not self.no_nan.any():
            return True
        return ~self.no_nan if not self.no_nan.all() else False

    @classmethod
    def from_values(cls, values: Sequence[Value]) -> Bounds:
        """Return the bounds of containers whose rows all have one value; None is NULL.

        >>> Bounds.from_values(['eu', None])
        Bounds(least=['eu', LOWEST], greatest=['eu', LOWEST], nulls=[0, 2], shared=True, doubts=None, no_nan=None)
        """
        kind = next((value.__class__ for value in values if value is not None), object)
        array = value_array(values, kind, lowest=True)
        return cls(array, array, codes([ONLY_NULL if value is None else NO_NULL for value in values]), True)

    @classmethod
    def from_statistics(
        cls, type: ColumnType, least: Sequence[Value], greatest: Sequence[Value], nulls: Sequence[int]
    ) -> Bounds:
        """Return bounds from statistics; pairs that cannot be trusted count as not known.

        A pair with NaN is not trusted: the writer may have lost the other values. Nor is a pair such as `z`
        to `y`.

        Args:
            type: the column's type.
            least: for each container, or None if not known. A char is padded to its length.
            greatest: likewise.
            nulls: for each container one of the four codes of `functions.values`.

        >>> from parquetry.predicate.functions.values import SOME_NULL
        >>> Bounds.from_statistics(ColumnType('string'), ['a', 'z'], [None, 'y'], [SOME_NULL, NO_NULL])
        Bounds(least=['a', LOWEST], greatest=[HIGHEST, HIGHEST], nulls=[1, 0], shared=False, doubts=None, no_nan=None)
        """
        if not all(map(_trusted, least, greatest)):
            pairs = list(zip(least, greatest, strict=True))
            least = [low if _trusted(low, high) else None for low, high in pairs]
            greatest = [high if _trusted(low, high) else None for low, high in pairs]
        kind = python_type(type)
        return cls(
            value_array(least, kind, lowest=True), value_array(greatest, kind, lowest=False), codes(nulls)
        )

    @classmethod
    def from_arrays(
        cls,
        type: ColumnType,
        least: NDArray[Any],
        greatest: NDArray[Any],
        mask: NDArray[np.bool_],
        nulls: Codes,
    ) -> Bounds:
        """Return bounds from arrays of numbers, for more than `MAX_LISTED_CONTAINERS` containers.

        Args:
            type: the column's type, one whose values are numbers.
            least: for each container.
            greatest: likewise.
            mask: the containers where both are known.
            nulls: for each container one of the four codes of `functions.values`.
        """
        kind, trusted = python_type(type), mask & (least <= greatest)
        low = masked_value_array(least, trusted, kind, lowest=True)
        return cls(low, masked_value_array(greatest, trusted, kind, lowest=False), nulls)

    def with_doubts(self, doubts: Sequence[bool] | NDArray[np.bool_]) -> Bounds:
        """Return the same bounds, which prove nothing about some of the containers."""
        return msgspec.structs.replace(self, doubts=np.asarray(doubts, np.bool_))

    def with_no_nan(self, no_nan: Sequence[bool] | NDArray[np.bool_]) -> Bounds:
        """Return the same bounds, with the containers that have no NaN."""
        return msgspec.structs.replace(self, no_nan=np.asarray(no_nan, np.bool_))

    def without_nan(self) -> Bounds:
        """Return the bounds of the rows that are not NaN. They prove nothing where other rows may be NaN."""
        every = np.ones(len(self.nulls), np.bool_)
        doubts = every if self.no_nan is None else ~self.no_nan
        if self.doubts is not None:
            doubts = doubts | self.doubts
        return self.with_no_nan(every).with_doubts(doubts)

    def take(self, indices: NDArray[np.intp]) -> Bounds:
        """Return the bounds of the containers at some indices; an index may appear more than once.

        >>> Bounds.from_values(['eu', None]).take(np.array([1, 0, 1])).nulls
        [2, 0, 2]
        """
        least = take_values(self.least, indices)
        greatest = least if self.greatest is self.least else take_values(self.greatest, indices)
        nulls = np.asarray(self.nulls, np.uint8)[indices]
        doubts = None if self.doubts is None else self.doubts[indices]
        codes = nulls.tolist() if len(indices) <= MAX_LISTED_CONTAINERS else nulls
        no_nan = None if self.no_nan is None else self.no_nan[indices]
        return Bounds(least, greatest, codes, self.shared, doubts, no_nan)


class Knowledge(Protocol):
    """Statistics of N containers. The function `match` judges a condition by them.

    ## What it is

    A container is a set of rows: a partition, a file, a directory for one value, a bucket, a row group. A
    `Knowledge` describes N of them at once. It answers two questions.

    **Between which values is a column, in each container?** (`bounds`) For an int column of four files:

        file    rows          least    greatest    nulls
        0       3, 7, 9       3        9           NO_NULL
        1       2, NULL       2        2           SOME_NULL
        2       NULL, NULL    -2^63    2^63 - 1    ONLY_NULL
        3       not known     -2^63    2^63 - 1    SOME_NULL

    A bound that is not known is replaced by the type's least or greatest value, so it needs no rule of its
    own (`held_values`). A truncated text is a valid bound if no value is beyond it.

    **Can a container have rows with one of these tuples?** (`may_hold`) Some containers have no least or
    greatest value: the directory for values without one of their own, a bucket, a Bloom filter. They name the
    columns that they know together (`tuple_columns`). `match` asks about the tuples that a condition allows
    (`guarantees.allowed_values`), and they return the containers that may have one.

    ## Example

    A partition is skewed by `x` on 10 and 20. It has three directories: for 10, for 20, and the rest, which
    has rows with any other `x`. The first two have bounds, 10 to 10 and 20 to 20. The rest has none, but
    names its columns: `tuple_columns` is `[('x',)]`.

    | condition       | question about the rest            | answer | the rest is  |
    |-----------------|------------------------------------|--------|--------------|
    | `x IN (10, 20)` | `may_hold(('x',), {(10,), (20,)})` | False  | left out     |
    | `x IN (10, 30)` | `may_hold(('x',), {(10,), (30,)})` | True   | read         |
    | `x > 15`        | none: the values cannot be listed  |        | read         |

    ## What it is not

    It is not exact: bounds may be wider than the values. It may only err on that side: `match` trusts each
    no. Statistics of a writer that may be wrong in details are marked (`Bounds.doubts`): they never prove
    that all rows match. It does not say where statistics come from: implementations are in `prune.rules`
    (directories, files).

    ## Why not otherwise

    One object for each container would be simpler. But a table can have a million partitions, and comparing a
    literal with two arrays is far faster than a million method calls.

    References: DataFusion's `PruningStatistics` (`min_values`, `max_values`, `null_counts`, `contained`).

    Attributes:
        count: the number of containers, N.
        tuple_columns: groups of columns that `may_hold` takes: for example the columns of a skewed directory,
            or one column for a Bloom filter.
    """

    count: int
    tuple_columns: Sequence[tuple[str, ...]] = ()

    def bounds(self, column: str) -> Bounds | None:
        """Return the bounds of a column, by its name in the condition, or None if it has no statistics."""

    def may_hold(
        self,
        columns: tuple[str, ...],  # noqa: ARG002 - the default for knowledge without tuples
        tuples: Collection[Row],  # noqa: ARG002
    ) -> NDArray[np.bool_] | None:
        """Return for each container whether it may have a row with one of some tuples, or None if any may.

        Args:
            columns: one of `tuple_columns`.
            tuples: at least one tuple. None is NULL, a value like any other here. Of equal values such as 0.0
                and -0.0 only one is passed; the answer must be right for the others, too.
        """
        return None


class KnownValues(Knowledge):
    """Containers whose rows all share the values of some columns, such as partitions.

    >>> KnownValues(('day', 'region'), [(3, 'eu'), (3, None)]).bounds('region')
    Bounds(least=['eu', LOWEST], greatest=['eu', LOWEST], nulls=[0, 2], shared=True, doubts=None, no_nan=None)
    """

    def __init__(self, names: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
        """Describe one container for each row of values; `names` are the columns."""
        self.count = len(rows)
        self._rows = rows
        self._places = {name: index for index, name in enumerate(names)}
        self._found: dict[str, Bounds] = {}

    def bounds(self, column: str) -> Bounds | None:
        """Return the values of a column, or None if its rows do not share them."""
        index = self._places.get(column)
        if index is None:
            return None
        if column not in self._found:
            self._found[column] = Bounds.from_values([row[index] for row in self._rows])
        return self._found[column]


def _trusted(low: Any, high: Any) -> bool:
    if low is None or high is None:
        return bool(low == low and high == high)
    return bool(low <= high)
