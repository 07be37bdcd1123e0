"""`detail`: one row about a table, in the words of Delta's DESCRIBE DETAIL."""

from __future__ import annotations

import json
from typing import NamedTuple

from parquetry.operations.operation import Context, TableName, Timestamp, operation


class TableDetail(NamedTuple):
    """A table as it is now. The names of the fields are Delta's, so that programs find them.

    `partitionColumns` is a list with commas, and `properties` is JSON.
    """

    format: str
    id: str
    name: str
    location: str
    createdAt: Timestamp  # noqa: N815
    lastModified: Timestamp  # noqa: N815
    partitionColumns: str  # noqa: N815
    numFiles: int  # noqa: N815
    sizeInBytes: int  # noqa: N815
    properties: str
    version: int


@operation("Describes a table in one row: format, location, files, bytes, partition columns, properties.")
def detail(context: Context, table: TableName) -> list[TableDetail]:
    """Describe a table in one row, as DESCRIBE DETAIL does."""
    snapshot = context.find(table)
    metadata, totals = snapshot.metadata, snapshot.totals
    return [
        TableDetail(
            metadata.format,
            snapshot.id.hex(),
            context.full_name(snapshot),
            metadata.location,
            Timestamp(metadata.created_at * 1000),
            Timestamp(snapshot.commit.time * 1000),
            ", ".join(metadata.partition_by),
            totals.files,
            totals.bytes,
            json.dumps(dict(metadata.properties), ensure_ascii=False),
            snapshot.version,
        )
    ]
