"""Misplaced rows of bucketed tables, for tests: Arrow reads and hashes each file, without Spark."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc
import pyarrow.parquet

from parquetry import metastore as ms
from parquetry.hashing.bucket_hash import bucket_ids
from parquetry.layout.part import SortColumn
from parquetry.locations.file_names import bucket_from_name, is_own
from parquetry.locations.uri import join_location
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.transactions.transaction import Transaction


def file_table(table: ms.TableSnapshot, part: ms.PartitionSnapshot, file: ms.FileRecord) -> pa.Table:
    """Return the rows of a file, read alone, by the physical names of the columns."""
    path = join_location(part.location, file.path).removeprefix("file:")
    if table.metadata.format == "orc":
        return pyarrow.orc.read_table(path)
    return pyarrow.parquet.read_table(path, partitioning=None)


def misplaced(table: ms.TableSnapshot) -> Iterator[str]:
    """Yield errors about where rows are: the record or the name of a file, its rows' buckets, their order."""
    types = {column.physical: column.column_type for column in table.metadata.columns}
    for part in table.partitions():
        spec = part.arrangement.buckets
        for file in part.files:
            if not is_own(file.path, table.id):
                yield f"{file.path} is not known as one of the table's own"
            if spec is None:
                if file.bucket is not None or file.sorted or bucket_from_name(file.path) is not None:
                    yield f"{file.path} is of bucket {file.bucket}, sorted {file.sorted}, and there are none"
                continue
            if file.bucket is None or bucket_from_name(file.path) != file.bucket:
                yield f"{file.path} is recorded as of bucket {file.bucket}"
            if file.sorted != bool(spec.sort):
                yield f"{file.path} is recorded as sorted {file.sorted}"
            rows = file_table(table, part, file)
            if rows.num_rows != file.rows:
                yield f"{file.path} has {rows.num_rows} rows, and is recorded with {file.rows}"
            if not rows.num_rows:
                continue
            found = bucket_ids(
                spec.version,
                spec.count,
                [settled(rows[name]) for name in spec.columns],
                [types[name] for name in spec.columns],
            )
            wrong = [i for i, bucket in enumerate(found.tolist()) if bucket != file.bucket]
            for i in wrong[:3]:
                values = [rows[name][i] for name in spec.columns]
                yield f"{file.path} holds {values}, which are of bucket {found[i]}"
            if not in_order(rows, spec.sort):
                yield f"{file.path} is not sorted by {spec.sort}"


def settled(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values whose equals are hashed alike: -0.0 becomes 0.0, also within structs and arrays."""
    return pa.chunked_array([_settled(chunk) for chunk in values.chunks], values.type)


def _settled(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_floating(kind):
        return pc.if_else(pc.equal(values, 0.0), pa.scalar(0.0, kind), values)
    if pa.types.is_struct(kind):
        fields = [_settled(values.field(i)) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=values.is_null())
    if pa.types.is_list(kind):
        offsets, inner = values.offsets, _settled(values.values)
        return pa.ListArray.from_arrays(offsets, inner, kind, mask=values.is_null())
    return values  # a map: no maps are equal


def in_order(rows: pa.Table, sort: Sequence[SortColumn]) -> bool:
    """Return whether rows are in an order: ascending with NULL first, descending with NULL last.

    NaN is above all numbers.
    """
    columns = [(rows[each.column].to_pylist(), each.descending) for each in sort]
    keys = [tuple(values[i] for values, _ in columns) for i in range(rows.num_rows)]

    def compared(one: tuple[Any, ...], other: tuple[Any, ...]) -> int:
        for left, right, (_, descending) in zip(one, other, columns, strict=True):
            first, second = _rank(left), _rank(right)
            if first != second:
                return (-1 if first < second else 1) * (-1 if descending else 1)
        return 0

    return all(compared(one, other) <= 0 for one, other in itertools.pairwise(keys))


@functools.singledispatch
def _rank(value: Any) -> tuple[Any, ...]:
    return (1, value)


@_rank.register
def _(value: None) -> tuple[Any, ...]:
    return (0,)


@_rank.register
def _(value: float) -> tuple[Any, ...]:
    return (2,) if value != value else (1, value)


@_rank.register
def _(value: str) -> tuple[Any, ...]:
    return (1, value.encode())


def files_by_bucket(table: ms.TableSnapshot) -> dict[tuple[Any, ...], Counter[int | None]]:
    """Return how many files each partition has of each bucket, by the partition's values."""
    return {part.values: Counter(file.bucket for file in part.files) for part in table.partitions()}


def set_arrangement(metastore: ms.Metastore, name: str, arrangement: ms.ArrangementSpec) -> None:
    """Set how the rows of a table's partitions are arranged that are made from now on.

    Args:
        metastore: that has the table.
        name: ``database.table``.
        arrangement: from now on.
    """
    table = metastore.table(*name.split("."))
    transaction = Transaction(table, "arrange")
    metadata = table.metadata
    properties = {**metadata.properties, "list-bucketing-rules": "relaxed"}
    transaction.set_metadata(
        msgspec.structs.replace(metadata, arrangement=arrangement, properties=properties)
    )
    commit(transaction)
