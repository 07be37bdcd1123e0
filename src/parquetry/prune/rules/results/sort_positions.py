"""The positions of files in an order: between which places the sort keys of their rows are.

A position is a number: 0 for the value that comes first, and so on. NULL has a position before all values or
after them. For `ORDER BY v DESC NULLS LAST` and three files of eight rows that all match:

| file | least | greatest | NULLs | no row is before | rows that are not after a position |
|------|-------|----------|-------|------------------|------------------------------------|
| 0    | 10    | 30       | 0     | 1                | 8 rows not after 3                 |
| 1    | 20    | 40       | 3     | 0                | 5 rows not after 2, 3 not after 4  |
| 2    | –     | –        | all   | 4                | 8 rows not after 4                 |

Here 40 is position 0, 30 is 1, 20 is 2, 10 is 3, and NULL is 4. Bounds may be wider than the values, so a
file promises its rows at its last position only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import Flags, Indices, Numbers, list_bounds_in_files
from parquetry.metastore import FileBlock, TableMetadata
from parquetry.predicate import NO_NULL, ONLY_NULL, SOME_NULL, Bounds
from parquetry.prune.needed_rows import SortKey
from parquetry.prune.query_cache import rejects_null
from parquetry.prune.rule import Remaining, Scan
from parquetry.prune.rules.file_knowledge import FileKnowledge
from parquetry.types import ColumnType, sql_literal


@dataclass(frozen=True, slots=True)
class Promise:
    """Rows of files that are certainly not after a position: parallel arrays, in the order of positions."""

    positions: Numbers
    rows: Numbers
    files: Indices

    @property
    def total(self) -> int:
        """Return the number of rows."""
        return int(self.rows.sum())


@dataclass(frozen=True, slots=True)
class SortPositions:
    """The positions of files in the order of a sort key.

    Attributes:
        first: for each file, the position before which it has no row.
        promise: the rows that are certainly not after a position.
        values: the values by ascending order; for a descending key, the last one is position 0.
        descending: whether the key is descending.
    """

    first: Numbers
    promise: Promise
    values: NDArray[Any]
    descending: bool

    def value(self, position: int) -> Any:
        """Return the value at a position, which may stand for a bound that is not known."""
        value = self.values[len(self.values) - 1 - position if self.descending else position]
        return value.item() if isinstance(value, np.generic) else value

    def value_text(self, position: int, kind: ColumnType) -> str | None:
        """Return the value of a position as SQL, or None if the position is of no value of the type."""
        if not 0 <= position < len(self.values):
            return "NULL"
        try:
            return sql_literal(kind, self.value(position))
        except (ArithmeticError, AttributeError, TypeError, ValueError):
            return None  # it stands for a bound that is not known


def refusal(metadata: TableMetadata, key: SortKey) -> str | None:
    """Return why statistics cannot tell the order of a sort key, or None if they can."""
    if key.column is None:
        return f"{key.text} is not a column"
    column = metadata.column(key.column)
    kind, in_path = column.column_type, column.name in metadata.partition_by
    if kind.floating:
        return f"column {column.name} may have NaN, which statistics leave out"
    if not (kind.keyed if in_path else kind.primitive):
        return f"no statistics for type {kind}"
    if kind.name == "char" and (in_path or not key.padded):
        return f"column {column.name} is sorted without its blanks"
    return None


def sort_positions(
    scan: Scan, remaining: Remaining, block: FileBlock, key: SortKey, matching: Flags
) -> SortPositions | None:
    """Return the positions of files, or None if there are no statistics of the key.

    Args:
        scan: the request.
        remaining: the candidates; the files are in its partitions.
        block: the files.
        key: the sort key, which `refusal` does not refuse.
        matching: the files that have only rows that match, as `fully_matching` returns them.
    """
    metadata = scan.snapshot.metadata
    column = metadata.column(key.column or "")
    bounds = FileKnowledge(metadata, remaining.partitions, block).bounds(column.name)
    if bounds is None:
        return None
    values, least, greatest = _ranks(bounds)
    count = len(values)
    first, last = (count - 1 - greatest, count - 1 - least) if key.descending else (least, greatest)
    null = -1 if key.nulls_first else count
    nulls = np.asarray(bounds.nulls, np.uint8)
    only_null, some_null = nulls == ONLY_NULL, nulls == SOME_NULL
    first, last = np.where(only_null, null, first), np.where(only_null, null, last)
    proved = matching if bounds.doubts is None else matching & ~bounds.doubts
    rows = block.files.rows
    whole = np.flatnonzero(proved & ((nulls == NO_NULL) | only_null))
    mixed = np.flatnonzero(proved & some_null)
    of_nulls = _null_counts(metadata, block, column.name, mixed)
    unknown = of_nulls < 0
    # without a count of NULLs, every row is either NULL or not after the last value
    with_value = np.where(unknown, rows[mixed] if key.nulls_first else 0, rows[mixed] - of_nulls)
    with_null = np.where(unknown, 0 if key.nulls_first else rows[mixed], of_nulls)
    promise = _promise(
        np.concatenate([last[whole], last[mixed], np.full(len(mixed), null)]),
        np.concatenate([rows[whole], with_value, with_null]),
        np.concatenate([whole, mixed, mixed]),
    )
    if key.nulls_first and not rejects_null([each.predicate for each in scan.conditions], column.name):
        first = np.where(some_null, null, first)
    return SortPositions(first, promise, values, key.descending)


def _promise(positions: Numbers, rows: Numbers, files: Indices) -> Promise:
    order = np.lexsort((-rows, positions))
    return Promise(positions[order], rows[order], files[order])


def _null_counts(metadata: TableMetadata, block: FileBlock, name: str, places: Indices) -> Numbers:
    """Return how many rows of some files are NULL, or -1 where it is not known."""
    if not len(places):
        return np.zeros(0, np.int64)
    found = list_bounds_in_files(metadata.column(name), block.files.take(places))
    return np.array([-1 if each is None or each.nulls is None else each.nulls for each in found], np.int64)


def _ranks(bounds: Bounds) -> tuple[NDArray[Any], Numbers, Numbers]:
    """Return the distinct bounds in order, and the index of each least and greatest bound among them."""
    least, greatest = _as_array(bounds.least), _as_array(bounds.greatest)
    values, ranks = np.unique(np.concatenate([least, greatest]), return_inverse=True)
    return values, ranks[: len(least)].astype(np.int64), ranks[len(least) :].astype(np.int64)


def _as_array(values: Any) -> NDArray[Any]:
    if not isinstance(values, list):
        found: NDArray[Any] = values
        return found
    array = np.empty(len(values), np.object_)
    array[:] = values
    return array
