"""Estimate how many rows of selected files satisfy conditions.

Pruning knows of each remaining file whether all of its rows satisfy the conditions, or some may. So the true
number is between the rows of the former, and of all. In between, values count as evenly distributed between a
file's least and greatest value, and columns as independent:

| file                        | `d >= 40 AND d < 70` | estimate     |
|-----------------------------|----------------------|--------------|
| 1,000 rows, `d` from 0 to 49   | some may          | 1,000 × 10/50 |
| 1,000 rows, `d` from 50 to 69  | all               | 1,000        |
| 1,000 rows, `d` from 60 to 159 | some may          | 1,000 × 10/100 |

An equality on a text keeps one of its distinct values. A condition that is not understood keeps all rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquetry.cardinality.columns import estimate_columns
from parquetry.data_files import UNKNOWN
from parquetry.metastore import TableMetadata
from parquetry.predicate import NO_ROWS, ONLY_NULL, And, Bounds, Compare, Filter, In, Match, Predicate, match
from parquetry.prune import FileKnowledge, Selection
from parquetry.types import ColumnType, Value

_UNKNOWN_BEYOND = float(1 << 62)
"""Bounds of integers from here on stand for bounds that are not known."""
_ROUNDING = 1e-6
"""Rows that are rounding errors of a product of fractions."""

_Fractions = NDArray[np.float64]


class MatchingRows(NamedTuple):
    """How many rows satisfy conditions.

    Attributes:
        least: rows of files whose rows all satisfy them.
        likely: the estimate.
        most: rows of all files.
    """

    least: int
    likely: int
    most: int


class _Wanted(NamedTuple):
    """The values of a column that conditions allow: from `least` to `greatest`, at most `values` of them."""

    kind: ColumnType
    least: float = -math.inf
    greatest: float = math.inf
    values: float = math.inf

    def intersect(self, other: _Wanted) -> _Wanted:
        """Return the values that both allow."""
        return _Wanted(
            self.kind,
            max(self.least, other.least),
            min(self.greatest, other.greatest),
            min(self.values, other.values),
        )


def estimate_matching_rows(
    metadata: TableMetadata, selection: Selection, predicates: Sequence[Predicate]
) -> MatchingRows | None:
    """Return how many rows of files satisfy conditions, or None if the files' rows are unknown.

    Args:
        metadata: the table's metadata.
        selection: the files that conditions keep, with the statistics of the conditions' columns.
        predicates: the conditions, joined by AND.
    """
    rows = selection.block.files.rows
    if (rows == UNKNOWN).any():
        return None
    knowledge = FileKnowledge(metadata, selection.partitions, selection.block)
    certain = np.ones(len(rows), np.bool_)
    for predicate in predicates:
        certain &= match(Filter(predicate), knowledge) == Match.MUST
    fractions: _Fractions = np.ones(len(rows))
    for column, wanted in _wanted_values(predicates).items():
        if column in metadata.partition_by:
            continue  # pruning has tested these
        if wanted.kind.facts.ranged:
            fractions *= _of_range(knowledge.bounds(column), wanted, len(rows))
        else:
            fractions *= _of_values(metadata, selection, column, wanted)
    likely = float((rows * np.where(certain, 1.0, fractions)).sum())
    return MatchingRows(int(rows[certain].sum()), math.ceil(likely - _ROUNDING), int(rows.sum()))


def _of_range(bounds: Bounds | None, wanted: _Wanted, count: int) -> _Fractions:
    """Return for each file the share of its values that are wanted."""
    if bounds is None:
        return np.ones(count)
    least, greatest = _numbers_or_nan(bounds.least), _numbers_or_nan(bounds.greatest)
    step = 1.0 if wanted.kind.integral or wanted.kind.name == "date" else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = np.maximum(least, wanted.least), np.minimum(greatest, wanted.greatest)
        width = greatest - least + step
        share = np.where(
            low > high, 0.0, np.where(width > 0, np.minimum((high - low + step) / width, 1.0), 1.0)
        )
        if step:
            share = np.minimum(share, wanted.values / width)
    empty = np.isin(np.asarray(bounds.nulls), (ONLY_NULL, NO_ROWS))
    fractions: _Fractions = np.where(empty, 0.0, np.where(np.isnan(width), 1.0, share))
    return fractions


def _of_values(metadata: TableMetadata, selection: Selection, column: str, wanted: _Wanted) -> float:
    """Return the share of rows with one of some texts."""
    estimates = estimate_columns(metadata, selection, [column])
    if not estimates or not estimates[0].distinct:
        return 1.0
    return min(1.0, wanted.values / estimates[0].distinct)


def _numbers_or_nan(values: Any) -> _Fractions:
    listed = np.asarray(values)
    if listed.dtype == object or listed.dtype.kind not in "iuf":
        numbers = np.array([_number(each) for each in listed.tolist()], np.float64)
    else:
        numbers = listed.astype(np.float64)
    return np.where(np.abs(numbers) >= _UNKNOWN_BEYOND, np.nan, numbers)


def _wanted_values(predicates: Iterable[Predicate]) -> dict[str, _Wanted]:
    wanted: dict[str, _Wanted] = {}
    for column, values in (leaf for predicate in predicates for leaf in _leaves(predicate)):
        wanted[column] = wanted[column].intersect(values) if column in wanted else values
    return wanted


def _leaves(node: Predicate) -> Iterator[tuple[str, _Wanted]]:
    match node:
        case And(children):
            for child in children:
                yield from _leaves(child)
        case Compare("=", column, value, kind) if value is not None and not kind.facts.ranged:
            yield column, _Wanted(kind, values=1)
        case In(column, values, kind) if not kind.facts.ranged:
            yield column, _Wanted(kind, values=len(set(values)))
        case Compare(op, column, value, kind) if not math.isnan(number := _number(value)):
            match op:
                case "=":
                    yield column, _Wanted(kind, number, number, 1)
                case "<" | "<=":
                    yield column, _Wanted(kind, greatest=number)
                case ">" | ">=":
                    yield column, _Wanted(kind, least=number)
        case In(column, values, kind):
            numbers = [number for value in values if not math.isnan(number := _number(value))]
            if numbers:
                yield column, _Wanted(kind, min(numbers), max(numbers), len(numbers))


def _number(value: Value | object) -> float:
    """Return a value as a float, or NaN if it is no finite number."""
    return float(value) if isinstance(value, int | float | Decimal) and math.isfinite(value) else math.nan
