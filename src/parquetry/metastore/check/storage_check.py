"""Check the storage of a warehouse: reach, each right by itself, and clocks.

The file systems in use are checked: Hadoop's in a Spark session, Arrow's outside of one. Without `write`, a
check only reads: it lists the warehouse's folder, and reads a byte of one data file. With `write`, it writes
a file under a name of its own to the warehouse's folder, reads it back and deletes it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from itertools import islice

import pyarrow.fs as pafs

from parquetry.errors import ParquetryError, WarehouseError
from parquetry.locations import is_below, join_location, open_location, remote_files, storage_path, take_apart
from parquetry.metastore.metastore import Metastore
from parquetry.metastore.results import Check

MAX_CLOCK_DIFFERENCE_MS = 60_000
"""Milliseconds between two clocks from where on it is a problem: times of files are compared with ages."""
_WHOLE_SECOND_MS = 1000
"""A store may tell times in whole seconds."""
_CONTENT = b"Parquetry's doctor wrote this file to check the rights. Delete it."
_MAX_TABLES = 100
"""Tables that are searched for a file to read."""
_PREFIX = "_parquetry-doctor-"


def check_storage(metastore: Metastore, *, write: bool) -> Iterator[Check]:
    """Check the warehouse's owner, the metastore's clock, and the warehouse's files; see `check_files`."""
    yield from _owner(metastore)
    yield from _metastore_clock(metastore)
    yield from check_files(metastore.warehouse, _data_file(metastore), write=write)


def check_files(warehouse: str, data_file: str | None = None, *, write: bool) -> Iterator[Check]:
    """Check the reach of a warehouse's folder, and each right there.

    Args:
        warehouse: absolute path, or URI.
        data_file: the location of a file to read, or None if none is known.
        write: whether to write a file, read it back and delete it.
    """
    try:
        filesystem, folder = open_location(warehouse)
    except ParquetryError as error:
        yield Check("files", False, error.message)
        return
    listed = _check_list(filesystem, folder, warehouse)
    yield listed
    if listed.ok is False and not write:
        return  # what cannot be reached need not be tried twice
    if not write:
        yield (
            Check("read", None, "no data file is known to read")
            if data_file is None
            else _check_read(data_file)
        )
        yield Check(
            "write", None, "not tried", "doctor --write, or write => true in SQL, writes a small file"
        )
        return
    if listed.ok is None and take_apart(warehouse).is_local:
        return  # a folder that is not there yet should not come to be by a check
    yield from _check_write(filesystem, f"{folder.rstrip('/')}/{_PREFIX}{secrets.token_hex(8)}")


def _check_list(filesystem: pafs.FileSystem, folder: str, warehouse: str) -> Check:
    try:
        count = len(filesystem.get_file_info(pafs.FileSelector(folder)))
    except FileNotFoundError as error:
        return Check(
            "list",
            None,
            f"{warehouse} is not there: {error}",
            "if the bucket or the disk is right, the first table makes the folder",
        )
    except OSError as error:
        return Check("list", False, f"{warehouse}: {error}", _remedy("to list", "s3:ListBucket", error))
    return Check("list", True, f"{warehouse}, {count} {'entry' if count == 1 else 'entries'}")


def _check_read(location: str) -> Check:
    try:
        filesystem, path = open_location(location)
        with filesystem.open_input_file(path) as file:
            file.read(1)
    except FileNotFoundError:
        return Check("read", False, f"{location} is missing", "fsck of its table says more")
    except (OSError, WarehouseError) as error:
        return Check("read", False, f"{location}: {error}", _remedy("to read", "s3:GetObject", error))
    return Check("read", True, location)


