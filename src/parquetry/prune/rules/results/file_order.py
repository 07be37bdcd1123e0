"""Put the files of a scan below a LIMIT into their reading order.

Statistics may not tell which files have the first rows. Still, a query need not read all files: it reads the
most promising ones first, and stops when no other file can have a better row. Without a sort key, the
files whose rows all match come first, and then the files by the number of rows that are expected to match.
With a sort key, files come by the best bound of the key, where that is expected to save most of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parquetry.data_files import Numbers
from parquetry.metastore import FileBlock
from parquetry.prune.needed_rows import FirstRows
from parquetry.prune.rule import PruningRequest, Remaining
from parquetry.prune.rules.results.estimates import expects_early_stop, likely_rows
from parquetry.prune.rules.results.matching import condition_columns, fully_matching
from parquetry.prune.rules.results.sort_keys import refusal, sort_columns
from parquetry.prune.rules.results.sort_positions import sort_positions
from parquetry.types import Value


@dataclass(frozen=True, slots=True)
class FileRanks:
    """The order of files.

    Attributes:
        ranks: for each file; lower ranks come first.
        bounds: for each rank, the sort key's best value in these files, which may be NULL; an empty tuple if
            it is not known. Empty without a sort key.
        nulls_first: whether rows may be first because their sort key is NULL.
    """

    ranks: Numbers
    bounds: tuple[tuple[Value] | tuple[()], ...] = ()
    nulls_first: bool = False


def order_columns(scan: PruningRequest) -> set[str]:
    """Return the columns whose statistics `file_order` reads."""
    if scan.first is None:
        return set()
    key = scan.first.key
    if key is None:
        return set(condition_columns(scan))
    return sort_columns(scan.snapshot.metadata, key) | set(condition_columns(scan))


def file_order(scan: PruningRequest, remaining: Remaining, block: FileBlock) -> FileRanks | None:
    """Return the order of files, or None if all files are needed or none is better than another.

    Args:
        scan: the request.
        remaining: the partitions of the files, and whether all rows of the files match.
        block: the files, with the statistics of `order_columns`.
    """
    first = scan.first
    if first is None or block.count < 2:
        return None
    if first.key is None:
        if remaining.certain:
            return None
        likely = likely_rows(scan, remaining, block)
        # every row of a fully matching file is certain, so these come before all others
        score = np.where(fully_matching(scan, remaining, block), likely + likely.max(initial=0) + 1, likely)
        return FileRanks(np.unique(-score, return_inverse=True)[1].astype(np.int64))
    return _by_key(scan, remaining, block, first)


def _by_key(
    scan: PruningRequest, remaining: Remaining, block: FileBlock, first: FirstRows
) -> FileRanks | None:
    if first.key is None or first.distinct or refusal(scan.snapshot.metadata, first.key) is not None:
        return None
    none = np.zeros(block.count, np.bool_)  # what files promise does not matter here
    found = sort_positions(scan, remaining, block, first, none)
    if found is None or not expects_early_stop(found, first, likely_rows(scan, remaining, block)):
        return None
    positions, ranks = np.unique(found.first, return_inverse=True)
    bounds = tuple(found.bound(position) for position in positions.tolist())
    return FileRanks(ranks.astype(np.int64), bounds, first.key.nulls_first and bool(found.nullable.any()))
