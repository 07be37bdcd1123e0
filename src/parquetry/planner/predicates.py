"""Convert Spark's predicates on a table's columns into our own, and find whole partitions by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parquetry.errors import UnsupportedError
from parquetry.metastore import PartitionSnapshot, TableSnapshot, Transaction
from parquetry.planner.protocol.values import from_wire
from parquetry.predicate import (
    EVERY_ROW,
    And,
    Compare,
    Filter,
    IsNull,
    Not,
    Opaque,
    Or,
    Predicate,
    SparkColumns,
    TupleIn,
    columns_of,
    filter_from_json,
)
from parquetry.predicate.normalise import normalise
from parquetry.prune import (
    BucketMembership,
    Condition,
    Origin,
    on_partitions,
    partition_plan,
    rejects_null,
    spark_columns,
)
from parquetry.prune.whole_partitions import whole_partitions
from parquetry.types import ColumnType, Value, parse_type

EVALUATED = "PARTITION_PREDICATE"
"""The function of trees that stand for conditions which Spark evaluates on the values of partitions."""


DIRECTORY_EVALUATED = "DIRECTORY_PREDICATE"
"""The function of trees that stand for conditions on expressions, and for what Spark evaluated of them on
directories' heavy values."""


BUCKET_MEMBERSHIP = "IN_BUCKET"
"""The function of expressions that a hash of columns decides: whether a row is in one of some buckets."""


def conjuncts(
    snapshot: TableSnapshot, trees: Sequence[dict[str, Any]], *, written: bool = False
) -> list[Filter]:
    """Return the predicates that Spark pushed, one for one.

    Args:
        snapshot: of the table.
        trees: the predicates.
        written: whether they are about rows of a write, which have padded chars.
    """
    types = types_of(snapshot)
    if written:
        return [filter_from_json(tree, dict(types)) for tree in trees]
    return [filter_from_json(tree, types) for tree in trees]


def types_of(snapshot: TableSnapshot) -> SparkColumns:
    """Return the types of a table's columns, for conditions that Spark evaluates on its rows."""
    return spark_columns(snapshot.metadata)


def conditions(
    snapshot: TableSnapshot, trees: Sequence[dict[str, Any]], origin: Origin = "query"
) -> list[Condition]:
    """Return the predicates of a scan, one for one, also those evaluated by Spark on partition values."""
    types: Mapping[str, ColumnType] = types_of(snapshot)
    if origin != "query":
        types = dict(types)  # a join compares padded chars, of any length
    return [_condition(tree, types, origin) for tree in trees]


def _condition(tree: dict[str, Any], types: Mapping[str, ColumnType], origin: Origin) -> Condition:
    function = tree.get("fn")
    if function == EVALUATED:
        return _evaluated(tree, types, origin)
    if function == DIRECTORY_EVALUATED:
        return _directory_condition(tree, types, origin)
    return Condition.from_filter(filter_from_json(tree, types), origin)


def _evaluated(tree: dict[str, Any], types: Mapping[str, ColumnType], origin: Origin) -> Condition:
    """Return a condition that holds for exactly the values that made Spark's result TRUE."""
    names = tree["columns"]
    holds = EVERY_ROW if tree["rows"] is None else _any_row(names, types, tree["rows"])
    return Condition(Filter.all_of((implied_by(tree, types), holds)), frozenset(names), tree["sql"], origin)


def _directory_condition(tree: dict[str, Any], types: Mapping[str, ColumnType], origin: Origin) -> Condition:
    """Return a condition that is not TRUE for some rows of values. Otherwise it keeps its meaning.

    Its expression, if there is one, says more than the form that Spark has for sources.
    """
    names = tuple(tree["columns"])
    forms = [
        filter_from_json(form, types) for form in (tree["tree"], tree.get("expression")) if form is not None
    ]
    text = tree["sql"] if tree["tree"] is None else str(forms[0])
    parts = [Opaque(text, names, "function on the column", _no_row(types, **each)) for each in tree["fails"]]
    filter = Filter(normalise(And((*(form.node for form in forms), *parts))))
    return Condition(filter, frozenset(names), text, origin, _membership(tree.get("expression"), types))


def _membership(
    expression: dict[str, Any] | None, types: Mapping[str, ColumnType]
) -> BucketMembership | None:
    """Return the buckets that a condition says rows are in, or None if it says nothing of buckets.

    A column may be hashed as another type than its own, or with -0.0 and 0.0 apart. Then a table's buckets
    say nothing of the condition.
    """
    if expression is None or expression.get("fn") != BUCKET_MEMBERSHIP or not expression["settled"]:
        return None
    names = tuple(expression["columns"])
    hashed = [parse_type(text) for text in expression["types"]]
    if any(name not in types for name in names) or hashed not in ([], [types[name] for name in names]):
        return None
    version = expression["version"]
    return BucketMembership(
        names, version if version == "spark" else int(version), expression["count"], expression["buckets"]
    )


