"""Find the values of columns that are the same in all rows of a file, for conditions that only Spark knows.

A file of one day, or of one status, is common: tables are loaded by day. Its least and greatest value are
equal. So any function of such columns has one value in the file. Spark evaluates
the condition over these values, once for each row of values, as over the values of directories.

    file    day                         status          next_day(day, 'MON') = DATE '2026-03-09'
    0       2026-03-02 in all rows      new and done    evaluated for 2026-03-02
    1       2026-03-02 in all rows      done            the same row of values
    2       from 2026-03-02 to 03-08    done            not evaluated

Only types whose equal values are the same value take part (`TypeFacts.plain`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from parquetry.metastore import FileBlock, PartitionSnapshot, TableMetadata
from parquetry.predicate import NO_NULL, ONLY_NULL, Row, as_list
from parquetry.prune.rules.directory_knowledge import ColumnValues
from parquetry.prune.rules.file_knowledge import FileKnowledge
from parquetry.types import order_key

MAX_ROWS = 10_000
"""Rows of values that Spark evaluates for one condition; with more, the condition prunes no file so."""
MAX_FILES = 100_000
"""Files that are looked at; with more, finding the values would take longer than it saves."""
_UNKNOWN = object()


def file_constants(
    metadata: TableMetadata,
    partitions: Sequence[PartitionSnapshot],
    block: FileBlock,
    conditions: Sequence[Collection[str]],
) -> list[list[ColumnValues]]:
    """Return for each condition the rows of values in files where each of its columns has one value.

    Args:
        metadata: the table's metadata.
        partitions: the partitions of the files.
        block: the files, with statistics of the conditions' columns.
        conditions: the columns of each condition.
    """
    if not 1 < block.count <= MAX_FILES:
        return [[] for _ in conditions]
    knowledge = FileKnowledge(metadata, partitions, block)
    names = {name for each in conditions for name in each}
    types = {name: metadata.column(name).column_type for name in names}
    known = {name: _values(knowledge, name) if types[name].facts.plain else None for name in names}

    def rows(columns: Collection[str]) -> list[ColumnValues]:
        found = [values for name in columns if (values := known[name]) is not None]
        if len(found) < len(columns) or set(columns) <= set(metadata.partition_by):
            return []
        distinct: dict[tuple[object, ...], Row] = {}
        for row in zip(*found, strict=True):
            if _UNKNOWN not in row:
                distinct[tuple(map(order_key, row))] = row
        return (
            [ColumnValues(tuple(columns), list(distinct.values()))] if 0 < len(distinct) <= MAX_ROWS else []
        )

    return [rows(columns) for columns in conditions]


def _values(knowledge: FileKnowledge, name: str) -> list[object] | None:
    """Return the value of a column in all rows of each file, or `_UNKNOWN` where it has several."""
    bounds = knowledge.bounds(name)
    if bounds is None:
        return None
    return [
        None if nulls == ONLY_NULL else low if nulls == NO_NULL and low == high else _UNKNOWN
        for low, high, nulls in zip(
            as_list(bounds.least), as_list(bounds.greatest), as_list(bounds.nulls), strict=True
        )
    ]
