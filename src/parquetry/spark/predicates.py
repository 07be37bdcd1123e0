"""Spark's predicates on a table's columns as our own, and the whole partitions they select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parquetry.errors import UnsupportedError
from parquetry.metastore.snapshot import Partition, TableSnapshot
from parquetry.metastore.transaction import Transaction
from parquetry.predicate.match import Match, match_values
from parquetry.predicate.nodes import IsNull, Not, Predicate, columns
from parquetry.predicate.normalise import normalise
from parquetry.predicate.spark_json import from_json
from parquetry.prune.select import plan_partitions
from parquetry.prune.whole import whole_partitions


def conjuncts(snapshot: TableSnapshot, trees: Sequence[dict[str, Any]]) -> list[Predicate]:
    """Return the predicates that Spark offered, one for one."""
    types = {column.name: column.column_type for column in snapshot.metadata.columns}
    return [normalise(from_json(tree, types)) for tree in trees]


def without_implied(predicates: Sequence[Predicate]) -> list[int]:
    """Return the positions of the predicates that say something of their own.

    Spark adds `c IS NOT NULL` beside `c = 1`; it prunes nothing that the other does not.
    """
    kept = []
    for position, predicate in enumerate(predicates):
        match predicate:
            case Not(IsNull(column)):
                others = (other for i, other in enumerate(predicates) if i != position and other != predicate)
                if any(match_values(other, {column: None}) is Match.CANNOT for other in others):
                    continue
        kept.append(position)
    return kept


def whole(snapshot: TableSnapshot, predicates: Sequence[Predicate], statement: str) -> list[Partition]:
    """Return the partitions that the predicates select, which must be whole ones.

    Args:
        snapshot: of the table.
        predicates: joined by AND.
        statement: what is to be done, for the message.

    Raises:
        UnsupportedError: some rows of a partition would have to be kept.
    """
    selected = whole_partitions(snapshot, predicates)
    if isinstance(selected, str):
        raise UnsupportedError(
            f"{statement} {snapshot.label} takes whole partitions only: {selected}. Name partition columns only, or "
            "write the rows to keep with INSERT OVERWRITE."
        )
    return selected


def replace_where(transaction: Transaction, predicates: Sequence[Predicate], statement: str) -> None:
    """Have a transaction drop the partitions that the predicates select.

    Raises:
        UnsupportedError: some rows of a partition would have to be kept.
    """
    snapshot = transaction.base
    selected = whole(snapshot, predicates, statement)
    names = set(snapshot.metadata.partition_by)
    plan = plan_partitions(snapshot, predicates, indexed=False)
    if plan is not None and plan.exact and all(columns(predicate) <= names for predicate in predicates):
        transaction.replace_where(plan)  # what others add to the scope meanwhile is a conflict, too
        return
    for partition in selected:
        transaction.drop(partition.values)
