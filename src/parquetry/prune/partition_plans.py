"""Weaken a condition to partition columns, plan the scan of their keys, and find the partitions.

A condition over partition and data columns is weakened to one over partition columns that every wanted row
still satisfies. `parquetry.scan` makes plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import NamedTuple

from parquetry.metastore import Examined, PartitionSnapshot, TableMetadata, TableSnapshot, cheapest_plan
from parquetry.predicate import (
    And,
    Filter,
    Knowledge,
    KnownValues,
    Not,
    Opaque,
    Or,
    Predicate,
    TupleIn,
    columns_of,
    conjoin,
    disjoin,
    match,
    tuple_membership,
)
from parquetry.prune.query_cache import PartitionCache
from parquetry.scan import ScanPlan, plan_scan
from parquetry.scan.coarse import coarse
from parquetry.types import Value


def on_partitions(filter: Filter, names: frozenset[str]) -> Filter | None:
    """Return a filter on partition columns that is TRUE wherever `filter` is, or None if it says nothing.

    Args:
        filter: a filter on any columns.
        names: the partition columns.

    >>> from parquetry.predicate import Compare
    >>> from parquetry.types import parse_type
    >>> p, v = (Compare("=", name, 1, parse_type("int")) for name in "pv")
    >>> print(on_partitions(Filter(And((p, v))), frozenset("p")))
    p = 1
    >>> print(on_partitions(Filter(Or((p, v))), frozenset("p")))
    None
    """
    part = _part(filter.node, names)
    return filter if part is filter.node else None if part is None else Filter(part)


def _part(node: Predicate, names: frozenset[str]) -> Predicate | None:
    match node:
        case And(children):
            kept = [part for child in children if (part := _part(child, names)) is not None]
            return conjoin(kept) if kept else None
        case Or(children):
            parts = [_part(child, names) for child in children]
            known = [part for part in parts if part is not None]
            return disjoin(known) if len(known) == len(parts) else None
        case TupleIn():
            return _tuple_part(node, names)
        case Opaque(implied=implied):
            return None if implied is None else _part(implied, names)
        case Not(Opaque()):
            return None
    return node if columns_of(node) <= names else None


def partition_plan(
    snapshot: TableSnapshot, predicates: Iterable[Filter], *, indexed: bool = True
) -> ScanPlan | None:
    """Return the plan for the partitions that can satisfy all conditions, or None for every partition.

    Args:
        snapshot: the version of the table.
        predicates: filters joined by AND.
        indexed: whether the plan may use an index; such a plan is valid for this version only.
    """
    metadata = snapshot.metadata
    names = frozenset(metadata.partition_by)
    parts = [part for predicate in predicates if (part := on_partitions(predicate, names)) is not None]
    if not names or not parts:
        return None
    condition = Filter.all_of(parts)
    if indexed:
        return cheapest_plan(snapshot, condition)
    return plan_scan(condition, snapshot.key_schema)


def partition_knowledge(metadata: TableMetadata, partitions: Sequence[PartitionSnapshot]) -> Knowledge:
    """Return the statistics of partitions without their files: the values of the partition columns."""
    return KnownValues(metadata.partition_by, PartitionSnapshot.all_values(partitions))


class FoundPartitions(NamedTuple):
    """The partitions that can satisfy conditions, in key order.

    Attributes:
        exact: whether they all satisfy the conditions that partition columns decide, so that their values
            need no second test. They need one after a condition with thousands of values, which is read by
            coarser ranges (`scan.coarse`).
        seeks: keys that a skip scan read to find the next value of a leading column.
    """

    partitions: Sequence[PartitionSnapshot]
    exact: bool
    seeks: int = 0


def find_partitions(
    snapshot: TableSnapshot, filters: Sequence[Filter], recent: PartitionCache | None = None
) -> FoundPartitions:
    """Return the partitions that can satisfy conditions, in key order, judged by partition columns alone.

    Args:
        snapshot: the version of the table.
        filters: filters joined by AND.
        recent: the query cache; a cached selection may save reading the metastore.
    """
    names = frozenset(snapshot.metadata.partition_by)
    given = [part for each in filters if (part := on_partitions(each, names)) is not None]
    parts = list(map(coarse, given))
    whole = all(part is old for part, old in zip(parts, given, strict=True))
    recent_plan = None if recent is None else recent.find(snapshot, parts)
    if recent_plan is not None:
        if recent_plan.same:
            return FoundPartitions(recent_plan.partitions, whole, recent_plan.seeks)
        knowledge = partition_knowledge(snapshot.metadata, recent_plan.partitions)
        kept = compress(recent_plan.partitions, match(Filter.all_of(given), knowledge).tolist())
        return FoundPartitions(list(kept), True, recent_plan.seeks)
    plan = partition_plan(snapshot, parts)
    examined = Examined()
    partitions = list(snapshot.partitions(plan, examined=examined))
    exact = plan is None or plan.exact
    if recent is not None and exact:
        recent.keep(snapshot, parts, partitions, examined.seeks)
    return FoundPartitions(partitions, exact and whole, examined.seeks)


def candidates(
    snapshot: TableSnapshot, predicates: Sequence[Filter], recent: PartitionCache | None = None
) -> list[PartitionSnapshot]:
    """Return the partitions whose values may satisfy all conditions, in key order.

    Args:
        snapshot: the version of the table.
        predicates: filters joined by AND.
        recent: the query cache.
    """
    partitions = find_partitions(snapshot, predicates, recent).partitions
    answers = match(Filter.all_of(predicates), partition_knowledge(snapshot.metadata, partitions))
    return list(compress(partitions, answers.tolist()))


def _tuple_part(node: TupleIn, names: frozenset[str]) -> Predicate | None:
    positions = [position for position, name in enumerate(node.columns) if name in names]
    if len(positions) == len(node.columns):
        return node
    if not positions:
        return None
    # A row with a NULL never makes the condition TRUE.
    rows: dict[tuple[Value, ...], None] = {
        tuple(row[position] for position in positions): None for row in node.rows if None not in row
    }
    names_kept, types = zip(
        *((node.columns[position], node.types[position]) for position in positions), strict=True
    )
    return tuple_membership(TupleIn(names_kept, tuple(rows), types))
