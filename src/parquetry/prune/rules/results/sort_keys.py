"""The sort key of a scan's rows, as an expression of the table's columns, and its bounds in each file.

For a column, bounds are the file's statistics. For an expression, such as `date_trunc('day', ts)`, they
follow from the statistics of its columns (`predicate.functions`). NaN is greater than all numbers, and
statistics leave it out. So a float's greatest value is NaN, unless the query's conditions exclude NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import Flags
from parquetry.metastore import TableMetadata
from parquetry.predicate import (
    HIGHEST,
    LOWEST,
    SOME_NULL,
    ColumnReference,
    Exclusions,
    Expression,
    Range,
    SparkColumns,
    columns_in,
    expression_from_json,
    expression_ranges,
)
from parquetry.prune.needed_rows import SortKey
from parquetry.prune.query_cache import rejects
from parquetry.prune.rule import PruningRequest
from parquetry.prune.rules.file_knowledge import FileKnowledge
from parquetry.types import STRING, ColumnType


def spark_columns(metadata: TableMetadata) -> SparkColumns:
    """Return the types of a table's columns, for conditions and keys that Spark evaluates on its rows."""
    return SparkColumns(metadata.types, metadata.partition_by)


def sort_expression(metadata: TableMetadata, key: SortKey) -> Expression | None:
    """Return a sort key as an expression, or None if it is none of the table's columns that is understood."""
    if key.column is not None:
        column = metadata.column(key.column)
        kind = column.column_type
        return ColumnReference(column.name, STRING if kind.name == "char" else kind)
    if key.tree is None:
        return None
    expression = expression_from_json(key.tree, spark_columns(metadata))
    return None if expression is None or next(columns_in(expression), None) is None else expression


def sort_type(metadata: TableMetadata, key: SortKey) -> ColumnType | None:
    """Return the type of a sort key's values, or None if it is not known."""
    expression = sort_expression(metadata, key)
    return None if expression is None else expression.type


def sort_columns(metadata: TableMetadata, key: SortKey | None) -> set[str]:
    """Return the columns of a sort key, whose statistics say where files are in the order."""
    expression = None if key is None else sort_expression(metadata, key)
    return set() if expression is None else {column.name for column in columns_in(expression)}


def refusal(metadata: TableMetadata, key: SortKey) -> str | None:
    """Return why statistics cannot tell the order of a sort key, or None if they can."""
    expression = sort_expression(metadata, key)
    if expression is None:
        return f"statistics say nothing of the order of {key.text}"
    if key.column is None:
        kind = expression.type
        return None if kind is not None and kind.primitive else f"no order is known for type {kind}"
    column = metadata.column(key.column)
    kind, in_path = column.column_type, column.name in metadata.partition_by
    if not (kind.keyed if in_path else kind.primitive):
        return f"no statistics for type {kind}"
    if kind.name == "char" and (in_path or not key.padded):
        return f"column {column.name} is sorted without its blanks"
    return None


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """The bounds of a sort key in the rows of each file that satisfy the query's conditions.

    Attributes:
        least: no value is less.
        greatest: no value is greater.
        nulls: whether rows are NULL, codes of `predicate.functions.values`.
        proof: the files whose bounds may prove that rows have a value between them.
        fails: the files with a row whose value may be an error, which are always read.
    """

    least: NDArray[Any]
    greatest: NDArray[Any]
    nulls: NDArray[np.uint8]
    proof: Flags
    fails: Flags


def key_bounds(scan: PruningRequest, knowledge: FileKnowledge, key: SortKey) -> KeyBounds | None:
    """Return the bounds of a sort key in files, or None if there are no statistics of its columns.

    Args:
        scan: the request.
        knowledge: the files' statistics.
        key: the sort key, which `refusal` does not refuse.
    """
    expression = sort_expression(scan.snapshot.metadata, key)
    if expression is None:
        return None
    names = {column.name for column in columns_in(expression)}
    bounds = {name: knowledge.bounds(name) for name in names}
    if all(each is None for each in bounds.values()):
        return None
    proof = np.ones(knowledge.count, np.bool_)
    for each in bounds.values():
        if each is not None and each.doubts is not None:
            proof = proof & ~each.doubts
    none = np.zeros(knowledge.count, np.bool_)
    floating = expression.type is not None and expression.type.floating
    if isinstance(expression, ColumnReference) and not floating:
        column = bounds[expression.name]
        if column is None:
            return None
        nulls = np.asarray(column.nulls, np.uint8)
        if _excluded(scan, expression).null:
            nulls = np.where(nulls == SOME_NULL, 0, nulls).astype(np.uint8)
        return KeyBounds(_as_array(column.least), _as_array(column.greatest), nulls, proof, none)
    excluded = {column.name: _excluded(scan, column) for column in columns_in(expression)}
    rows = expression_ranges(expression, knowledge, excluded)
    ends = [_float_ends(each) if floating else _range_ends(each) for each in rows]
    fails = np.array([each.fails for each in rows], np.bool_)
    least, greatest = ([end[side] for end in ends] for side in (0, 1))
    kind = np.float64 if floating else np.object_
    nulls = np.array([each.nulls for each in rows], np.uint8)
    return KeyBounds(_as_array(least, kind), _as_array(greatest, kind), nulls, proof & ~fails, fails)


def _excluded(scan: PruningRequest, column: ColumnReference) -> Exclusions:
    """Return whether the query's conditions exclude NULL and NaN in a column."""
    predicates = [each.predicate for each in scan.conditions if column.name in each.about]
    if not predicates:
        return Exclusions()
    return Exclusions(
        rejects(predicates, column.name, None),
        column.type.floating and rejects(predicates, column.name, math.nan),
    )


def _range_ends(values: Range) -> tuple[Any, Any]:
    return (
        LOWEST if values.low is None or values.fails else values.low,
        HIGHEST if values.high is None or values.fails else values.high,
    )


def _float_ends(values: Range) -> tuple[float, float]:
    low = -math.inf if values.low is None or values.fails else float(values.low)
    high = math.inf if values.high is None or values.fails else float(values.high)
    if values.nan:
        return (math.nan if low > high else low), math.nan
    return low, high


def _as_array(values: Any, kind: Any = np.object_) -> NDArray[Any]:
    if not isinstance(values, list):
        array: NDArray[Any] = values
        return array
    if kind is not np.object_:
        return np.array(values, kind)
    objects = np.empty(len(values), np.object_)
    objects[:] = values
    return objects
