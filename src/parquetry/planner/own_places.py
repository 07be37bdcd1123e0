"""Partitions in other folders below their table than those named for their values: rows written to them go there, as with Hive and Spark.

Such are those that were adopted under another spelling (`month=02`), and those added with a LOCATION there. Into a folder outside the
table's nothing is written: it may be another table's, and no rule for deleting reaches there (`maintenance.deleting`).
"""

from __future__ import annotations

from parquetry.layout.places import path_below
from parquetry.metastore.snapshot import TableSnapshot

MOST_PARTITIONS = 10_000
"""Of a table with more, no statement looks at every partition for these: their rows go to the folders named for their values, and are listed by full paths."""


def own_places(snapshot: TableSnapshot) -> dict[str, str]:
    """Return the locations of such partitions, by the directories below the table that their rows would be written to.

    Args:
        snapshot: of the table.
    """
    if not snapshot.metadata.partition_by or snapshot.totals.partitions > MOST_PARTITIONS:
        return {}
    start = len(snapshot.metadata.location) + 1
    return {
        snapshot.default_location(partition.values)[start:]: partition.entry.location
        for partition in snapshot.partitions()
        if partition.entry.location is not None
        and path_below(snapshot.metadata.location, partition.entry.location) is not None
    }
