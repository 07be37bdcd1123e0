"""Expressions of Hive's clients on partitions, as filters over a table's columns.

Hive sends its own expression tree, serialized by Kryo, with `get_partitions_by_expr`. Some clients send the
text of a filter in its place. What is not read is None: the caller answers with all partitions, and says that
some may not match.
"""

from __future__ import annotations

from dataclasses import dataclass

from parquetry.errors import FilterError
from parquetry.hive.filters import read_filter
from parquetry.locations import DEFAULT_PARTITION
from parquetry.metastore import TableSnapshot
from parquetry.predicate import EVERY_ROW, Filter


@dataclass(frozen=True, slots=True)
class ReadExpression:
    """A condition of a client.

    Attributes:
        filter: TRUE for each partition that the expression selects.
        exact: whether it is TRUE for no other one. If not, the client has to test the partitions again.
        text: the expression, for the log.
    """

    filter: Filter
    exact: bool
    text: str


def read_expression(
    snapshot: TableSnapshot, expression: bytes, default_partition: str = DEFAULT_PARTITION
) -> ReadExpression | None:
    """Return the condition of an expression, or None if it is not understood.

    Args:
        snapshot: the table.
        expression: the bytes that the client sent.
        default_partition: the client's name of partitions of NULL.
    """
    if not expression:
        return ReadExpression(EVERY_ROW, True, "")
    text = expression.decode("utf-8", "replace")
    if not text.isprintable() or default_partition != DEFAULT_PARTITION:
        return None
    try:
        return ReadExpression(read_filter(snapshot, text), True, text)
    except FilterError:
        return None
