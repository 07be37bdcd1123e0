"""Hive's CLUSTERED BY clause for the columns of a table: read it, and check its columns.

A bucket column needs a hash, and a sort column an order. Names of columns match in any letter case. A bucket
column is stored in the files: a partition column has only one value in each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parquetry.data_files import TableColumn
from parquetry.ddl import ClusteredBy
from parquetry.errors import BucketError, NotBucketedError, UnsupportedError
from parquetry.identifiers import part_text
from parquetry.layout import MAX_BUCKETS, BucketSpec, SortColumn, Version
from parquetry.metastore import TableMetadata
from parquetry.types import names_within, type_from_json, type_text


def bucket_spec(
    clause: ClusteredBy, columns: Sequence[TableColumn], version: Version, now: BucketSpec | None = None
) -> BucketSpec:
    """Return the buckets that a clause defines.

    Args:
        clause: as it was parsed.
        columns: of the table's files.
        version: of the hash.
        now: the table's buckets, if the clause changes only a part of them.

    Raises:
        BucketError: a column is not in the files, is named twice, or cannot be hashed or sorted by; or the
            number of buckets is out of bounds.
        NotBucketedError: the clause changes a part of the buckets, and the table has none.

    >>> from parquetry.ddl import parse_clustered_by
    >>> columns = [TableColumn("X", "integer"), TableColumn("s", "string")]
    >>> now = bucket_spec(parse_clustered_by("(x) SORTED BY (S DESC) INTO 4 BUCKETS"), columns, 2)
    >>> now.columns, now.sort[0].column, bucket_spec(parse_clustered_by("INTO 8 BUCKETS"), columns, 2, now).count
    (('X',), 's', 8)
    """
    if clause.columns is None and now is None:
        raise NotBucketedError(
            "The table is not bucketed, so its number of buckets and their order cannot be changed: say CLUSTERED BY (…) "
            "INTO … BUCKETS first."
        )
    if clause.count is not None and not 1 <= clause.count <= MAX_BUCKETS:
        raise BucketError(f"INTO {clause.count} BUCKETS: give a number of buckets from 1 to {MAX_BUCKETS}.")
    names: tuple[str, ...] = () if now is None else now.columns
    order: tuple[SortColumn, ...] = () if now is None else now.sort
    if clause.columns is not None:
        names = _physical("CLUSTERED BY", clause.columns, columns)
    if clause.sorted_by is not None:
        sort_by = _physical("SORTED BY", [name for name, _ in clause.sorted_by], columns)
        downwards = (descending for _, descending in clause.sorted_by)
        order = tuple(SortColumn(name, down) for name, down in zip(sort_by, downwards, strict=True))
    count = clause.count if clause.count is not None else now.count if now is not None else 1
    buckets = BucketSpec(names, count, version, order)
    require_hashable(buckets, columns)
    by_physical = {column.physical: column for column in columns}
    for each in buckets.sort:
        column = by_physical[each.column]
        if not has_order(column.type):
            raise BucketError(
                f"Column {column.name} is of type {type_text(column.type)}, whose values have no order: leave it out of "
                "SORTED BY."
            )
    return buckets


def has_order(type: Any) -> bool:
    """Return whether the values of a type, in Spark's JSON, have an order."""
    return all(type_from_json(name).facts.ordered for name in names_within(type))


def require_hashable(buckets: BucketSpec, columns: Sequence[TableColumn]) -> None:
    """Make sure that the bucket columns can be hashed in the version of the hash.

    Raises:
        BucketError: a column cannot be hashed.
    """
    from parquetry.hashing import HashType  # imported here, as it needs PyArrow

    by_physical = {column.physical: column for column in columns}
    for name in buckets.columns:
        column = by_physical[name]
        shown = f"Column {column.name} is of type {type_text(column.type)}"
        try:
            HashType.from_column_type(column.column_type)
        except UnsupportedError:
            raise BucketError(
                f"{shown}, which cannot be hashed into buckets: name another column in CLUSTERED BY."
            ) from None
        if "void" in names_within(column.type):
            raise BucketError(f"{shown}, which holds no values: name another column in CLUSTERED BY.")
        if buckets.version == "spark" and "map" in names_within(column.type):
            raise BucketError(
                f"{shown}, and Spark makes no buckets by maps: name another column in CLUSTERED BY, or set "
                "'bucketing-version' = '2'."
            )


def _physical(clause: str, names: Sequence[str], columns: Sequence[TableColumn]) -> tuple[str, ...]:
    """Return the names that columns have in the files."""
    if not names and clause == "CLUSTERED BY":
        raise BucketError("CLUSTERED BY names no column: name one or more.")
    by_name = {column.name.lower(): column for column in columns}
    seen: set[str] = set()
    for name in names:
        if name.lower() not in by_name:
            known = ", ".join(part_text(column.name) for column in columns)
            raise BucketError(
                f"{clause} names {part_text(name)}, which is none of the columns in the files: these are {known}; partition "
                "columns cannot be named."
            )
        if name.lower() in seen:
            raise BucketError(f"{clause} names the column {part_text(name)} twice: name it once.")
        seen.add(name.lower())
    return tuple(by_name[name.lower()].physical for name in names)


def bucket_transform(metadata: TableMetadata) -> tuple[list[str], int, list[str]] | None:
    """Return the buckets as Spark's transform `bucket`: the columns, the count, and the sort columns.

    It has no descending order. It is None for a table without buckets.
    """
    buckets = metadata.arrangement.buckets
    if buckets is None:
        return None
    names = {column.physical: column.name for column in metadata.columns}
    sort = () if any(each.descending for each in buckets.sort) else buckets.sort
    return [names[name] for name in buckets.columns], buckets.count, [names[each.column] for each in sort]
