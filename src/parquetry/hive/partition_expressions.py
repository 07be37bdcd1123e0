"""Expressions of Hive's clients on partitions, as filters over a table's columns.

Hive sends its own expression tree, serialized by Kryo, with `get_partitions_by_expr` (`expressions`). Some
clients send the text of a filter in its place. What is not read is None: the caller answers with all
partitions, and says that some may not match.
"""

from __future__ import annotations

from parquetry.errors import FilterError
from parquetry.hive.expressions.conditions import PartitionExpression, read_partition_expression
from parquetry.hive.filters import read_filter
from parquetry.locations import DEFAULT_PARTITION
from parquetry.metastore import TableSnapshot
from parquetry.predicate import EVERY_ROW

_ZONE = "UTC"


def read_expression(
    snapshot: TableSnapshot, expression: bytes, default_partition: str = DEFAULT_PARTITION
) -> PartitionExpression | None:
    """Return the condition of an expression, or None if it is not understood.

    Args:
        snapshot: the table.
        expression: the bytes that the client sent.
        default_partition: the client's name of partitions of NULL.
    """
    if not expression:
        return PartitionExpression(EVERY_ROW, True, "")
    text = expression.decode("utf-8", "replace")
    if text.isprintable():
        try:
            found = default_partition == DEFAULT_PARTITION
            return PartitionExpression(read_filter(snapshot, text), True, text) if found else None
        except FilterError:
            return None
    columns = snapshot.metadata.partition_columns
    if any(column.physical.lower() != column.name.lower() for column in columns):
        return None  # the expression has the names before a renaming
    types = {column.name: column.column_type for column in columns}
    return read_partition_expression(expression, types, _ZONE, default_partition)
