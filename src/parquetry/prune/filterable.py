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

from parquetry.metastore.model import TableMetadata


def filterable(metadata: TableMetadata, read: Sequence[str]) -> list[str]:
    """Return the columns that values found at run time can narrow, of those that are read.

    Args:
        metadata: of the table.
        read: names of the columns that the scan reads, in any letter case.

    >>> from parquetry.metastore.model import Column
    >>> columns = (Column("id", "long"), Column("s", {"type": "struct", "fields": []}), Column("p", "date"))
    >>> filterable(TableMetadata(columns, ("p",), "parquet", "file:/t"), ["ID", "s", "p"])
    ['id', 'p']
    """
    columns = (metadata.column(name) for name in read)
    return [column.name for column in columns if column.column_type.primitive]
