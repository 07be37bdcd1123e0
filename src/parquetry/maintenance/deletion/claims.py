"""Which places the tables of a metastore hold, and which of them collide.

A table holds its location and all below it. A managed table's folder is its own alone; external tables may lie
in one another's, as they delete nothing but what they wrote themselves. A database's directory is where its
managed tables come to lie, so no table may lie there or above it.

Tables' heads and metadata are read, a row each; partitions are not: a metastore has many more of them. A
partition's own location is compared with tables' locations when it is added, and when rows are to be written there; of such
a folder deletion takes only what the table wrote there itself.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from parquetry.errors import LocationTakenError, MetastoreDamagedError
from parquetry.locations import StoragePath, is_below, storage_path
from parquetry.maintenance.deletion.file_access import RealPaths
from parquetry.metastore.storage import HEADS, Head, batches, decode_head, decoder, metadata_key, prefix_range
from parquetry.store import Store

_LOG = logging.getLogger("parquetry")
_TABLES_PER_BATCH = 1000


class Claim(NamedTuple):
    """A table and the folder that it holds.

    Attributes:
        table: id.
        head: of the table.
        location: as the table's metadata has it.
        place: the same, resolved.
        managed: whether the folder is the table's alone.
    """

    table: bytes
    head: Head
    location: str
    place: StoragePath
    managed: bool

    @property
    def label(self) -> str:
        """Return the table's name for messages."""
        return f"table {self.head.database}.{self.head.name}" if self.head.name else "a table in the making"


class _StoredLocation(msgspec.Struct, frozen=True):
    """The part of a table's metadata that says where it lies."""

    location: str
    external: bool = False


def claims(store: Store, real: RealPaths) -> Iterator[Claim]:
    """Yield the claims of all tables, of those in the making, too.

    A table whose rows cannot be read is left out, and told to the log: nobody can say where it lies.
    """
    heads = ((key[len(HEADS) :], value) for key, value in store.scan(*prefix_range(HEADS)))
    for batch in batches(heads, _TABLES_PER_BATCH):
        readable = [(table, head) for table, value in batch if (head := _head(table, value)) is not None]
        keys = [metadata_key(table, head.commit.metadata) for table, head in readable]
        for (table, head), value in zip(readable, store.get_many(keys), strict=True):
            if value is None:  # dropped meanwhile, or not yet written
                continue
            try:
                stored: _StoredLocation = decoder(_StoredLocation).decode(value)
            except MetastoreDamagedError as error:
                _LOG.warning("where table %s.%s lies is not known: %s", head.database, head.name, error)
                continue
            place = real.folder(storage_path(stored.location))
            yield Claim(table, head, stored.location, place, not stored.external)


def _head(table: bytes, value: bytes) -> Head | None:
    try:
        head = decode_head(value)
    except MetastoreDamagedError as error:
        _LOG.warning("where the table of id %s lies is not known: %s", table.hex(), error)
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
    """Make sure that a table, or a partition with a location of its own, collides with no other table.

    Args:
        others: what other tables hold.
        location: that is asked for.
        subject: what is to lie there, for the message.
        managed: whether it is a folder that is to belong to one table alone.
        databases: of a table, the locations of databases by name.

    Raises:
        LocationTakenError: the place is another's.
    """
    real = RealPaths()
    place = real.folder(storage_path(location))
    for claim in others:
        if (managed or claim.managed) and overlap(place, claim.place):
            raise LocationTakenError(
                f"{subject} cannot lie at {location}: {_relation(place, claim.place)} {claim.label} lies, at "
                f"{claim.location}, and the folder of a managed table is its own. Say another LOCATION."
            )
    for name, directory in (databases or {}).items():
        theirs = real.folder(storage_path(directory))
        if place == theirs or is_below(theirs, place):
            raise LocationTakenError(
                f"{subject} cannot lie at {location}: {_relation(place, theirs)} the tables of database {name} "
                f"lie by default, at {directory}. Say another LOCATION, such as a folder below."
            )


def require_outside(others: Iterable[Claim], location: str, database: str) -> None:
    """Make sure that the directory of a database is not in a table's folder.

    Raises:
        LocationTakenError: it is.
    """
    place = RealPaths().folder(storage_path(location))
    for claim in others:
        if place == claim.place or is_below(place, claim.place):
            raise LocationTakenError(
                f"The tables of database {database} cannot lie at {location}: {_relation(place, claim.place)} "
                f"{claim.label} lies, at {claim.location}. Say another LOCATION."
            )


def _relation(place: StoragePath, other: StoragePath) -> str:
    if place == other:
        return "there"
    return "below it" if is_below(other, place) else "above it"
