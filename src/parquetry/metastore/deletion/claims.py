"""Claims of tables to folders, and collisions between them.

A table claims its location and all below it. The folder of a managed table belongs to it alone. External
tables may share folders, since they delete only files that they wrote themselves. The directory of a database
holds the folders of its managed tables, so no table may be at this directory or above it.

To find claims, two rows a table are read: its head and its metadata. Partitions are not read, since a
metastore has many more of them. A partition's own location is compared with tables' locations when it is
added, and when rows are written there. In such a folder, only files that the table wrote itself are ever
deleted.

Partitions of a table, and directories for heavy values, may be in folders outside of the table's own.

The table may delete the files there that it wrote itself, and no others.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from parquetry.errors import LocationTakenError, MetastoreDamagedError
from parquetry.locations import StoragePath, is_below, join_location, path_below, spelled_root, storage_path
from parquetry.metastore.deletion.file_access import RealPaths
from parquetry.metastore.manifest.entries import decode_entry
from parquetry.metastore.metastore import Metastore
from parquetry.metastore.refs.heads import is_living_branch
from parquetry.metastore.refs.names import name_parts
from parquetry.metastore.storage.checksums import is_tombstone
from parquetry.metastore.storage.head import Head, decode_head
from parquetry.metastore.storage.keyspace import HEADS, METADATA, metadata_key, partition_prefix, prefix_range
from parquetry.metastore.storage.model import TableMetadata
from parquetry.metastore.storage.wire import decode_arrangement, decoder
from parquetry.store import METASTORE_FOLDER, SQLiteStore, Store, in_batches

_LOG = logging.getLogger("parquetry")
_TABLES_PER_BATCH = 1000


class Claim(NamedTuple):
    """A table and the folder that it claims.

    Attributes:
        table: the table's id.
        head: the table's head.
        location: the folder, as in the table's metadata.
        folder: the folder, with links and `..` resolved.
        managed: whether the folder belongs to the table alone.
    """

    table: bytes
    head: Head
    location: str
    folder: StoragePath
    managed: bool

    @property
    def owner(self) -> bytes:
        """Return the id of the table that deletes the files: of a branch, its table."""
        return self.head.branch_of or self.table

    @property
    def label(self) -> str:
        """Return the table's name for messages."""
        if not self.head.name:
            return "a table in the making"
        return f"table {'.'.join((self.head.database, *name_parts(self.head.name)))}"


class _StoredLocation(msgspec.Struct, frozen=True):
    """The part of a table's metadata with its location."""

    location: str
    external: bool = False


def claims(store: Store, real: RealPaths) -> Iterator[Claim]:
    """Yield the claims of all tables, unfinished ones included, and of their branches.

    A table whose rows cannot be read is left out, and logged: its location is not known.
    """
    heads = ((key[len(HEADS) :], value) for key, value in store.scan(*prefix_range(HEADS)))
    for batch in in_batches(heads, _TABLES_PER_BATCH):
        readable = [
            (table, head)
            for table, value in batch
            if (head := _head(table, value)) is not None
            and (not head.branch_of or is_living_branch(store, table, head))
        ]
        keys = [metadata_key(table, head.commit.metadata) for table, head in readable]
        for (table, head), value in zip(readable, store.get_many(keys), strict=True):
            if value is None:  # dropped meanwhile, or not yet written
                continue
            try:
                stored: _StoredLocation = decoder(_StoredLocation).decode(value)
            except MetastoreDamagedError as error:
                _LOG.warning("the location of table %s.%s is not known: %s", head.database, head.name, error)
                continue
            folder = real.folder(storage_path(stored.location))
            yield Claim(table, head, stored.location, folder, not stored.external)


def _head(table: bytes, value: bytes) -> Head | None:
    try:
        head = decode_head(value)
    except MetastoreDamagedError as error:
        _LOG.warning("the location of the table with id %s is not known: %s", table.hex(), error)
        return None
    return None if head.is_deleted or head.kind == "view" else head


def overlap(one: StoragePath, other: StoragePath) -> bool:
    """Return whether two directories are the same, or one is inside the other."""
    return one == other or is_below(one, other) or is_below(other, one)


def require_free(
    others: Iterable[Claim],
    location: str,
    subject: str,
    *,
    managed: bool = False,
    databases: Mapping[str, str] | None = None,
) -> None:
    """Make sure that a table, or a partition with its own location, collides with no other table.

    Args:
        others: the claims of other tables.
        location: the requested location.
        subject: the table or partition, for the message.
        managed: whether the folder is to belong to one table alone.
        databases: for a table, the locations of databases by name; not given for a partition.

    Raises:
        LocationTakenError: another table or a database has the location.
    """
    real = RealPaths()
    folder = real.folder(storage_path(location))
    for claim in others:
        if (managed or claim.managed) and overlap(folder, claim.folder):
            raise LocationTakenError(
                f"{subject} cannot be at {location}: {_relation(folder, claim.folder)} the folder of {claim.label}, at "
                f"{claim.location}, and a managed table shares its folder with no other. Choose another LOCATION."
            )
    for name, directory in (databases or {}).items():
        theirs = real.folder(storage_path(directory))
        if folder == theirs or is_below(theirs, folder):
            raise LocationTakenError(
                f"{subject} cannot be at {location}: {_relation(folder, theirs)} the default folder for tables of "
                f"database {name}, at {directory}. Choose another LOCATION, such as a folder below."
            )


