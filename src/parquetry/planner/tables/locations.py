"""The locations of tables: resolve and check them, make folders, and delete a table's files with the table.

`metastore.deletion.owned_files` decides which files may be deleted, and `metastore.deletion.claims` which
locations collide.
"""

from __future__ import annotations

import functools
import itertools
import os
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow.fs as pafs

from parquetry.errors import LocationTakenError, TableNotFoundError, WarehouseError
from parquetry.layout import SkewMap
from parquetry.locations import absolute_location, open_location, visible_files
from parquetry.metastore import (
    Claim,
    DroppedTableFiles,
    FileAccess,
    Kind,
    OwnedFiles,
    RealPaths,
    Replacement,
    StagedTable,
    TableMetadata,
    TableSnapshot,
    claims,
    require_free,
    require_outside,
    require_outside_metastore,
)
from parquetry.planner.lake import Lake

_MAX_COUNTED_FILES = 1_000
"""Most files that a message counts in a new table's LOCATION; counting more would delay the statement."""


def managed_location(lake: Lake, database: str, name: str) -> str:
    """Make the folder of a managed table where Hive would put it, or with a longer name if that is in use.

    The folder is made at once, so that no other table takes it. A location is also in use if another table
    claims it, or if a database's tables are stored there (as for a table `foo.db` in `default`), even without
    a folder.

    Raises:
        LocationTakenError: the database's whole directory belongs to another table.
        WarehouseError: the folder cannot be made.
    """
    plain = absolute_location(lake.metastore.table_location(database, name))
    claimed = list(_all_claims(lake))
    databases = _directories(lake)
    taken: LocationTakenError | None = None
    for location in (plain, f"{plain}-{uuid.uuid4().hex[:8]}"):
        try:
            require_outside_metastore(lake.metastore, location, f"table {database}.{name}")
            require_free(claimed, location, f"table {database}.{name}", managed=True, databases=databases)
        except LocationTakenError as error:
            taken = error
            continue
        if _make_folder(location, database, name):
            return location
    raise taken or WarehouseError(
        f"The folder {plain} cannot be made: its name is taken."
    )  # never twice by a random name


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


def external_location(lake: Lake, database: str, name: str, text: str) -> str:
    """Return the location of an external table from its statement.

    A table of the same name does not count: either the statement replaces it, or it will fail because of the
    name.

    Raises:
        LocationTakenError: the location belongs to a managed table, to a database or to the metastore.
    """
    location = _named(lake, absolute_location(text, lake.metastore.database_location(database)))
    require_outside_metastore(lake.metastore, location, f"table {database}.{name}")
    named = database.lower(), name.lower()
    claimed = (claim for claim in _all_claims(lake) if (claim.head.database, claim.head.name) != named)
    require_free(claimed, location, f"table {database}.{name}", databases=_directories(lake))
    return location


def partition_location(lake: Lake, table: TableSnapshot, text: str, name: str) -> str:
    """Return the location of a partition from its statement.

    Args:
        lake: the catalog.
        table: whose own location may contain it.
        text: as the user wrote it.
        name: of the partition, for messages.

    Raises:
        LocationTakenError: the location belongs to another, managed table.
    """
    location = _named(lake, absolute_location(text, table.metadata.location))
    require_outside_metastore(lake.metastore, location, f"partition {name} of table {table.label}")
    claimed = (claim for claim in _all_claims(lake) if claim.table != table.id)
    require_free(claimed, location, f"partition {name} of table {table.label}")
    return location


def require_free_cells(lake: Lake, label: str, skew: SkewMap | None, table: bytes = b"") -> None:
    """Make sure that directories of heavy values are not in the locations of other tables.

    Args:
        lake: the catalog.
        label: of the table, for messages.
        skew: the heavy values of the table or of one of its partitions.
        table: its id. Its own location may contain them.

    Raises:
        LocationTakenError: a location belongs to another, managed table.
    """
    places = {place for place in skew.locations if place is not None} if skew is not None else set()
    claimed = [claim for claim in _all_claims(lake) if claim.table != table] if places else []
    for place in sorted(places):
        require_outside_metastore(lake.metastore, place, f"a skewed value of table {label}")
        require_free(claimed, place, f"a skewed value of table {label}")


