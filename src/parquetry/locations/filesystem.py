"""Where a table lies: a location's text as a PyArrow file system and a path on it.

How the text is read is said in `uri`; what lies there is for `adoption.discover` and `data_files.footer_statistics` to find out.
"""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.fs as pafs

from parquetry.errors import WarehouseError
from parquetry.locations.uri import take_apart

# Hadoop's names of S3's connectors; Arrow knows but one.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}


def open_location(location: str) -> tuple[pafs.FileSystem, str]:
    """Return the file system of a location and the location's path on it.

    Args:
        location: an absolute path, or a URI of a scheme that Arrow reads: `file`, `s3` (`s3a`), `hdfs`, `gs`,
            `abfs`.

    Raises:
        WarehouseError: the scheme is unknown, or its file system cannot be reached.

    >>> open_location("file:/lake/t/x=1%2F2")[1]
    '/lake/t/x=1%2F2'
    """
    parts = take_apart(location)
    if parts.is_local:
        return pafs.LocalFileSystem(), parts.path
    scheme = parts.scheme.lower()
    try:
        filesystem, root = pafs.FileSystem.from_uri(
            f"{_SCHEMES.get(scheme, scheme)}:{parts.authority or '//'}/x"
        )
    except (pa.ArrowException, OSError, ValueError) as error:
        raise WarehouseError(
            f"The location '{location}' cannot be opened: {error}. Check the scheme, the address and the "
            f"credentials; Arrow reads file, s3, hdfs, gs and abfs."
        ) from error
    return filesystem, f"{root.removesuffix('x')}{parts.path.lstrip('/')}"


def require_writable(location: str, table: str) -> None:
    """Make the folder of a table's files if it is missing, and check that files can be made in it.

    Otherwise a job fails after an hour, with a less clear error. Only the local file system is checked.

    Raises:
        WarehouseError: the folder cannot be made or written.
    """
    filesystem, path = open_location(location)
    if not isinstance(filesystem, pafs.LocalFileSystem):
        return
    reason = "permission denied"
    try:
        os.makedirs(path, exist_ok=True)
        if os.access(path, os.W_OK | os.X_OK):
            return
    except OSError as error:
        reason = error.strerror or str(error)
    raise WarehouseError(
        f"The folder {location} of table {table} cannot be written: {reason}. Give the user that runs Spark the "
        "right to write there, or clear what is in the way."
    )
