"""The conditions by which whole partitions are chosen: to be compacted, looked at, taken in."""

from __future__ import annotations

from parquetry.errors import FilterError
from parquetry.metastore.versions import TableSnapshot
from parquetry.predicate import Filter
from parquetry.predicate.reading import parse_filter


def partition_condition(snapshot: TableSnapshot, where: str, zone: str = "UTC") -> Filter:
    """Return a condition on partition columns from its text.

    Args:
        snapshot: of the table.
        where: the text.
        zone: the time zone in which timestamps without one were written.

    Raises:
        FilterError: it cannot be read, or names another column.
    """
    types = snapshot.metadata.types_of_partitions
    if not types:
        raise FilterError(f"Table {snapshot.label} has no partition columns to filter by.", where, 0)
    return parse_filter(where, types, zone)