def _check_write(filesystem: pafs.FileSystem, path: str) -> Iterator[Check]:
    """Write a file, read it back, and delete it."""
    remote = remote_files(filesystem)
    before = _now_ms()
    try:
        if remote is not None:
            remote.write_file(path, _CONTENT)
        else:
            with filesystem.open_output_stream(path) as file:
                file.write(_CONTENT)
    except OSError as error:
        yield Check("write", False, f"{path}: {error}", _remedy("to write", "s3:PutObject", error))
        return
    after = _now_ms()
    yield Check("write", True, path)
    try:
        with filesystem.open_input_stream(path) as file:
            same = file.read() == _CONTENT
        (info,) = filesystem.get_file_info([path])
        modified = None if info.mtime_ns is None else info.mtime_ns // 1_000_000
    except OSError as error:
        yield Check("read", False, f"{path}: {error}", _remedy("to read", "s3:GetObject", error))
    else:
        other = "something else was read than was written: is this one store, and does a proxy keep copies?"
        yield Check("read", True, path) if same else Check("read", False, f"{path}: {other}")
        if modified is not None:
            yield compare_clocks("clock of the files", modified, before - _WHOLE_SECOND_MS, after)
    try:
        filesystem.delete_file(path)
    except OSError as error:
        remedy = f"{_remedy('to delete', 's3:DeleteObject', error)}; then delete this file"
        yield Check("delete", False, f"{path}: {error}", remedy)
    else:
        yield Check("delete", True, path)


def _owner(metastore: Metastore) -> Iterator[Check]:
    """Say whether the warehouse belongs to the metastore, unless all is as it should be."""
    try:
        refusal = metastore.store.ownership.refusal()
    except WarehouseError:
        return  # the checks of the files tell what cannot be reached
    if refusal is not None:
        yield Check("owner", False, refusal.message)


def _metastore_clock(metastore: Metastore) -> Iterator[Check]:
    before = _now_ms()
    if (theirs := metastore.server_time()) is not None:
        yield compare_clocks("clock of the metastore", theirs, before, _now_ms())


def compare_clocks(name: str, theirs: int, before: int, after: int) -> Check:
    """Compare another clock with this machine's.

    Args:
        name: of the check.
        theirs: the other clock's time, in milliseconds since the epoch.
        before: this machine's time before the other clock was read.
        after: this machine's time afterwards.

    >>> late = compare_clocks("clock", 90_000, 0, 10_000)
    >>> late.ok, late.found
    (False, "80.0 s ahead of this machine's")
    >>> compare_clocks("clock", 60_000, 70_000, 80_000).found
    "10.0 s behind this machine's"
    >>> compare_clocks("clock", 5_000, 0, 10_000).ok
    True
    """
    difference = theirs - min(max(theirs, before), after)
    if not difference:
        return Check(name, True, "agrees with this machine's")
    state = f"{abs(difference) / 1000:.1f} s {'ahead of' if difference > 0 else 'behind'} this machine's"
    if abs(difference) <= MAX_CLOCK_DIFFERENCE_MS:
        return Check(name, True, state)
    return Check(name, False, state, "set the clocks (NTP): vacuum compares times of files with its own")


def _data_file(metastore: Metastore) -> str | None:
    """Return the location of a data file below the warehouse, or None if the first tables have none."""
    warehouse = storage_path(metastore.warehouse)
    names = ((database, name) for database in metastore.databases() for name in metastore.tables(database))
    for database, name in islice(names, _MAX_TABLES):
        try:
            for partition in metastore.table(database, name).partitions():
                if partition.files:
                    location = join_location(partition.location, partition.files[0].path)
                    if is_below(storage_path(location), warehouse):
                        return location
                    break
        except ParquetryError:  # dropped meanwhile, or damaged: fsck tells
            continue
    return None


def _remedy(to_do: str, right: str, error: Exception) -> str:
    text = str(error)
    if isinstance(error, PermissionError) or any(word in text for word in ("ACCESS_DENIED", "Access Denied")):
        return f"give this user the right {to_do} (on S3: {right})"
    if "HTTP status 400" in text and right == "s3:PutObject":
        return (
            "set AWS_REQUEST_CHECKSUM_CALCULATION=WHEN_REQUIRED if the store knows no checksums behind a body"
        )
    return "check the address, the bucket, the credentials and the network"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
