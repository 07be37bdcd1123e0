"""Conditions that select whole partitions, to be compacted, verified or synchronised."""

from __future__ import annotations

from parquetry.errors import FilterError
from parquetry.metastore import TableSnapshot
from parquetry.predicate import Filter, parse_filter


def partition_condition(snapshot: TableSnapshot, where: str, zone: str = "UTC") -> Filter:
    """Parse a condition on partition columns.

    Args:
        snapshot: the table's version.
        where: the condition's text.
        zone: the time zone of timestamps that name none.

    Raises:
        FilterError: the text cannot be parsed, or names another column.
    """
    types = snapshot.metadata.types_of_partitions
    if not types:
        raise FilterError(f"Table {snapshot.label} has no partition columns to filter by.", where, 0)
    return parse_filter(where, types, zone)
