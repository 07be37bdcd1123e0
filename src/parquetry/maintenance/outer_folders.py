"""Folders outside of a table's own in which partitions of it lie: what the table writes there is its to delete, and nothing else."""

from __future__ import annotations

from parquetry.errors import MetastoreDamagedError
from parquetry.layout.places import Place, path_below, place_of
from parquetry.maintenance.claims import overlap
from parquetry.maintenance.files import RealPlaces
from parquetry.metastore.entries import TOMBSTONE, decode_entry
from parquetry.metastore.keyspace import partition_prefix, prefix_range
from parquetry.store.base import Store


def outer_folders(store: Store, table: bytes, location: str, real: RealPlaces) -> frozenset[Place]:
    """Return where partitions of any version lie outside of their table's folder, resolved.

    Args:
        store: of the metastore.
        table: id.
        location: of the table.
        real: links and `..` resolved.
    """
    root = real.folder(place_of(location))
    locations = set()
    for _, value in store.scan(*prefix_range(partition_prefix(table))):
        if value == TOMBSTONE:
            continue
        try:
            own = decode_entry(value).location
        except MetastoreDamagedError:
            continue  # of which `recorded_files` tells
        if own and path_below(location, own) is None:
            locations.add(own)
    found = (real.folder(place_of(own)) for own in locations)
    return frozenset(folder for folder in found if not overlap(folder, root))
