"""What a statement has read of the table that it changes: which commits of others are in its way, besides those that change the same partitions.

It is told by the conditions of the statement's scans, at the grain of partitions. What a join finds while it runs does not narrow it, nor
what Spark evaluated over the partitions that were there: others may make some for which it holds, too. Other tables do not count: a commit is one
compare-and-set of the head of one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from parquetry.config import ISOLATION, Settings
from parquetry.metastore.commits import Transaction
from parquetry.metastore.versions import TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import EVALUATED, any_row, conditions, implied_by, types_of
from parquetry.planner.protocol import questions
from parquetry.predicate import Filter
from parquetry.prune import partition_plan
from parquetry.types import Value

REWRITING_OPERATIONS = frozenset({"compact", "rebucket", "compact metadata"})
"""Operations that leave all rows as they are."""
OPERATIONS_WITHOUT_NEW_ROWS = REWRITING_OPERATIONS | {
    "delete",
    "truncate",
    "truncate partitions",
    "drop partitions",
}
"""Operations that add no row which was not there."""


def is_serializable(settings: Settings) -> bool:
    """Return whether all that a statement reads counts."""
    return bool(settings[ISOLATION] == "serializable")


def rely_on_reads(lake: Lake, transaction: Transaction, reads: Iterable[questions.Read]) -> None:
    """Have a transaction conflict with whoever changes a partition of its table that was read.

    Args:
        lake: the catalog.
        transaction: that is to be committed.
        reads: of any tables.
    """
    for version, filters in _conditions_read(lake, transaction, reads):
        transaction.rely_on(version, partition_plan(version, filters, indexed=False), REWRITING_OPERATIONS)


def rely_on_search(
    lake: Lake,
    transaction: Transaction,
    reads: Iterable[questions.Read],
    searched_by: Sequence[str],
    inserted: Collection[tuple[Value, ...]],
) -> None:
    """Have a transaction conflict with whoever adds to a partition in which a MERGE looked in vain for what it inserts.

    Args:
        lake: the catalog.
        transaction: that is to be committed.
        reads: where it looked.
        searched_by: partition columns that hold of a match what the inserted row has in them.
        inserted: the values of the partitions into which rows were inserted, and perhaps of more.
    """
    if not inserted:
        return
    metadata = transaction.base.metadata
    places = [place for place, name in enumerate(metadata.partition_by) if name in searched_by]
    values = {tuple(row[place] for place in places) for row in inserted}
    names = [metadata.partition_by[place] for place in places]
    here = (
        [any_row(names, [metadata.partition_types[place] for place in places], list(values))] if names else []
    )
    for version, filters in _conditions_read(lake, transaction, reads):
        transaction.rely_on(
            version, partition_plan(version, [*filters, *here], indexed=False), OPERATIONS_WITHOUT_NEW_ROWS
        )


def _conditions_read(
    lake: Lake, transaction: Transaction, reads: Iterable[questions.Read]
) -> Iterator[tuple[TableSnapshot, list[Filter]]]:
    for read in reads:
        if read.table.id == transaction.base.id.hex():
            version = lake.snapshot(read.table)
            yield version, [_lasting(version, tree) for tree in read.predicates]


def _lasting(version: TableSnapshot, tree: dict[str, Any]) -> Filter:
    """Return what a condition says of partitions that others may make, too."""
    if tree.get("fn") == EVALUATED:
        return implied_by(tree, types_of(version))
    return conditions(version, [tree])[0].filter
