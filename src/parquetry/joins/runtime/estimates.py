"""Estimate cardinality and value clustering from the statistics of files.

Estimates assume that values are evenly distributed between a column's least and greatest value, and that
columns are independent:

    73,049 days from 1900 to 2100        d_year = 2000 AND d_moy BETWEEN 1 AND 2        73,049 / 201 × 2 / 12 = 61 rows

A condition that is not understood, or is on texts, has selectivity 1. Estimates feed the cost model; they
never prune.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquetry.cardinality import estimate_matching_rows
from parquetry.data_files import UNKNOWN
from parquetry.joins.runtime.cost_model import LIMITS
from parquetry.joins.runtime.filterable import sorted_within
from parquetry.metastore import TableMetadata
from parquetry.predicate import NO_ROWS, ONLY_NULL, Bounds, Predicate
from parquetry.prune import FileKnowledge, Selection
from parquetry.types import Value

_UNKNOWN_BEYOND = float(1 << 62)
"""Bounds of integers from here on stand for bounds that are not known."""


def estimate_rows(
    metadata: TableMetadata, selection: Selection, predicates: Iterable[Predicate]
) -> int | None:
    """Return the estimated rows of files that satisfy conditions, or None if the files' rows are unknown.

    Args:
        metadata: the table's metadata.
        selection: the files, with the statistics of the conditions' columns.
        predicates: the conditions, joined by AND.
    """
    matching = estimate_matching_rows(metadata, selection, list(predicates))
    return None if matching is None else matching.likely


class Spread(NamedTuple):
    """Value clustering: how far the values of one file are apart, within the column's range.

    Attributes:
        of_file: the share of the column's range that a file spans, on average.
        numbers: the possible values from the least to the greatest: infinite for floats, 0 for a partition
            column.
        laid_out: whether rows may be sorted by the column within files, so that row groups span less than
            files.
    """

    of_file: float
    numbers: float
    laid_out: bool = False


def spread(metadata: TableMetadata, selection: Selection, column: str) -> Spread | None:
    """Return the value clustering of a column, or None if it is not known.

    Args:
        metadata: the table's metadata.
        selection: the files, with the column's statistics.
        column: the column's name in the table.
    """
    if column in metadata.partition_by:
        return Spread(0, 0)
    ends = numeric_bounds(FileKnowledge(metadata, selection.partitions, selection.block).bounds(column))
    if ends is None or ends.max() <= ends.min():
        return None
    whole = float(ends.max() - ends.min())
    type_ = metadata.column(column).column_type
    numbers = math.inf if type_.floating else whole * 10**type_.scale
    return Spread(float(np.mean(ends[1] - ends[0]) / whole), numbers, sorted_within(metadata, column))


class KeyFiles(NamedTuple):
    """How the values of a key are distributed over the files of their table.

    Attributes:
        share: the share of the table's files that remains after the query's own conditions.
        in_order: whether values ascend, or descend, from partition to partition, so that neighbouring
            partitions have neighbouring values.
    """

    share: float
    in_order: bool


def key_files(metadata: TableMetadata, selection: Selection, column: str, files: int) -> KeyFiles | None:
    """Return how the values of a key are distributed over files, or None if it is not known.

    Args:
        metadata: the table's metadata.
        selection: the files, with the column's statistics.
        column: the column's name in the table.
        files: the number of files of the whole table.
    """
    ends = numeric_bounds(FileKnowledge(metadata, selection.partitions, selection.block).bounds(column))
    if ends is None or not files:
        return None
    middle = ends.mean(axis=0)
    if len(middle) <= LIMITS.unordered_files:
        order = 1.0
    else:
        order = abs(float(np.corrcoef(np.arange(len(middle)), middle)[0, 1])) if middle.std() > 0 else 0.0
    return KeyFiles(selection.block.count / files, order >= LIMITS.order_correlation)


def likely_matches(
    metadata: TableMetadata, selection: Selection, column: str, values: Sequence[Value]
) -> NDArray[np.float64] | None:
    """Return for each file the estimated rows with one of some numbers, or None if it is not known.

    Args:
        metadata: the table's metadata.
        selection: the files, with the column's statistics; if they are many, a sample is used.
        column: the column's name in the table.
        values: integers, in order.
    """
    numbers = np.array(_numbers(values) or [], np.float64)
    rows = selection.block.files.rows
    bounds = FileKnowledge(metadata, selection.partitions, selection.block).bounds(column)
    if bounds is None or len(numbers) < len(values):
        return None
    some = slice(None, None, max(1, len(rows) // LIMITS.sampled_files))
    rows = rows[some]
    least, greatest, nulls = (
        np.asarray(each)[some] for each in (bounds.least, bounds.greatest, bounds.nulls)
    )
    ends = numeric_bounds(Bounds(least, greatest, nulls))
    if ends is None or ends.shape[1] < len(rows) or (rows == UNKNOWN).any():
        return None
    within = np.searchsorted(numbers, ends[1], "right") - np.searchsorted(numbers, ends[0])
    matches: NDArray[np.float64] = rows * within / (ends[1] - ends[0] + 1)
    return matches


def _number(value: object) -> float | None:
    """Return a value as a float, or None if it is not a finite number."""
    return float(value) if isinstance(value, int | float | Decimal) and math.isfinite(value) else None


def _numbers(values: Iterable[Value]) -> list[float] | None:
    numbers = [number for value in values if (number := _number(value)) is not None]
    return numbers or None


def numeric_bounds(bounds: Bounds | None) -> NDArray[np.float64] | None:
    """Return the bounds of the files that have any values, or None if a file's bounds are not known."""
    if bounds is None:
        return None
    pairs = []
    each = (np.asarray(values).tolist() for values in (bounds.least, bounds.greatest, bounds.nulls))
    for least, greatest, nulls in zip(*each, strict=True):
        if nulls in (ONLY_NULL, NO_ROWS):
            continue
        ends = _number(least), _number(greatest)
        if ends[0] is None or ends[1] is None or max(abs(ends[0]), abs(ends[1])) >= _UNKNOWN_BEYOND:
            return None
        pairs.append(ends)
    return np.array(pairs, np.float64).T if pairs else None
