"""Find the keys that have many of a table's rows, by what the metastore records.

A file is evidence if all of its rows have one key. The directory of a heavy value has such files, and so has
a partition by the key, and a sorted table within a long run of one value. Their rows are counted exactly:

| file                | rows      | least k | greatest k |                    |
|---------------------|-----------|---------|------------|--------------------|
| `k=10/a.parquet`    | 3,000,000 | 10      | 10         | 10 has 3,000,000   |
| `k=10/b.parquet`    | 2,000,000 | 10      | 10         | 10 has 5,000,000   |
| `…DEFAULT…/c.parquet` | 4,000,000 | 1     | 99,999     | says nothing       |

Statistics that others wrote count as well: a wrong count makes a plan slower, and no answer wrong.

A table that is `SKEWED BY` without directories has values that its owner declares to be heavy. Their
rows are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import UNKNOWN
from parquetry.metastore import TableMetadata
from parquetry.predicate import NO_NULL
from parquetry.prune import FileKnowledge, Selection
from parquetry.types import Value, order_key


class HeavyKeys(msgspec.Struct, frozen=True):
    """Keys of a table with many rows.

    Attributes:
        columns: the columns of the key, which are some or all keys of a join.
        values: the keys, with the most frequent one first. None of their values is NULL.
        rows: the rows of each, or None if the table's owner has declared them, so that they are not counted.
        total: all rows of the scan, or None if not known.
    """

    columns: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    rows: tuple[int, ...] | None
    total: int | None

    @property
    def share(self) -> float | None:
        """Return the share of the scan's rows that have one of the keys, or None if it is not known."""
        return sum(self.rows) / self.total if self.rows is not None and self.total else None


def is_skewed(metadata: TableMetadata) -> bool:
    """Return whether a table says what its heavy values are, or has them found."""
    return metadata.arrangement.skew is not None


def find_heavy_keys(
    metadata: TableMetadata,
    selection: Selection,
    columns: Sequence[str],
    *,
    min_share: float,
    most: int,
) -> HeavyKeys | None:
    """Return the heavy keys of a scan, or None if none are known.

    Args:
        metadata: the table's metadata.
        selection: the files of the scan, with the statistics of `columns`.
        columns: keys of a join that are columns of the table.
        min_share: the least share of the scan's rows that makes a key heavy.
        most: the greatest number of keys.
    """
    columns = [name for name in columns if metadata.column(name).column_type.facts.skewed_keys]
    rows = selection.block.files.rows
    if not columns or not len(rows):
        return None
    total = None if (rows == UNKNOWN).any() else int(rows.sum())
    knowledge = FileKnowledge(metadata, selection.partitions, selection.block)
    found = [
        HeavyKeys(tuple(some), *counted, total)
        for some in _column_sets(metadata, columns)
        if total and (counted := _count(knowledge, some, rows, total * min_share, most)) is not None
    ]
    if found:
        return max(found, key=lambda each: each.share or 0)
    return _declared(metadata, columns, total, most)


def _column_sets(metadata: TableMetadata, columns: Sequence[str]) -> list[list[str]]:
    """Return the sets of columns whose values may be heavy together: each alone, and the skewed columns."""
    sets = [[name] for name in columns]
    skewed = _skewed_columns(metadata)
    return [*sets, skewed] if len(skewed) > 1 and set(skewed) <= set(columns) else sets


def _skewed_columns(metadata: TableMetadata) -> list[str]:
    skew = metadata.arrangement.skew
    if skew is None:
        return []
    names = {column.physical: column.name for column in metadata.data_columns}
    return [names[each] for each in skew.columns if each in names]


def _count(
    knowledge: FileKnowledge, columns: Sequence[str], rows: NDArray[np.int64], least_rows: float, most: int
) -> tuple[tuple[tuple[Value, ...], ...], tuple[int, ...]] | None:
    """Return the heavy keys and their rows by the files that have one key each, or None if there are none."""
    values: list[list[Value]] = []
    single = np.ones(len(rows), np.bool_)
    for name in columns:
        bounds = knowledge.bounds(name)
        if bounds is None:
            return None
        least, greatest = (np.asarray(each).tolist() for each in (bounds.least, bounds.greatest))
        equal = [one == other for one, other in zip(least, greatest, strict=True)]
        single &= np.array(equal, np.bool_) & (np.asarray(bounds.nulls) == NO_NULL)
        values.append(least)
    counts: dict[tuple[object, ...], int] = {}
    keys: dict[tuple[object, ...], tuple[Value, ...]] = {}
    for file in np.flatnonzero(single).tolist():
        key = tuple(of_column[file] for of_column in values)
        order = tuple(map(order_key, key))
        keys.setdefault(order, key)
        counts[order] = counts.get(order, 0) + int(rows[file])
    heavy = sorted((order for order in counts if counts[order] >= least_rows), key=lambda each: -counts[each])
    heavy = heavy[:most]
    return (tuple(keys[each] for each in heavy), tuple(counts[each] for each in heavy)) if heavy else None


def _declared(
    metadata: TableMetadata, columns: Sequence[str], total: int | None, most: int
) -> HeavyKeys | None:
    """Return the keys that a table without directories is skewed by, as its owner says."""
    skew, names = metadata.arrangement.skew, _skewed_columns(metadata)
    if skew is None or skew.directories or not names or not set(names) <= set(columns):
        return None
    types = [metadata.column(name).column_type for name in names]
    values = tuple(key for key in skew.values(types) if None not in key)[:most]
    return HeavyKeys(tuple(names), values, None, total) if values else None
