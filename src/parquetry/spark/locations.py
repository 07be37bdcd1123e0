"""Where tables lie: folders made, named and removed."""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Callable
from pathlib import Path

import pyarrow.fs as pafs

from parquetry.errors import (
    TableNotFoundError,
    WarehouseError,
)
from parquetry.layout.location import open_location
from parquetry.layout.paths import join_location
from parquetry.metastore.model import TableMetadata
from parquetry.spark.lake import Lake

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def absolute(location: str, base: str | None = None) -> str:
    """Return a location as Hadoop writes it; a path without a scheme is the driver's own.

    Args:
        location: as the user wrote it.
        base: where relative paths begin; None: the working directory.
    """
    trimmed = re.sub(r"^file:/+", "file:/", location.rstrip("/") or "/")
    if _SCHEME.match(trimmed):
        return trimmed
    if base is not None and not trimmed.startswith("/"):
        return f"{absolute(base)}/{os.path.normpath(trimmed)}"
    return f"file:{os.path.abspath(trimmed)}"


def managed_location(lake: Lake, database: str, name: str) -> str:
    """Make the folder of a managed table, where Hive would put it; one that is in use already is left alone.

    It is made now, so that no other table takes it for free: what is in it goes when this table is dropped.
    """
    plain = absolute(lake.metastore.table_location(database, name))
    for location in (plain, f"{plain}-{uuid.uuid4().hex[:8]}"):
        filesystem, path = open_location(location)
        try:
            if isinstance(filesystem, pafs.LocalFileSystem):
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).mkdir()
            elif filesystem.get_file_info(path).type == pafs.FileType.NotFound:
                filesystem.create_dir(path)
            else:
                continue
        except FileExistsError:
            if not Path(path).exists():  # a folder above it is a file
                raise WarehouseError(f"{location} cannot be made: there is a file in its way.") from None
            continue
        except OSError as error:
            raise WarehouseError(
                f"the folder {location} of table {database}.{name} cannot be made: {error.strerror or error}. "
                "Give the user that runs Spark's driver the right to write there, or say LOCATION."
            ) from None
        return location
    raise WarehouseError(
        f"the folder {plain} cannot be made: its name is taken."
    )  # never twice by a random name


def give_back(metadata: TableMetadata) -> None:
    """Remove the folder of a managed table that did not come to be."""
    if not metadata.external:
        filesystem, path = open_location(metadata.location)
        with contextlib.suppress(OSError):
            if isinstance(filesystem, pafs.LocalFileSystem):
                Path(path).rmdir()


def delete_tree(location: str) -> None:
    """Delete a folder with all that is in it, if it is there."""
    filesystem, path = open_location(location)
    if filesystem.get_file_info(path).type == pafs.FileType.Directory:
        filesystem.delete_dir(path)


def delete_own(location: str, table: bytes, keep: set[str]) -> None:
    """Delete the files that were written for a table.

    Args:
        location: of the table.
        table: id.
        keep: paths of files that stay.
    """
    filesystem, path = open_location(location)
    for info in filesystem.get_file_info(pafs.FileSelector(path, recursive=True, allow_not_found=True)):
        if info.is_file and info.base_name.startswith(f"pq-{table.hex()}-") and info.path not in keep:
            filesystem.delete_file(info.path)


def doomed_files(
    lake: Lake, database: str, name: str, spared: str | None = None
) -> Callable[[], None] | None:
    """Return what deletes a table's files once it is dropped; None if there is no such table.

    An external table's files stay; but those that an overwrite has left for readers of older versions would
    be taken for data by whoever reads the folder next.

    Args:
        lake: the catalog.
        database: of the table.
        name: of the table.
        spared: where a table lies that takes this one's place: it may be the same folder.
    """
    try:
        snapshot = lake.metastore.table(database, name)
    except TableNotFoundError:
        return None
    location = snapshot.metadata.location
    if not snapshot.metadata.external:
        if spared is not None and (
            f"{spared}/".startswith(f"{location}/") or f"{location}/".startswith(f"{spared}/")
        ):
            return lambda: delete_own(location, snapshot.id, set())
        return lambda: delete_tree(location)
    keep = {
        open_location(join_location(partition.location, file.path))[1]
        for partition in snapshot.partitions()
        for file in partition.files
    }
    return lambda: delete_own(location, snapshot.id, keep)
