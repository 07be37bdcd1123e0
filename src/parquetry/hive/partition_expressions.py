"""Expressions of Hive's clients on partitions, as filters over a table's columns.

Hive sends its own expression tree, serialized by Kryo, with `get_partitions_by_expr` (`expressions`). Some
clients send the text of a filter in its place. What is not read is None: the caller answers with all
partitions, and says that some may not match.
"""

from __future__ import annotations

from parquetry.errors import FilterError
from parquetry.hive.expressions.conditions import read_partition_expression
from parquetry.hive.filters import read_filter
from parquetry.locations import DEFAULT_PARTITION
from parquetry.metastore import TableSnapshot
from parquetry.predicate import EVERY_ROW, Filter

_ZONE = "UTC"


def read_expression(
    snapshot: TableSnapshot, expression: bytes, default_partition: str | None = None
) -> tuple[Filter, bool] | None:
    """Return the filter that an expression is, and whether it is exact, or None if it is not understood.

    A filter that is not exact selects other partitions, too.

    Args:
        snapshot: the table.
        expression: the bytes that the client sent.
        default_partition: the client's name of partitions of NULL, or None for Hive's own.
    """
    if not expression:
        return EVERY_ROW, True
    text = expression.decode("utf-8", "replace")
    if text.isprintable():
        try:
            return read_filter(snapshot, text), True
        except FilterError:
            return None
    columns = snapshot.metadata.partition_columns
    if any(column.physical.lower() != column.name.lower() for column in columns):
        return None  # the expression has the names before a renaming
    types = {column.name: column.column_type for column in columns}
    found = read_partition_expression(expression, types, _ZONE, default_partition or DEFAULT_PARTITION)
    return None if found is None else (found.filter, found.exact)
