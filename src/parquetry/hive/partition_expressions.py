"""Expressions of Hive's clients on partitions, as filters over a table's columns.

Hive sends its own expression tree, serialized by Kryo, with `get_partitions_by_expr`. Some clients send the
text of a filter in its place. What is not read is None: the caller answers with all partitions, and says that
some may not match.
"""

from __future__ import annotations

from parquetry.errors import FilterError
from parquetry.hive.filters import read_filter
from parquetry.metastore import TableSnapshot
from parquetry.predicate import EVERY_ROW, Filter


def read_expression(snapshot: TableSnapshot, expression: bytes) -> Filter | None:
    """Return the filter that an expression is, or None if it is not understood.

    Args:
        snapshot: the table.
        expression: the bytes that the client sent.
    """
    if not expression:
        return EVERY_ROW
    text = expression.decode("utf-8", "replace")
    if not text.isprintable():
        return None
    try:
        return read_filter(snapshot, text)
    except FilterError:
        return None
