"""Which columns of a scan values that a join finds at run time can narrow.

    partition columns       by the keys of the metastore: other partitions are not read
    skewed columns          by the directories of heavy values
    bucket columns          each value is hashed, other buckets are left out
    any other column        by the least and greatest value of each file

So it is every column of a type of which values can be compared. A field within a column is none, and of a collated text
equal values are not known by their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.config import BLOOM_FILTER_COLUMNS, SORT_BY, WRITERS
from parquetry.identifiers import parse_paths
from parquetry.metastore.storage import TableMetadata
from parquetry.prune.runtime.cost_model import LIMITS

_LAYOUT_SETTINGS = (SORT_BY, BLOOM_FILTER_COLUMNS, *WRITERS)


def filterable(metadata: TableMetadata, read: Sequence[str]) -> list[str]:
    """Return the columns that values found at run time can narrow, of those that are read.

    Args:
        metadata: of the table.
        read: names of the columns that the scan reads, in any letter case.

    >>> from parquetry.data_files import TableColumn
    >>> columns = (TableColumn("id", "long"), TableColumn("s", {"type": "struct", "fields": []}), TableColumn("p", "date"))
    >>> filterable(TableMetadata(columns, ("p",), "parquet", "file:/t"), ["ID", "s", "p"])
    ['id', 'p']
    """
    columns = (metadata.column(name) for name in read)
    return [column.name for column in columns if column.column_type.primitive]


def has_parts(metadata: TableMetadata, files: int, size: int) -> bool:
    """Return whether values may leave a part out: for all else Spark would wait for nothing, and read twice what it could share.

    Row groups of one small file are parts if its table says how files are to be laid out within.

    Args:
        metadata: of the table.
        files: how many are left without the values.
        size: bytes that are read of them.
    """
    return files > 1 or size > LIMITS.row_group_bytes or laid_out_within(metadata)


def laid_out_within(metadata: TableMetadata) -> bool:
    """Return whether a table says how files are to be laid out within, so that row groups of one may be left out."""
    return any(name.startswith(_LAYOUT_SETTINGS) for name in metadata.properties)


def sorted_within(metadata: TableMetadata, column: str) -> bool:
    """Return whether row groups may span less of a column than their file does, as rows lie in its order.

    Columns that `sort-by` does not name lie in no order. If the table has none, and says more of how its files are written,
    whoever wrote them may have sorted rows by any.

    Args:
        metadata: of the table.
        column: its name.
    """
    text = metadata.properties.get(SORT_BY)
    if text is None:
        return laid_out_within(metadata)
    try:
        return column.lower() in {path[0].lower() for path in parse_paths(text)}
    except ValueError:  # of an older library; a write says so
        return True
