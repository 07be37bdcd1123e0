"""The bucketed partitioning that Spark sees of a scan: the buckets that contain all rows of all its files.

A join, an aggregate or a window on the bucket columns then needs no shuffle. Spark sees no buckets if one of
the files is in no known bucket, or if a partition has no buckets or other bucket columns. How joins use the
buckets is Spark's decision, but for their number (`bucket_counts`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import FileColumns, TableColumn
from parquetry.joins.bucket_counts import can_read_as
from parquetry.joins.file_merges import FileMerge, decide_merge
from parquetry.layout import BucketSpec, SortColumn, common
from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.prune import BucketReport, bucket_specs
from parquetry.texts import quantity, size_text
from parquetry.types import type_text


class ScanBuckets(msgspec.Struct, frozen=True):
    """The buckets of a scan.

    Attributes:
        version: of the hash: ``1``, ``2`` or ``spark``.
        count: the number of buckets that Spark sees.
        in_files: the number of buckets that the files have, a divisor of `count`.
        columns: in their hash order. The scan reads all of them.
        order: the columns that each file is sorted by, up to the first that is not read, by their names.
        of_files: the bucket number of each file.
        merge: whether the files of a bucket are merged in this order; None if there is no order, or no bucket
            has several files.
    """

    version: str
    count: int
    in_files: int
    columns: tuple[TableColumn, ...]
    order: tuple[SortColumn, ...]
    of_files: NDArray[np.int64]
    merge: FileMerge | None = None

    def bytes_read_again(self, size: int) -> int:
        """Return how many bytes Spark reads again because it sees more buckets than the files have.

        With 8 buckets for Spark and 4 in the files, Spark reads each file twice, so it reads `size` bytes
        again.
        """
        return (self.count // self.in_files - 1) * size

    def report(self, size: int) -> BucketReport:
        """Return the buckets for a report; `size` is the number of bytes if Spark reads each file once."""
        return BucketReport(
            tuple(column.name for column in self.columns),
            tuple(type_text(column.type) for column in self.columns),
            self.version,
            self.count,
            again=self.bytes_read_again(size),
        )

    def text(self, size: int) -> str:
        """Return the text for EXPLAIN; `size` is the number of bytes if Spark reads each file once."""
        by = ", ".join(column.name for column in self.columns)
        text = f"{quantity(self.in_files, 'bucket')} by {by}"
        if self.order:
            order = ", ".join(each.column + " DESC" * each.descending for each in self.order)
            text = f"{text}, sorted by {order}"
        if self.merge is not None:
            text = f"{text}, {self.merge.text}"
        if self.count > self.in_files:
            text = f"{text}, read as {self.count} ({size_text(self.bytes_read_again(size))} again)"
        return text


def scan_buckets(
    snapshot: TableSnapshot,
    partitions: Sequence[PartitionSnapshot],
    files: FileColumns,
    columns: Sequence[str],
    wanted: int | None = None,
) -> ScanBuckets | None:
    """Return the buckets that contain all rows of a scan, or None if it has none, or not all their columns.

    Args:
        snapshot: of the table.
        partitions: of the files.
        files: that the scan reads.
        columns: that the scan reads.
        wanted: the number of buckets that Spark is to see: a multiple or a divisor of the scan's own number,
            which any other number leaves; None for the own number.
    """
    spec = _common_spec(snapshot, partitions)
    if spec is None:
        return None
    count = wanted if wanted and can_read_as(spec.count, wanted) else spec.count
    in_files = min(spec.count, count)
    in_order = bool(spec.sort)
    of_files = np.zeros(0, np.int64)
    if files.count:
        arranged = files.arranged
        if arranged is None or (arranged[1] < 0).any():
            return None
        of_files = arranged[1] % in_files
        in_order = in_order and bool(arranged[2].all())
    metadata = snapshot.metadata
    names = {metadata.column(name).name for name in columns}
    read = {column.physical: column for column in metadata.data_columns if column.name in names}
    if any(name not in read for name in spec.columns):
        return None
    order = tuple(_order(spec, read)) if in_order else ()
    return ScanBuckets(
        str(spec.version),
        count,
        in_files,
        tuple(read[name] for name in spec.columns),
        order,
        of_files,
        decide_merge(of_files, files.bytes) if order else None,
    )


def _common_spec(snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot]) -> BucketSpec | None:
    if not partitions:  # then a join with an empty table shuffles nothing
        buckets = snapshot.metadata.arrangement.buckets
        return None if buckets is None else common([buckets])
    specs = bucket_specs(snapshot, partitions)
    if specs is None or (specs.numbers < 0).any():
        return None
    return common([specs.distinct[number] for number in np.unique(specs.numbers).tolist()])


def _order(spec: BucketSpec, read: dict[str, TableColumn]) -> list[SortColumn]:
    """Return the columns that files are sorted by, up to the first that is not read."""
    order: list[SortColumn] = []
    for each in spec.sort:
        column = read.get(each.column)
        if column is None:
            break
        order.append(SortColumn(column.name, each.descending))
    return order
