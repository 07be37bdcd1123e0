"""What is known of containers without reading their rows: the one thing that `match` asks about.

A container holds rows: a partition, a file; a directory for one value, a bucket, a row group. Whoever knows
something of N of them says it as `Knowledge`, of all N at once, by answering two questions.

**Between which values does a column lie in each of them?** Four files, of an int column:

    file    rows          least    greatest    nulls
    0       3, 7, 9       3        9           NO_NULL
    1       2, NULL       2        2           SOME_NULL
    2       NULL, NULL    -2^63    2^63 - 1    ONLY_NULL
    3       not known     -2^63    2^63 - 1    SOME_NULL

`Bounds` has a place for each container. Where a bound is not known, the least or the greatest value that there can be
stands for it (`held_values`), so unknown bounds need no rule of their own. A text that was cut off is a bound as well as any, as long as no
value lies beyond it.

**Can any of these tuples be in here?** A bucket, the directory for all values that have none of their own, a Bloom
filter know nothing of least and greatest. They name the columns that they know together (`tuple_columns`), are asked
about the tuples that a condition allows for these (`guarantees.allowed_values`), and say where none of them can be.

Where knowledge comes from is for the rooms above to say: what files' statistics tell is in `data_files.bounds_vectorized`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

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

NO_NULL, SOME_NULL, ONLY_NULL, NO_ROWS = 0, 1, 2, 3
"""Which rows of a container are NULL in a column: none, perhaps some, all; or there are no rows at all."""


class Bounds(msgspec.Struct, frozen=True, eq=False):
    """What is known of a column in each of N containers: lists of few, arrays of many.

    Attributes:
        least: no value in the container is less. Of a container with nothing but NULL it says nothing.
        greatest: no value in the container is greater.
        nulls: whether rows are NULL, one of the four above.
        shared: whether the values themselves are known, as those of partitions: all rows have the one that is least
            and greatest, or else NULL. (Where the two differ, it is not known.) NaN is then a value like any other.
            Else they are statistics, from which NaN is left out: any float column may hold it.
    """

    least: Values
    greatest: Values
    nulls: Codes
    shared: bool = False

    @classmethod
    def from_values(cls, values: Sequence[Value]) -> Bounds:
        """Return what is known where all rows of a container have one value; None is NULL.

        >>> Bounds.from_values(['eu', None])
        Bounds(least=['eu', LOWEST], greatest=['eu', LOWEST], nulls=[0, 2], shared=True)
        """
        kind = next((value.__class__ for value in values if value is not None), object)
        held = value_array(values, kind, lowest=True)
        return cls(held, held, codes([ONLY_NULL if value is None else NO_NULL for value in values]), True)

    @classmethod
    def from_statistics(
        cls, type: ColumnType, least: Sequence[Value], greatest: Sequence[Value], nulls: Sequence[int]
    ) -> Bounds:
        """Return what statistics tell, as far as they can be trusted.

        A writer that let NaN into a bound may have lost the rest, and no values lie between z and y.

        Args:
            type: the column's.
            least: of each container; None where it is not known. A char is padded to its length.
            greatest: likewise.
            nulls: of each, one of the four above.

        >>> Bounds.from_statistics(ColumnType('string'), ['a', 'z'], [None, 'y'], [SOME_NULL, NO_NULL])
        Bounds(least=['a', LOWEST], greatest=[HIGHEST, HIGHEST], nulls=[1, 0], shared=False)
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
        """Return the same of more than `MAX_LISTED_CONTAINERS` containers' numbers in arrays.

        Args:
            type: the column's, of which the values are held in arrays of numbers.
            least: of each container.
            greatest: likewise.
            mask: where both are known.
            nulls: of each, one of the four above.
        """
        kind, trusted = python_type(type), mask & (least <= greatest)
        low = masked_value_array(least, trusted, kind, lowest=True)
        return cls(low, masked_value_array(greatest, trusted, kind, lowest=False), nulls)

    def take(self, indices: NDArray[np.intp]) -> Bounds:
        """Return what is known of containers that are each like one of these.

        >>> Bounds.from_values(['eu', None]).take(np.array([1, 0, 1])).nulls
        [2, 0, 2]
        """
        least = take_values(self.least, indices)
        greatest = least if self.greatest is self.least else take_values(self.greatest, indices)
        nulls = np.asarray(self.nulls, np.uint8)[indices]
        return Bounds(
            least, greatest, nulls.tolist() if len(indices) <= MAX_LISTED_CONTAINERS else nulls, self.shared
        )


class Knowledge(Protocol):
    """What is known of N containers.

    Attributes:
        count: how many there are, N.
        tuple_columns: the columns that `may_hold` is asked about together: those of a bucket, of a skewed directory;
            one alone for a Bloom filter.
    """

    count: int
    tuple_columns: Sequence[tuple[str, ...]] = ()

    def bounds(self, column: str) -> Bounds | None:
        """Return the bounds of a column, by its name in the condition; None where nothing is known of it."""

    def may_hold(
        self,
        columns: tuple[str, ...],  # noqa: ARG002 - so it is for all that know no tuples
        tuples: Collection[Row],  # noqa: ARG002
    ) -> NDArray[np.bool_] | None:
        """Return of each container whether a row in it may have one of some tuples of values; None: any may.

        Args:
            columns: one of `tuple_columns`.
            tuples: at least one. None in them is NULL, a value like any other here. Values that are equal, as 0.0
                and -0.0 are, come as one of them: the answer is to hold for the others, too.
        """
        return None


class KnownValues(Knowledge):
    """Containers of which all rows share the values of some columns, as those of a partition do.

    >>> KnownValues(('day', 'region'), [(3, 'eu'), (3, None)]).bounds('region')
    Bounds(least=['eu', LOWEST], greatest=['eu', LOWEST], nulls=[0, 2], shared=True)
    """

    def __init__(self, names: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
        """Prepare for a container with each of these rows of values, of the columns of these names."""
        self.count = len(rows)
        self._rows = rows
        self._places = {name: index for index, name in enumerate(names)}
        self._found: dict[str, Bounds] = {}

    def bounds(self, column: str) -> Bounds | None:
        """Return the values of a column; None for a column that the containers do not share."""
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
