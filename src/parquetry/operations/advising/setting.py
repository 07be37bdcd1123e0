"""Give a table's new files a layout, by its properties."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from parquetry import adviser, definition, metastore as ms
from parquetry.config import CLUSTERED_BY, SORT_BY, TARGET_FILE_SIZE
from parquetry.operations.operation import Context


def set_layout(
    context: Context,
    snapshot: ms.TableSnapshot,
    layout: adviser.TableLayout,
    operation: str,
    file_bytes: int | None = None,
    summary: Mapping[str, str] | None = None,
) -> ms.TableSnapshot:
    """Commit the properties of a layout that a table can get in place; return the version.

    Args:
        context: the warehouse.
        snapshot: of the table.
        layout: that new files are to have.
        operation: for the history.
        file_bytes: the size of files to set, or None to keep it.
        summary: texts by key, for the history.
    """
    properties = dict(snapshot.metadata.properties)
    properties.pop(SORT_BY, None)
    if layout.sort:
        properties[SORT_BY] = layout.sort_by
    if file_bytes is not None:
        properties[TARGET_FILE_SIZE] = f"{file_bytes >> 10 or 1}kb"
    if layout.bucket_count:
        properties[CLUSTERED_BY] = adviser.bucket_clause(layout).removeprefix("CLUSTERED BY ")
    if properties == snapshot.metadata.properties:
        return snapshot
    metadata = msgspec.structs.replace(snapshot.metadata, properties=properties)
    transaction = ms.Transaction(snapshot, operation)
    transaction.set_metadata(definition.bucketing.record_buckets(snapshot.label, metadata))
    return context.cache(ms.commit(transaction, summary))
