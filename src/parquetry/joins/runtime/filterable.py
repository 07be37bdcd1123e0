"""List the columns of a scan that runtime filters can prune by.

| column            | pruned by                                                            |
|-------------------|----------------------------------------------------------------------|
| partition column  | keys of the metastore: other partitions are not read                 |
| skewed column     | directories of skewed values                                         |
| bucket column     | the hash of each value: other buckets are not read                   |
| any other column  | the least and the greatest value in each file                        |

So these are all columns, and fields of structs, of types whose values can be compared. Collated texts are
not, whose equal values may differ in their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.config import BLOOM_FILTER_COLUMNS, SORT_BY, WRITERS
from parquetry.identifiers import field_path, parse_sorted_by
from parquetry.joins.runtime.cost_model import LIMITS
from parquetry.metastore import TableMetadata

_LAYOUT_SETTINGS = (SORT_BY, BLOOM_FILTER_COLUMNS, *WRITERS)


def filterable(metadata: TableMetadata, read: Sequence[str]) -> list[str]:
    """Return the columns and fields of a scan that runtime filters can prune by.

    Args:
        metadata: the table's metadata.
        read: names of the columns that the scan reads, in any case.

    >>> from parquetry.data_files import TableColumn
    >>> columns = (TableColumn("id", "long"), TableColumn("s", {"type": "struct", "fields": []}), TableColumn("p", "date"))
    >>> filterable(TableMetadata(columns, ("p",), "parquet", "file:/t"), ["ID", "s", "p"])
    ['id', 'p']
    """
    columns = [metadata.column(name) for name in read]
    names = {column.name for column in columns}
    fields = (field for field in metadata.fields if field_path(field.name)[0] in names)
    return [column.name for column in (*columns, *fields) if column.column_type.primitive]


def has_parts(metadata: TableMetadata, files: int, size: int) -> bool:
    """Return whether a scan has several parts, so that values may prune one.

    With a single part Spark would wait without a gain, and could not reuse the same scan elsewhere. The row
    groups of one small file are parts if the table's properties say how files are written.

    Args:
        metadata: the table's metadata.
        files: the number of files that remain without the values.
        size: the bytes that are read of them.
    """
    return files > 1 or size > LIMITS.row_group_bytes or laid_out_within(metadata)


def laid_out_within(metadata: TableMetadata) -> bool:
    """Return whether a table's properties say how files are written, so that row groups may be skipped."""
    return any(name.startswith(_LAYOUT_SETTINGS) for name in metadata.properties)


def sorted_within(metadata: TableMetadata, column: str) -> bool:
    """Return whether rows are sorted by a column, so that row groups may span less of it than files.

    Columns that `sort-by` does not name are not sorted. If the table has no `sort-by` but other properties
    for writing files, a writer may have sorted rows by any column.

    Args:
        metadata: the table's metadata.
        column: the column's name.
    """
    text = metadata.properties.get(SORT_BY)
    if text is None:
        return laid_out_within(metadata)
    try:
        return column.lower() in {path[0].lower() for path in parse_sorted_by(text).paths}
    except ValueError:  # written by an older library; the next write raises the error
        return True