def _no_row(
    types: Mapping[str, ColumnType], columns: Sequence[str], rows: Sequence[Sequence[str | None]]
) -> Predicate:
    """Return the condition that columns have none of several rows of values.

    It is never NULL: NULL counts as a value here.
    """
    column_types = [types[name] for name in columns]
    values = [tuple(map(from_wire, column_types, row)) for row in rows]
    whole = TupleIn(tuple(columns), tuple(row for row in values if None not in row), tuple(column_types))
    parts = [
        Or(
            tuple(
                Not(IsNull(name)) if value is None else Not(Compare("<=>", name, value, type))
                for name, type, value in zip(columns, column_types, row, strict=True)
            )
        )
        for row in values
        if None in row
    ]
    return And((Or((Not(whole), *map(IsNull, columns))), *parts))


def implied_by(tree: dict[str, Any], types: Mapping[str, ColumnType]) -> Filter:
    """Return the filter that a condition for Spark to evaluate on partitions implies in any case.

    Args:
        tree: the condition as the bridge describes it.
        types: of the table's columns.
    """
    return on_partitions(filter_from_json(tree["tree"], types), frozenset(tree["columns"])) or EVERY_ROW


def _any_row(
    names: Sequence[str], types: Mapping[str, ColumnType], rows: Sequence[Sequence[str | None]]
) -> Filter:
    """Return the condition that columns have one of several rows of values. NULL counts as a value here."""
    column_types = [types[name] for name in names]
    return any_row(names, column_types, [tuple(map(from_wire, column_types, row)) for row in rows])


def any_row(
    names: Sequence[str], column_types: Sequence[ColumnType], values: Sequence[tuple[Value, ...]]
) -> Filter:
    """Return the same condition from values that are decoded already.

    Args:
        names: of the columns.
        column_types: their types.
        values: the rows.
    """
    full = TupleIn(tuple(names), tuple(row for row in values if None not in row), tuple(column_types))
    parts = [
        And(
            tuple(
                IsNull(name) if value is None else Compare("=", name, value, type)
                for name, type, value in zip(names, column_types, row, strict=True)
            )
        )
        for row in values
        if None in row
    ]
    # these are stored values of partitions, where a char is not padded
    return Filter(normalise(Or((*parts, full))))


def without_implied(predicates: Sequence[Predicate]) -> list[int]:
    """Return the positions of the predicates that no other one implies.

    Spark adds `c IS NOT NULL` beside `c = 1`. The first prunes nothing that the second does not prune.
    """
    kept = []
    for position, predicate in enumerate(predicates):
        match predicate:
            case Not(IsNull(column)):
                others = (other for i, other in enumerate(predicates) if i != position and other != predicate)
                if rejects_null(others, column):
                    continue
        kept.append(position)
    return kept


def whole(snapshot: TableSnapshot, predicates: Sequence[Filter], statement: str) -> list[PartitionSnapshot]:
    """Return the partitions that the predicates select. The predicates must select whole partitions.

    Args:
        snapshot: of the table.
        predicates: joined by AND.
        statement: the name of the statement, for the message.

    Raises:
        UnsupportedError: some rows of a partition would have to be kept.
    """
    selected = whole_partitions(snapshot, predicates)
    if isinstance(selected, str):
        raise UnsupportedError(
            f"{statement} {snapshot.label} takes whole partitions only: {selected}. Name partition columns only, or "
            "write the rows to keep as well, with INSERT OVERWRITE."
        )
    return selected


def replace_where(transaction: Transaction, predicates: Sequence[Filter], statement: str) -> None:
    """Have a transaction drop the partitions that the predicates select.

    Raises:
        UnsupportedError: some rows of a partition would have to be kept.
    """
    snapshot = transaction.base
    selected = whole(snapshot, predicates, statement)
    names = set(snapshot.metadata.partition_by)
    plan = partition_plan(snapshot, predicates, indexed=False)
    if (
        plan is not None
        and plan.exact
        and all(columns_of(predicate.node) <= names for predicate in predicates)
    ):
        transaction.replace_where(plan)  # then a partition that others add to the scope conflicts, too
        return
    for partition in selected:
        transaction.drop(partition.values)
