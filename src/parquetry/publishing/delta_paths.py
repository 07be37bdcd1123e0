"""Paths of files in a Delta log. Polars reads partition values from folders, and not from the log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from parquetry.exchange import DELTA
from parquetry.locations import DEFAULT_PARTITION, path_below, unescape_path_name
from parquetry.metastore import TableMetadata, TableSnapshot
from parquetry.types import Value, text_from_value

_ESCAPED_BYTE = re.compile("%[89A-Fa-f][0-9A-Fa-f]")
"""An escape that Spark never writes. Spark reads it as a character, and Polars as a part of one."""


def relative_path(snapshot: TableSnapshot, location: str, values: Sequence[Value]) -> str:
    """Return the path of a file in the log: relative to the table's folder, and encoded as a URI.

    Args:
        snapshot: the version.
        location: of the file.
        values: of its partition.

    Raises:
        UnsupportedError: the file is outside of the folder, or Polars would read other values.
    """
    path = path_below(snapshot.metadata.location, location)
    if path is None:
        raise DELTA.error(
            snapshot.label,
            f"file {location} is outside of the table's folder. Write its partition anew with INSERT OVERWRITE",
        )
    reason = _other_values(snapshot.metadata, path.split("/")[:-1], values)
    if reason is not None:
        raise DELTA.error(
            snapshot.label,
            f"the folder of file {path} {reason}. Write the partition anew with INSERT OVERWRITE",
        )
    return quote(path, safe="/=")


def _other_values(metadata: TableMetadata, folders: Sequence[str], values: Sequence[Value]) -> str | None:
    """Return why Polars reads other values than the partition has, or None if it does not."""
    if any(part.count("=") > 1 for part in folders):
        return "has an equals sign in a value, and Polars would read NULL"
    if any(map(_ESCAPED_BYTE.search, folders)):
        return "has an escaped byte that is not ASCII, where Polars would read another value than Spark"
    for at, (column, value) in enumerate(zip(metadata.partition_columns, values, strict=True)):
        text = DEFAULT_PARTITION if value is None else text_from_value(column.column_type, value)
        name, _, escaped = folders[at].partition("=") if at < len(folders) else ("", "", "")
        if name != column.name or unescape_path_name(escaped) != text:
            return f"does not say {column.name}={text}, and Polars would read another value"
    return None