def require_outside(others: Iterable[Claim], location: str, database: str) -> None:
    """Make sure that the directory of a database is not in a table's folder.

    Raises:
        LocationTakenError: it is in one.
    """
    folder = RealPaths().folder(storage_path(location))
    for claim in others:
        if folder == claim.folder or is_below(folder, claim.folder):
            raise LocationTakenError(
                f"The tables of database {database} cannot be at {location}: {_relation(folder, claim.folder)} "
                f"the folder of {claim.label}, at {claim.location}. Choose another LOCATION."
            )


def require_outside_metastore(
    metastore: Metastore, location: str, subject: str, *, contents: bool = True
) -> None:
    """Make sure that a folder is not the metastore's own, nor in it or above it.

    The folder `_parquetry` of a warehouse is the metastore's, even if the store is elsewhere. A SQLite file
    elsewhere must not be in the folder, at any depth.

    Args:
        metastore: the metastore.
        location: the requested location.
        subject: the table, partition or database, for the message.
        contents: whether the folder's whole content is meant. If not, as for the folder of a database, it may
            be above the metastore's.

    Raises:
        LocationTakenError: it is one of these.
    """
    real = RealPaths()
    folder = real.folder(storage_path(location))
    own = real.folder(storage_path(join_location(metastore.warehouse, METASTORE_FOLDER)))
    rows = metastore.store.rows
    file = real.file(storage_path(rows.path)) if isinstance(rows, SQLiteStore) else own
    if (
        folder == own
        or is_below(folder, own)
        or (contents and (is_below(own, folder) or is_below(file, folder)))
    ):
        taken = own if overlap(folder, own) else file
        raise LocationTakenError(
            f"{subject[:1].upper()}{subject[1:]} cannot be at {location}: {_relation(folder, taken)} the metastore's own "
            f"{'folder' if taken == own else 'file'}, {spelled_root(taken)}{taken.path}. Choose another LOCATION."
        )


def _relation(folder: StoragePath, other: StoragePath) -> str:
    if folder == other:
        return "this is"
    return "below it is" if is_below(other, folder) else "above it is"


def outer_folders(
    store: Store,
    table: bytes,
    location: str,
    real: RealPaths,
    recorded: Collection[str] | None = None,
) -> frozenset[StoragePath]:
    """Return the folders outside of a table's folder, of partitions and of directories for heavy values.

    They are resolved, and include folders of all versions: REPLACE TABLE … LOCATION does not move earlier
    versions.

    Args:
        store: the metastore's store.
        table: the table's id.
        location: the table's location.
        real: resolves links and `..`.
        recorded: the locations in the rows of partitions, or None to read the rows.
    """
    root = real.folder(storage_path(location))
    locations = set(_new_partition_locations(store, table))
    if recorded is not None:
        locations.update(recorded)
    else:
        for _, value in store.scan(*prefix_range(partition_prefix(table))):
            locations.update(recorded_locations(value))
    folders = (real.folder(storage_path(own)) for own in locations if path_below(location, own) is None)
    return frozenset(folder for folder in folders if not overlap(folder, root))


def former_folders(store: Store, table: bytes, location: str, real: RealPaths) -> frozenset[StoragePath]:
    """Return the folders that a managed table had before a REPLACE TABLE … LOCATION, resolved.

    Args:
        store: the metastore's store.
        table: the table's id.
        location: the table's location.
        real: resolves links and `..`.
    """
    root = real.folder(storage_path(location))
    own = (metadata.location for metadata in _metadata(store, table) if not metadata.external)
    return frozenset(folder for each in own if each and (folder := real.folder(storage_path(each))) != root)


def recorded_locations(value: bytes) -> set[str]:
    """Return the locations in a partition's row: its own and its directories'; none if it is unreadable."""
    if is_tombstone(value):
        return set()
    try:
        entry = decode_entry(value)
        return {
            location
            for location in (entry.location, *decode_arrangement(entry.arrangement).locations)
            if location
        }
    except MetastoreDamagedError:
        return set()  # `recorded_files` logs it


def _new_partition_locations(store: Store, table: bytes) -> set[str]:
    """Return the locations that any version's metadata gives to new partitions and their directories."""
    return {
        location
        for metadata in _metadata(store, table)
        for location in (metadata.location, *metadata.arrangement.locations)
        if location
    }


def _metadata(store: Store, table: bytes) -> Iterator[TableMetadata]:
    """Yield the readable metadata of all versions; fsck reports unreadable metadata."""
    for _, value in store.scan(*prefix_range(METADATA + table)):
        with contextlib.suppress(MetastoreDamagedError):
            yield decoder(TableMetadata).decode(value)
