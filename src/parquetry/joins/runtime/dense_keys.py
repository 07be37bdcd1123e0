"""Detect dense keys: a small table with nearly all values of a column, whose values prune no file.

    store_sales JOIN customer ON ss_customer_sk = c_customer_sk

        customer        100,000 rows from 1 to 100,000, no condition

        store_sales     1,500 rows in a file, from 18 to 99,950

Each file of `store_sales` almost certainly has some of these customers. Such a join could only prune NULLs
and keys without a customer, and files with nothing else are rare. But its values take time even if they are
few: the scan waits for them, asks the planner again, and is planned once more. That is a fifth of the
processor's time of a native engine's short star.
"""

from __future__ import annotations

import numpy as np

from parquetry.cardinality import count_distinct
from parquetry.data_files import UNKNOWN
from parquetry.joins.runtime.cost_model import LIMITS
from parquetry.joins.runtime.estimates import numeric_bounds
from parquetry.joins.runtime.filterable import laid_out_within
from parquetry.joins.runtime.totals import end_partitions
from parquetry.metastore import FileBlock, TableSnapshot, file_blocks
from parquetry.prune import FileKnowledge, spelled


def dense_key_count(small: TableSnapshot, key: str, large: TableSnapshot, column: str) -> int | None:
    """Return the number of a small table's keys if they are dense, or None if they may prune files.

    Keys are dense if they are most of the numbers in their range, and nearly every file of the large table is
    likely to have rows with some of them. In ORC, the number of distinct keys may not be known. Then each row
    counts as a key of its own, but only if the table has many rows: a few may all have one key.

    Args:
        small: the version of the small table; all of its rows are used.
        key: its key column, of numbers.
        large: the version of the large table. If it has a hundred partitions or more, a few at both ends
            stand for all.
        column: its data column.
    """
    rows = small.totals.rows
    if rows is None or small.totals.partitions >= LIMITS.listed_partitions or laid_out_within(large.metadata):
        return None
    if not {key, column}.isdisjoint((*small.metadata.partition_by, *large.metadata.partition_by)):
        return None
    keys = _knowledge(small, key)
    of_key = numeric_bounds(keys[1].bounds(key))
    if of_key is None:
        return None
    least, greatest = of_key.min(), of_key.max()
    numbers = greatest - least + 1
    counted = count_distinct(small.metadata, keys[0].files, key)
    values = min(rows if counted is None else counted, int(numbers))
    if values < LIMITS.dense_key_share * numbers or (counted is None and values <= LIMITS.uncounted_keys):
        return None
    block, knowledge = _knowledge(large, column)
    ends = numeric_bounds(knowledge.bounds(column))
    if ends is None or ends.shape[1] < block.count or (block.files.rows == UNKNOWN).any():
        return None
    width = ends[1] - ends[0] + 1
    both = np.maximum(np.minimum(ends[1], greatest) - np.maximum(ends[0], least) + 1, 0)
    matches = np.minimum(block.files.rows, width) * both / width * (values / numbers)
    return values if (matches >= LIMITS.likely_rows).mean() >= LIMITS.likely_files else None


def _knowledge(table: TableSnapshot, column: str) -> tuple[FileBlock, FileKnowledge]:
    """Return the files of a table, or of its end partitions if it is large, and a column's statistics."""
    some = (
        end_partitions(table)
        if table.totals.partitions >= LIMITS.listed_partitions
        else list(table.partitions())
    )
    names = spelled(table.metadata, [column])
    block = FileBlock.concatenate(list(file_blocks(table.store, table.id, some, names)), names)
    return block, FileKnowledge(table.metadata, some, block)
