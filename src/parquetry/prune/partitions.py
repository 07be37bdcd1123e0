"""What a condition says about partitions alone: the part of it that a scan plan can use, and the plan of it.

How a plan is made is `parquetry.scan`'s; here a condition over partition and data columns is weakened to one
over partition columns that every wanted row still satisfies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from parquetry.metastore import access
from parquetry.metastore.snapshot import Partition, TableSnapshot
from parquetry.predicate.match import Match, match_values
from parquetry.predicate.nodes import And, In, Not, Opaque, Or, Predicate, TupleIn, columns_of
from parquetry.scan.generate import plan_scan
from parquetry.scan.plan import ScanPlan
from parquetry.types import Value


def on_partitions(node: Predicate, names: frozenset[str]) -> Predicate | None:
    """Return a condition over partition columns that is TRUE wherever `node` is; None if it says nothing.

    Args:
        node: a normalised condition.
        names: the partition columns.

    >>> from parquetry.predicate.nodes import Compare
    >>> from parquetry.types import parse_type
    >>> p, v = (Compare("=", name, 1, parse_type("int")) for name in "pv")
    >>> str(on_partitions(And((p, v)), frozenset("p"))), on_partitions(Or((p, v)), frozenset("p"))
    ('p = 1', None)
    """
    match node:
        case And(children):
            kept = [part for child in children if (part := on_partitions(child, names)) is not None]
            return (kept[0] if len(kept) == 1 else And(tuple(kept))) if kept else None
        case Or(children):
            parts = [on_partitions(child, names) for child in children]
            known = [part for part in parts if part is not None]
            return Or(tuple(known)) if len(known) == len(parts) else None
        case TupleIn():
            return _tuple_part(node, names)
        case Opaque(implied=implied):
            return None if implied is None else on_partitions(implied, names)
        case Not(Opaque()):
            return None
    return node if columns_of(node) <= names else None


def plan_partitions(
    snapshot: TableSnapshot, predicates: Iterable[Predicate], *, indexed: bool = True
) -> ScanPlan | None:
    """Return the plan of the partitions that can satisfy all conditions; None for every partition.

    Args:
        snapshot: the version of the table.
        predicates: bound and normalised conditions, joined by AND.
        indexed: whether an index may be used; a plan that does is good for this version only.
    """
    metadata = snapshot.metadata
    names = frozenset(metadata.partition_by)
    parts = [part for predicate in predicates if (part := on_partitions(predicate, names)) is not None]
    if not names or not parts:
        return None
    condition = parts[0] if len(parts) == 1 else And(tuple(parts))
    if indexed:
        return access.plan_partitions(snapshot, condition)
    return plan_scan(condition, snapshot.key_schema)


def candidates(snapshot: TableSnapshot, predicates: Sequence[Predicate]) -> Iterator[Partition]:
    """Yield the partitions of which the values may satisfy all conditions, in key order.

    Args:
        snapshot: the version of the table.
        predicates: bound and normalised conditions, joined by AND.
    """
    plan = plan_partitions(snapshot, predicates)
    names = snapshot.metadata.partition_by
    for partition in snapshot.partitions(plan):
        row = dict(zip(names, partition.values, strict=True))
        if all(match_values(predicate, row) is not Match.CANNOT for predicate in predicates):
            yield partition


def _tuple_part(node: TupleIn, names: frozenset[str]) -> Predicate | None:
    places = [place for place, name in enumerate(node.columns) if name in names]
    if len(places) == len(node.columns):
        return node
    if not places:
        return None
    # A row with a NULL never makes the condition TRUE.
    rows: dict[tuple[Value, ...], None] = {
        tuple(row[place] for place in places): None for row in node.rows if None not in row
    }
    if len(places) == 1:
        place = places[0]
        return In(node.columns[place], tuple(row[0] for row in rows), node.types[place])
    return TupleIn(
        tuple(node.columns[place] for place in places),
        tuple(rows),
        tuple(node.types[place] for place in places),
    )
