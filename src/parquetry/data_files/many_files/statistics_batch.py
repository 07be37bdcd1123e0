"""The statistics of one column in many files: an array for each field of `ColumnStatistics`.

`file_batch` has the files themselves, and the names of their columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from parquetry.data_files.records import ColumnStatistics

UNKNOWN = -(1 << 63)
"""Stands for None in an array of whole numbers."""

Numbers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.intp]

_NONE = type(None)
_NUMBER_DTYPES: dict[type, Any] = {int: np.int64, float: np.float64, bool: np.bool_}


class Bound(msgspec.Struct, frozen=True, eq=False):
    """The least or the greatest values that N files state of a column.

    Attributes:
        values: an array if all known values are numbers of one type (int64, float64, bool), with any number
            where a value is unknown. Otherwise a list, with None where a value is unknown.
        known: a flag for each known value, or None if all are known.
    """

    values: NDArray[Any] | list[Any]
    known: Flags | None = None

    @classmethod
    def from_values(cls, values: Sequence[Any]) -> Bound:
        """Return the bounds for a list of values, where None is an unknown value.

        >>> Bound.from_values([3, None]).known
        array([ True, False])
        >>> Bound.from_values(["a", None])
        Bound(values=['a', None], known=array([ True, False]))
        """
        kinds = set(map(type, values))
        known = None
        if _NONE in kinds:
            kinds.remove(_NONE)
            known = np.array([value is not None for value in values], np.bool_)
        dtype = _NUMBER_DTYPES.get(kinds.pop()) if len(kinds) == 1 else None
        if dtype is None:
            return cls(list(values), known)
        numbers_or_zero = values if known is None else [0 if value is None else value for value in values]
        try:
            return cls(np.array(numbers_or_zero, dtype), known)
        except OverflowError:  # damaged statistics may have larger integers
            return cls(list(values), known)

    def known_flags(self) -> Flags:
        """Return which values are known."""
        return np.ones(len(self.values), np.bool_) if self.known is None else self.known

    def take(self, positions: Indices) -> Bound:
        """Return the values of some files."""
        known = None if self.known is None else self.known[positions]
        if isinstance(self.values, list):
            return Bound([self.values[position] for position in positions], known)
        return Bound(self.values[positions], known)

    @classmethod
    def concatenate(cls, parts: Sequence[Bound]) -> Bound:
        """Return the bounds of several parts as one, part after part.

        >>> Bound.concatenate([Bound.from_values([3]), Bound.from_values([None, 4])]).to_list()
        [3, None, 4]
        """
        kinds = {None if isinstance(part.values, list) else part.values.dtype for part in parts}
        if len(kinds) > 1 or None in kinds:
            return cls.from_values([value for part in parts for value in part.to_list()])
        known = None
        if any(part.known is not None for part in parts):
            known = np.concatenate(
                [np.ones(len(part.values), np.bool_) if part.known is None else part.known for part in parts]
            )
        return cls(np.concatenate([part.values for part in parts]), known)

    def to_list(self) -> list[Any]:
        """Return the values as Python objects, with None where a value is unknown."""
        if isinstance(self.values, list):
            return self.values
        values: list[Any] = self.values.tolist()
        if self.known is None:
            return values
        return [value if known else None for value, known in zip(values, self.known.tolist(), strict=True)]


class Belief(NamedTuple):
    """How far the statistics of one column in N files are believed.

    Attributes:
        min_exact: whether the lower bound occurs in the file.
        max_exact: whether the upper bound occurs in the file.
        trust: for each file, a `Trust`.
        stored: the column's types in the files, with None for the table's type; or None if no file has
            another type.
    """

    min_exact: Flags
    max_exact: Flags
    trust: Numbers
    stored: Sequence[str | None] | None = None

    @classmethod
    def concatenate(cls, parts: Sequence[Belief]) -> Belief:
        """Return several parts as one, part after part."""
        types: list[str | None] | None = None
        if any(part.stored is not None for part in parts):
            types = [stored for part in parts for stored in part.stored or [None] * len(part.trust)]
        return cls(
            np.concatenate([part.min_exact for part in parts]),
            np.concatenate([part.max_exact for part in parts]),
            np.concatenate([part.trust for part in parts]),
            types,
        )

    def take(self, positions: Indices) -> Belief:
        """Return the belief in some of the files."""
        stored = self.stored
        return Belief(
            self.min_exact[positions],
            self.max_exact[positions],
            self.trust[positions],
            None if stored is None else [stored[position] for position in positions.tolist()],
        )


class StatisticsColumn:
    """The statistics of one column in N files: an array for each field of `ColumnStatistics`.

    Attributes:
        there: whether the file's record has an entry of this name at all.
        size: compressed bytes.
        nulls: numbers of NULLs.
        min: lower bounds.
        max: upper bounds.
        belief: how far they are believed.
        distinct: about how many distinct values they have, or None if it is not known of any file.
    """

    distinct: Numbers | None = None

    def __init__(
        self, there: Flags, size: Numbers, nulls: Numbers, min: Bound, max: Bound, belief: Belief
    ) -> None:
        self.there = there
        self.size = size
        self.nulls = nulls
        self.min = min
        self.max = max
        self.belief = belief

    @classmethod
    def from_records(cls, records: Sequence[ColumnStatistics | None]) -> StatisticsColumn:
        """Return the statistics of records as arrays; the record is None for a file without an entry."""
        column = RecordedColumn(records)
        return StatisticsColumn(
            column.there, column.size, column.nulls, column.min, column.max, column.belief
        ).with_distinct(column.distinct)

    def with_distinct(self, distinct: Numbers | None) -> StatisticsColumn:
        """Return these statistics, with numbers of distinct values."""
        self.distinct = distinct
        return self

    @classmethod
    def concatenate(cls, parts: Sequence[StatisticsColumn]) -> StatisticsColumn:
        """Return the statistics of several parts as one, part after part."""
        return StatisticsColumn(
            np.concatenate([part.there for part in parts]),
            np.concatenate([part.size for part in parts]),
            np.concatenate([part.nulls for part in parts]),
            Bound.concatenate([part.min for part in parts]),
            Bound.concatenate([part.max for part in parts]),
            Belief.concatenate([part.belief for part in parts]),
        ).with_distinct(_concatenate_or_none([(part.distinct, len(part.there)) for part in parts]))

    @classmethod
    def nothing(cls, count: int) -> StatisticsColumn:
        """Return the statistics of `count` files without an entry."""
        return cls.from_records([None] * count)

    def take(self, positions: Indices) -> StatisticsColumn:
        """Return the statistics of some of the files."""
        return StatisticsColumn(
            self.there[positions],
            self.size[positions],
            self.nulls[positions],
            self.min.take(positions),
            self.max.take(positions),
            self.belief.take(positions),
        ).with_distinct(None if self.distinct is None else self.distinct[positions])

    def leave_out(self, removed: Flags) -> StatisticsColumn:
        """Return the same entries, where some know nothing but that the file has the column."""
        if not removed.any():
            return self
        records = self.records()
        for position in np.flatnonzero(removed).tolist():
            records[position] = records[position] and _NO_STATISTICS
        return StatisticsColumn.from_records(records)

    def records(self) -> list[ColumnStatistics | None]:
        """Return a record for each file, or None for a file without an entry."""
        belief = self.belief
        fields = zip(
            self.there.tolist(),
            optional(self.size),
            optional(self.nulls),
            self.min.to_list(),
            self.max.to_list(),
            belief.min_exact.tolist(),
            belief.max_exact.tolist(),
            belief.trust.tolist(),
            belief.stored or [None] * len(self.there),
            [None] * len(self.there) if self.distinct is None else optional(self.distinct),
            strict=True,
        )
        return [ColumnStatistics(*rest) if there else None for there, *rest in fields]


class RecordedColumn(StatisticsColumn):
    """Statistics from records, where each array is made when it is first used.

    Args:
        records: a record for each file, or None for a file without an entry.
    """

    def __init__(self, records: Sequence[ColumnStatistics | None]) -> None:
        if None in records:
            self.there = np.array([record is not None for record in records], np.bool_)
        else:
            self.there = np.ones(len(records), np.bool_)
        self._held = [record or _NO_STATISTICS for record in records]

    def records(self) -> list[ColumnStatistics | None]:
        """Return the records, or None for a file without an entry."""
        return [
            record if there else None for record, there in zip(self._held, self.there.tolist(), strict=True)
        ]

    @cached_property
    def size(self) -> Numbers:  # type: ignore[override]
        """Return the compressed bytes."""
        return numbers([record.size for record in self._held])

    @cached_property
    def nulls(self) -> Numbers:  # type: ignore[override]
        """Return the numbers of NULLs."""
        return numbers([record.nulls for record in self._held])

    @cached_property
    def min(self) -> Bound:  # type: ignore[override]
        """Return the lower bounds."""
        return Bound.from_values([record.min for record in self._held])

    @cached_property
    def max(self) -> Bound:  # type: ignore[override]
        """Return the upper bounds."""
        return Bound.from_values([record.max for record in self._held])

    @cached_property
    def distinct(self) -> Numbers | None:  # type: ignore[override]
        """Return the numbers of distinct values."""
        distinct = [record.distinct for record in self._held]
        return numbers(distinct) if any(each is not None for each in distinct) else None

    @cached_property
    def belief(self) -> Belief:  # type: ignore[override]
        """Return how far the statistics are believed."""
        types = [record.stored for record in self._held]
        return Belief(
            np.array([record.min_exact for record in self._held], np.bool_),
            np.array([record.max_exact for record in self._held], np.bool_),
            np.array([record.trust for record in self._held], np.int64),
            types if any(types) else None,
        )

    def take(self, positions: Indices) -> StatisticsColumn:
        """Return the statistics of some of the files, in arrays."""
        there, records = self.there[positions].tolist(), self._held
        pairs = zip(positions.tolist(), there, strict=True)
        return StatisticsColumn.from_records(
            [records[position] if known else None for position, known in pairs]
        )


_NO_STATISTICS = ColumnStatistics()


def _concatenate_or_none(parts: Sequence[tuple[Numbers | None, int]]) -> Numbers | None:
    if all(distinct is None for distinct, _ in parts):
        return None
    return np.concatenate(
        [np.full(count, UNKNOWN) if distinct is None else distinct for distinct, count in parts]
    )


def numbers(values: Iterable[int | None]) -> Numbers:
    """Return whole numbers as an array, with UNKNOWN for None."""
    listed_values = list(values)
    try:
        return np.array(listed_values, np.int64)
    except TypeError:  # a None among them
        return np.array([UNKNOWN if value is None else value for value in listed_values], np.int64)


def optional(values: Numbers) -> list[int | None]:
    """Return whole numbers as Python objects, with None for UNKNOWN."""
    return [None if value == UNKNOWN else value for value in values.tolist()]
