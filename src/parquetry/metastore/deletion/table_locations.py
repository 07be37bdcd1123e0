"""Where tables, partitions and databases may be: resolve their locations, check them, make folders.

`claims` says which locations collide.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.fs as pafs

from parquetry.errors import LocationTakenError, WarehouseError
from parquetry.layout import ArrangementSpec
from parquetry.locations import absolute_location, open_location, path_below, storage_path
from parquetry.metastore.deletion.claims import (
    Claim,
    claims,
    overlap,
    require_free,
    require_outside,
    require_outside_metastore,
)
from parquetry.metastore.deletion.file_access import FileAccess, RealPaths
from parquetry.metastore.deletion.owned_files import OwnedFiles
from parquetry.metastore.metastore import Metastore
from parquetry.metastore.storage.model import TableMetadata
from parquetry.metastore.versions.snapshot import TableSnapshot

MAX_SEARCHED_PARTITIONS = 10_000
"""Tables with more partitions are not searched for custom locations. Their rows go to the folders named for
their values, and are listed by full paths."""


class TableLocations:
    """The locations of a metastore's tables, with their partitions and databases.

    A location below the warehouse gets the warehouse's own name, even if a link led there. Then it stays
    valid when the warehouse moves.

    Args:
        metastore: the metastore.
    """

    def __init__(self, metastore: Metastore) -> None:
        self._metastore = metastore

    def make_managed(self, database: str, name: str) -> str:
        """Make the folder of a managed table where Hive would put it, or with a longer name if it is in use.

        The folder is made at once, so that no other table takes it. A location is also in use if another
        table claims it, or if a database's tables are stored there (as for a table `foo.db` in `default`),
        even without a folder.

        Raises:
            LocationTakenError: the database's whole directory belongs to another table.
            WarehouseError: the folder cannot be made.
        """
        plain = absolute_location(self._metastore.table_location(database, name))
        claimed = list(self._claims())
        databases = self._directories()
        taken: LocationTakenError | None = None
        for location in (plain, f"{plain}-{uuid.uuid4().hex[:8]}"):
            try:
                require_outside_metastore(self._metastore, location, f"table {database}.{name}")
                require_free(claimed, location, f"table {database}.{name}", managed=True, databases=databases)
            except LocationTakenError as error:
                taken = error
                continue
            if _make_folder(location, database, name):
                return location
        raise taken or WarehouseError(
            f"The folder {plain} cannot be made: its name is taken."
        )  # never twice by a random name

    def delete_managed(self, metadata: TableMetadata) -> None:
        """Delete the folder of a managed table that was not created. The folder is empty."""
        OwnedFiles(self._metastore.store, b"", metadata, FileAccess()).delete_empty()

    def external(self, database: str, name: str, text: str) -> str:
        """Return the location of an external table from its statement.

        A table of the same name does not count: either the statement replaces it, or it will fail because of
        the name.

        Raises:
            LocationTakenError: the location belongs to a managed table, to a database or to the metastore.
        """
        location = self._name_location(absolute_location(text, self._metastore.database_location(database)))
        require_outside_metastore(self._metastore, location, f"table {database}.{name}")
        named = database.lower(), name.lower()
        claimed = (claim for claim in self._claims() if (claim.head.database, claim.head.name) != named)
        require_free(claimed, location, f"table {database}.{name}", databases=self._directories())
        return location

    def partition(self, table: TableSnapshot, text: str, name: str) -> str:
        """Return the location of a partition from its statement.

        Args:
            table: whose own location may contain it.
            text: as the user wrote it.
            name: of the partition, for messages.

        Raises:
            LocationTakenError: the location belongs to another, managed table.
        """
        location = self._name_location(absolute_location(text, table.metadata.location))
        require_outside_metastore(self._metastore, location, f"partition {name} of table {table.label}")
        require_free(self._claims(but=table.owner), location, f"partition {name} of table {table.label}")
        return location

    def require_free_cells(self, label: str, arrangement: ArrangementSpec, table: bytes = b"") -> None:
        """Make sure that directories of heavy values are not in the locations of other tables.

        Args:
            label: of the table, for messages.
            arrangement: of the table or of one of its partitions.
            table: its id. Its own location may contain them.

        Raises:
            LocationTakenError: a location belongs to another, managed table.
        """
        claimed = list(self._claims(but=table)) if arrangement.locations else []
        for location in sorted(arrangement.locations):
            require_outside_metastore(self._metastore, location, f"a skewed value of table {label}")
            require_free(claimed, location, f"a skewed value of table {label}")

    def database(self, name: str, text: str | None) -> str:
        """Return the default folder of a database's tables. A relative location starts in the warehouse.

        Raises:
            LocationTakenError: the location belongs to a table.
        """
        location = self._name_location(
            absolute_location(text or f"{name.lower()}.db", self._metastore.warehouse)
        )
        subject = f"the folder for tables of database {name}"
        require_outside_metastore(self._metastore, location, subject, contents=False)
        require_outside(self._claims(), location, name)
        return location

    def _claims(self, but: bytes = b"") -> Iterator[Claim]:
        every: Iterable[Claim] = claims(self._metastore.store, RealPaths())
        return (claim for claim in every if claim.owner != but)

    def _name_location(self, location: str) -> str:
        return self._metastore.store.below.with_own_name(location)

    def _directories(self) -> dict[str, str]:
        metastore = self._metastore
        return {name: absolute_location(metastore.database_location(name)) for name in metastore.databases()}


def _make_folder(location: str, database: str, name: str) -> bool:
    """Make a table's folder. Return False if there is something at its path already."""
    filesystem, path = open_location(location)
    try:
        if isinstance(filesystem, pafs.LocalFileSystem):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).mkdir()
        elif filesystem.get_file_info(path).type == pafs.FileType.NotFound:
            filesystem.create_dir(path)
        else:
            return False
    except FileExistsError:
        if not os.path.lexists(path):  # a folder above it is a file
            raise WarehouseError(f"{location} cannot be made: there is a file in its way.") from None
        return False
    except OSError as error:
        raise WarehouseError(
            f"The folder {location} of table {database}.{name} cannot be made: {error.strerror or error}. "
            "Give the user that runs Spark's driver the right to write there, or say LOCATION."
        ) from None
    return True


def delete_empty_folder(location: str) -> None:
    """Delete the folder of a dropped database if it is empty."""
    files = FileAccess()
    files.delete_if_empty(files.storage_path(location))


def own_locations(snapshot: TableSnapshot) -> dict[str, str]:
    """Return the locations of partitions whose folders are not named for their values.

    Such partitions were adopted under another spelling (`month=02`), or added with a LOCATION, below the
    table or elsewhere. Writes go there, as in Hive and Spark. No write goes to a folder that another table
    has, or that contains this table's own: readers of that folder would take the rows for its own.

    Args:
        snapshot: of the table.

    Returns:
        Locations by the directories that the partitions' rows would go to otherwise.
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
        taken += [claim.folder for claim in claims(snapshot.store, real) if claim.owner != snapshot.owner]
        for directory, location in outside.items():
            path = real.folder(storage_path(location))
            if not any(overlap(path, other) for other in taken):
                locations[directory] = location
    return locations
