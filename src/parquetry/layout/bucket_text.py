"""Buckets as text: the clause that would say them, and the rows of DESCRIBE, called as Hive's."""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.identifiers import part_text
from parquetry.layout.arrangement import BucketSpec
from parquetry.layout.records import Column


def sort_text(buckets: BucketSpec, columns: Sequence[Column]) -> list[str]:
    """Return the columns that buckets are sorted by, under their names of today, with DESC behind those that go down."""
    names = {column.physical: part_text(column.name) for column in columns}
    return [f"{names[each.column]}{' DESC' if each.descending else ''}" for each in buckets.sort]


def clustered_by_text(buckets: BucketSpec, columns: Sequence[Column]) -> str:
    """Return the clause behind its words `CLUSTERED BY` that says buckets, columns under their names of today.

    >>> from parquetry.layout.arrangement import SortColumn
    >>> columns = [Column("X", "integer"), Column("a b", "string")]
    >>> clustered_by_text(BucketSpec(("a b", "X"), 4, sort=(SortColumn("X", True),)), columns)
    '(`a b`, X) SORTED BY (X DESC) INTO 4 BUCKETS'
    """
    names = {column.physical: part_text(column.name) for column in columns}
    order = f" SORTED BY ({', '.join(sort_text(buckets, columns))})" if buckets.sort else ""
    return f"({', '.join(names[name] for name in buckets.columns)}){order} INTO {buckets.count} BUCKETS"


def described_buckets(buckets: BucketSpec, columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Return the names and texts by which DESCRIBE FORMATTED tells buckets, in the order of Hive's.

    Args:
        buckets: of a table or of a partition.
        columns: those of the table's files.

    >>> for name, text in described_buckets(BucketSpec(("x",), 8, 1), [Column("x", "integer")]): print(f"{name}: {text}")
    Num Buckets: 8
    Bucket Columns: [x]
    Sort Columns: []
    bucketing_version: 1
    """
    names = {column.physical: column.name for column in columns}
    return [
        ("Num Buckets", str(buckets.count)),
        ("Bucket Columns", f"[{', '.join(names[name] for name in buckets.columns)}]"),
        ("Sort Columns", f"[{', '.join(sort_text(buckets, columns))}]"),
        ("bucketing_version", str(buckets.version)),
    ]