def database_location(lake: Lake, name: str, text: str | None) -> str:
    """Return the default folder of a database's tables. A relative location starts in the warehouse.

    Raises:
        LocationTakenError: the location belongs to a table.
    """
    location = _named(lake, absolute_location(text or f"{name.lower()}.db", lake.metastore.warehouse))
    subject = f"the folder for tables of database {name}"
    require_outside_metastore(lake.metastore, location, subject, contents=False)
    require_outside(_all_claims(lake), location, name)
    return location


def delete_empty_folder(location: str) -> None:
    """Delete the folder of a dropped database if it is empty."""
    files = FileAccess()
    files.delete_if_empty(files.storage_path(location))


def _all_claims(lake: Lake) -> Iterable[Claim]:
    return claims(lake.metastore.store, RealPaths())


def _named(lake: Lake, location: str) -> str:
    """Return a location below the warehouse under the warehouse's own name, even if a link led there.

    Then the location stays valid when the warehouse moves.
    """
    return lake.metastore.store.below.named(location)


def _directories(lake: Lake) -> dict[str, str]:
    metastore = lake.metastore
    return {name: absolute_location(metastore.database_location(name)) for name in metastore.databases()}


def give_back(lake: Lake, metadata: TableMetadata) -> None:
    """Remove the folder of a managed table that was not created. The folder is empty."""
    OwnedFiles(lake.metastore.store, b"", metadata, FileAccess()).delete_empty()


def staged_deletion(staged: StagedTable) -> Callable[[], None]:
    """Return the function that deletes a staged table's files once the table is discarded."""
    doomed = DroppedTableFiles(staged.snapshot, given_up=True)
    return functools.partial(_delete, [doomed])


def delete_replacement(replacement: Replacement) -> None:
    """Delete the files that were written for a replacement that will not be published."""
    files = FileAccess()
    for failure in files.delete_all(map(files.storage_path, replacement.files)):
        raise WarehouseError(failure)


class Dropping:
    """Tables that are dropped with their files.

    The list of files is read before the drop, and the files are deleted after it, for that very table.
    Meanwhile another table may have taken its name, or it may have been renamed.

    Args:
        lake: the catalog.
    """

    def __init__(self, lake: Lake) -> None:
        self._metastore = lake.metastore
        self._gone: list[DroppedTableFiles] = []

    def drop(self, database: str, name: str, kind: Kind | None = "table") -> None:
        """Drop a table, or a view.

        Args:
            database: case-insensitive.
            name: case-insensitive.
            kind: the expected kind, or None for either.

        Raises:
            NamespaceNotFoundError: there is no such database.
            TableNotFoundError: there is no such table.
        """
        doomed: list[DroppedTableFiles] = []

        def read(table: TableSnapshot) -> bool:
            doomed.clear()
            if table.metadata.view is not None:
                return False
            try:
                doomed.append(DroppedTableFiles(table))
            except TableNotFoundError:  # some of its rows were deleted, unless others have changed it since
                return True
            return table.metadata.external  # the files in the last version of an external table stay

        self._metastore.drop_table(database, name, kind=kind, before=read)
        self._gone += doomed

    def delete_files(self) -> None:
        """Delete the files of the tables that were dropped.

        Raises:
            WarehouseError: some files cannot be deleted. All others are deleted, and the tables are dropped.
        """
        _delete(self._gone)


def _delete(tables: list[DroppedTableFiles]) -> None:
    """Delete the files of tables that were dropped.

    Raises:
        WarehouseError: some files cannot be deleted. All others are deleted, and the tables are dropped.
    """
    if not tables:
        return
    claimed = functools.cache(lambda: list(claims(tables[0].store, RealPaths())))
    failures = [(table.label, failure) for table in tables for failure in table.delete(claimed)]
    if failures:
        label, first = failures[0]
        raise WarehouseError(
            f"Table {label} is gone, but {len(failures)} of its files are left: {first.rstrip('.')}. Delete by hand what of "
            "them is not needed."
        )


def describe_files(location: str) -> str | None:
    """Return how many files a location has, in words, or None if it has none or cannot be read."""
    try:
        filesystem, path = open_location(location)
        count = sum(1 for _ in itertools.islice(visible_files(filesystem, path), _MAX_COUNTED_FILES + 1))
    except (OSError, WarehouseError):
        return None
    more = f"more than {_MAX_COUNTED_FILES:,} files" if count > _MAX_COUNTED_FILES else f"{count} files"
    return None if count == 0 else "a file" if count == 1 else more
