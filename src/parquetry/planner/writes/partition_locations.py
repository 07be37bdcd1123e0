"""Find partitions whose folders are not named for their values. Writes go there, as in Hive and Spark.

Such partitions were adopted under another spelling (`month=02`), or added with a LOCATION, below the table or
elsewhere. No write goes to a folder that another table has, or that contains this table's own: readers of
that folder would take the rows for its own.
"""

from __future__ import annotations

from parquetry.locations import path_below, storage_path
from parquetry.metastore import RealPaths, TableSnapshot, claims, overlap

MAX_SEARCHED_PARTITIONS = 10_000
"""Tables with more partitions are not searched for custom locations. Their rows go to the folders named for
their values, and are listed by full paths."""


def own_locations(snapshot: TableSnapshot) -> dict[str, str]:
    """Return the locations of such partitions, by the directories that their rows would go to otherwise.

    Args:
        snapshot: of the table.
    """
    if not snapshot.metadata.partition_by or snapshot.totals.partitions > MAX_SEARCHED_PARTITIONS:
        return {}
    table = snapshot.metadata.location
    locations: dict[str, str] = {}
    outside: dict[str, str] = {}
    for partition in snapshot.partitions():
        location = partition.entry.location
        if location is not None:
            directory = snapshot.placement.default_location(partition.values)[len(table) + 1 :]
            (outside if path_below(table, location) is None else locations)[directory] = location
    if outside:
        real = RealPaths()
        taken = [real.folder(storage_path(table))]
        taken += [claim.place for claim in claims(snapshot.store, real) if claim.table != snapshot.id]
        for directory, location in outside.items():
            path = real.folder(storage_path(location))
            if not any(overlap(path, other) for other in taken):
                locations[directory] = location
    return locations
