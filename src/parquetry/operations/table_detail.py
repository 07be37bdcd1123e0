"""`detail`: one row about a table, with the names that Delta's DESCRIBE DETAIL has."""

from __future__ import annotations

import json
from typing import NamedTuple

from parquetry.operations.operation import Context, Presentation, TableName, Timestamp, operation


class TableDetail(NamedTuple):
    """A table as it is now. `properties` is JSON; `partitionColumns` are separated by commas."""

    format: str
    id: str
    name: str
    description: str | None
    location: str
    createdAt: Timestamp  # noqa: N815 - Delta's own names, which programs take from the row
    lastModified: Timestamp  # noqa: N815
    partitionColumns: tuple[str, ...]  # noqa: N815
    numFiles: int  # noqa: N815
    sizeInBytes: int  # noqa: N815
    properties: str


@operation(
    "Returns one row about a table, as Delta's DESCRIBE DETAIL does.",
    command=Presentation(
        "Look at tables",
        "detail sales.orders --json",
        {"name": "table", "format": "format", "numFiles": "files", "sizeInBytes": "bytes", "partitionColumns": "partition columns", "location": "location", "id": "id", "description": "comment", "properties": "properties"},
    ),
)  # fmt: skip
def detail(context: Context, table: TableName) -> list[TableDetail]:
    """Describe a table in one row.

    `parquetry describe` shows columns, too.
    """
    snapshot = context.find(table)
    metadata, totals = snapshot.metadata, snapshot.totals
    return [
        TableDetail(
            format=metadata.format,
            id=snapshot.id.hex(),
            name=context.full_name(snapshot),
            description=metadata.comment,
            location=metadata.location,
            createdAt=Timestamp(metadata.created_at * 1000),
            lastModified=Timestamp(snapshot.commit.time * 1000),
            partitionColumns=metadata.partition_by,
            numFiles=totals.files,
            sizeInBytes=totals.bytes,
            properties=json.dumps(metadata.properties, ensure_ascii=False),
        )
    ]
