"""What a condition says about partitions alone: the part of it that a scan plan can use.

The plan itself is `parquetry.scan`'s; here a condition over partition and data columns is weakened to one
over partition columns that every wanted row still satisfies.
"""

from __future__ import annotations

from parquetry.predicate.nodes import And, In, Not, Opaque, Or, Predicate, TupleIn, columns
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
    return node if columns(node) <= names else None


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
