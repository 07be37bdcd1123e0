"""Find the commits that conflict with a statement because of what it read.

The conditions of the statement's scans define what it read, at the grain of partitions. Runtime filters do
not narrow it. Nor do Spark's results on the existing partitions: others may add partitions that satisfy the
condition. Other tables do not count: a commit is one compare-and-set of one table's head.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from parquetry.config import ISOLATION, Settings
from parquetry.metastore import TableSnapshot, Transaction
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import EVALUATED, any_row, conditions, implied_by, types_of
from parquetry.planner.protocol import questions
from parquetry.predicate import Filter
from parquetry.prune import partition_plan
from parquetry.types import Value

REWRITING_OPERATIONS = frozenset({"compact", "rebucket", "compact metadata"})
"""Operations that leave all rows unchanged."""
OPERATIONS_WITHOUT_NEW_ROWS = REWRITING_OPERATIONS | {
    "delete",
    "truncate",
    "truncate partitions",
    "drop partitions",
}
"""Operations that add no new rows."""


def is_serializable(settings: Settings) -> bool:
    """Return whether everything that a statement reads counts for conflicts."""
    return bool(settings[ISOLATION] == "serializable")


def rely_on_reads(lake: Lake, transaction: Transaction, reads: Iterable[questions.Read]) -> None:
    """Make a transaction conflict with commits that change a partition of its table that the statement read.

    Args:
        lake: the catalog.
        transaction: that is to be committed.
        reads: of any tables.
    """
    for version, filters in _conditions_read(lake, transaction, reads):
        transaction.requirements.rely_on(
            version, partition_plan(version, filters, indexed=False), REWRITING_OPERATIONS
        )


def rely_on_search(
    lake: Lake,
    transaction: Transaction,
    reads: Iterable[questions.Read],
    searched_by: Sequence[str],
    inserted: Collection[tuple[Value, ...]],
) -> None:
    """Make a transaction conflict with additions to partitions where a MERGE found no match for new rows.

    Args:
        lake: the catalog.
        transaction: that is to be committed.
        reads: where it searched.
        searched_by: partition columns that have the same value in a match as in the inserted row.
        inserted: the values of the partitions that rows were inserted into, and perhaps of more.
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
        transaction.requirements.rely_on(
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
    """Return the part of a condition that also applies to partitions which others may add."""
    if tree.get("fn") == EVALUATED:
        return implied_by(tree, types_of(version))
    return conditions(version, [tree])[0].filter
