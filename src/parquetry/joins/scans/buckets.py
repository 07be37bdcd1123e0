"""The bucketed partitioning that Spark sees of a scan: the buckets that contain the rows of its files.

A join, an aggregate or a window on the bucket columns then needs no shuffle. Some files may be outside: in no
known bucket, or in partitions with no buckets or with other bucket columns than most. Spark itself then sees
no buckets. But a join may read the others in place, and shuffle the files outside alone (`placement`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import UNKNOWN, FileColumns, TableColumn
from parquetry.joins.scans.file_merges import FileMerge, decide_merge
from parquetry.layout import BucketSpec, SortColumn, Version, common
from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.prune import BucketReport, bucket_specs
from parquetry.texts import quantity, size_text
from parquetry.types import type_text

MAX_SPLIT_COUNT = 1024
"""The most buckets of a table whose sizes are sent to the bridge with a scan."""

HOT_FACTOR = 2.0
"""How many times as many rows as the average bucket a hot one has, at least."""


class BucketPlace(msgspec.Struct, frozen=True):
    """The buckets of a scan that is read in place. They do not depend on the scan's files.

    Attributes:
        version: of the hash: ``1``, ``2`` or ``spark``.
        count: the number of buckets that Spark sees.
        held: the number of buckets of each file: `count`, or a divisor of it.
        columns: in their hash order, by the names that the query knows.
    """

    version: str
    count: int
    held: int
    columns: list[str]


class ScanBuckets(msgspec.Struct, frozen=True):
    """The buckets of a scan.

    Attributes:
        version: of the hash: ``1``, ``2`` or ``spark``.
        count: the number of buckets that Spark sees.
        in_files: the number of buckets that the files have, a divisor of `count`.
        columns: in their hash order. The scan reads all of them.
        order: the columns that each file is sorted by, up to the first that is not read, by their names.
        of_files: the bucket number of each file, or -1 if it is outside.
        bytes_outside: of the files outside these buckets.
        merge: whether the files of a bucket are merged in this order; None if there is no order, or no bucket
            has several files, or files are outside.
    """

    version: str
    count: int
    in_files: int
    columns: tuple[TableColumn, ...]
    order: tuple[SortColumn, ...]
    of_files: NDArray[np.int64]
    bytes_outside: int = 0
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
        if self.bytes_outside:
            text = f"{text}, {size_text(self.bytes_outside)} of the files in others or none"
        return text


def scan_buckets(
    snapshot: TableSnapshot,
    partitions: Sequence[PartitionSnapshot],
    files: FileColumns,
    numbers: NDArray[np.int64],
    columns: Sequence[str],
    wanted: int | None = None,
) -> ScanBuckets | None:
    """Return the buckets that contain most rows of a scan, or None if it has none, or not all their columns.

    Args:
        snapshot: of the table.
        partitions: that have files, in the order of the files.
        files: that the scan reads.
        numbers: the index of each file's partition.
        columns: that the scan reads.
        wanted: the number of buckets that Spark is to see: a multiple or a divisor of the scan's own number,
            which any other number leaves; None for the own number.
    """
    arranged = files.arranged
    bytes_of = np.bincount(numbers, files.bytes, len(partitions)).astype(np.float64)
    found = _most_common_spec(snapshot, partitions, bytes_of)
    if found is None or (files.count and (arranged is None or (arranged[1] < 0).all())):
        return None
    spec, inside = found
    count = wanted if wanted and can_read_as(spec.count, wanted) else spec.count
    place = BucketPlace(str(spec.version), count, min(spec.count, count), list(spec.columns))
    return _placed(snapshot, spec, place, files, inside[numbers], columns)


def buckets_in_place(
    snapshot: TableSnapshot,
    partitions: Sequence[PartitionSnapshot],
    files: FileColumns,
    numbers: NDArray[np.int64],
    columns: Sequence[str],
    place: BucketPlace,
) -> ScanBuckets | None:
    """Return the buckets that a scan is read in place in. All files may be outside.

    A plan has such a scan before runtime values have come. What is in place must not depend on the files that
    these leave.

    Args:
        snapshot: of the table.
        partitions: that have files, in the order of the files.
        files: that the scan reads.
        numbers: the index of each file's partition.
        columns: that the scan reads.
        place: the buckets.
    """
    names = [snapshot.metadata.column(name).physical for name in place.columns]
    spec = BucketSpec(tuple(names), place.held, _version(place.version))
    records = bucket_specs(snapshot, partitions)
    inside = np.zeros(files.count, np.bool_)
    if records is not None:
        fits = np.array(
            [
                not each.unsettled
                and (each.columns, each.version) == (spec.columns, spec.version)
                and each.count % place.held == 0
                for each in records.distinct
            ]
            + [False],
            np.bool_,
        )
        inside = fits[records.numbers][numbers]
    return _placed(snapshot, spec, place, files, inside, columns)


def _version(text: str) -> Version:
    return "spark" if text == "spark" else 2 if text == "2" else 1


def _placed(
    snapshot: TableSnapshot,
    spec: BucketSpec,
    place: BucketPlace,
    files: FileColumns,
    inside: NDArray[np.bool_],
    columns: Sequence[str],
) -> ScanBuckets | None:
    """Return the buckets of a scan, or None if not all bucket columns are read.

    Args:
        snapshot: of the table.
        spec: the columns, hash and order of the buckets.
        place: their numbers.
        files: that the scan reads.
        inside: whether each file's partition is in these buckets.
        columns: that the scan reads.
    """
    arranged = files.arranged
    of_files = np.full(files.count, -1, np.int64)
    in_order = bool(spec.sort)
    if arranged is not None:
        of_files = np.where(inside & (arranged[1] >= 0), arranged[1] % place.held, -1)
        in_order = in_order and bool(arranged[2][of_files >= 0].all())
    read = _columns_read(snapshot, columns)
    if any(name not in read for name in spec.columns):
        return None
    by = tuple(read[name] for name in spec.columns)
    order = tuple(_order(spec, read)) if in_order else ()
    outside = int(files.bytes[of_files < 0].sum())
    merge = decide_merge(of_files, files.bytes) if order and (of_files >= 0).all() else None
    return ScanBuckets(place.version, place.count, place.held, by, order, of_files, outside, merge)


def _columns_read(snapshot: TableSnapshot, columns: Sequence[str]) -> dict[str, TableColumn]:
    """Return the data columns that a scan reads, by their physical names."""
    metadata = snapshot.metadata
    names = {metadata.column(name).name for name in columns}
    return {column.physical: column for column in metadata.data_columns if column.name in names}


def _most_common_spec(
    snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot], bytes_of: NDArray[np.float64]
) -> tuple[BucketSpec, NDArray[np.bool_]] | None:
    """Return the buckets that most bytes are in, and the partitions that are in these, or None if none are.

    Partitions with other numbers of the same buckets are in these, too, if the numbers have a common divisor.

    Args:
        snapshot: of the table.
        partitions: that have files.
        bytes_of: the size of each partition's files.
    """
    if not partitions:  # then a join with an empty table shuffles nothing
        buckets = snapshot.metadata.arrangement.buckets
        shared = None if buckets is None else common([buckets])
        return None if shared is None else (shared, np.zeros(0, np.bool_))
    records = bucket_specs(snapshot, partitions)
    if records is None:
        return None
    sizes = {
        number: float(bytes_of[records.numbers == number].sum())
        for number in np.unique(records.numbers[records.numbers >= 0]).tolist()
    }
    members: list[int] = []
    spec: BucketSpec | None = None
    for number in sorted(sizes, key=lambda each: -sizes[each]):
        together = common([records.distinct[each] for each in (*members, number)])
        if together is not None:
            members, spec = [*members, number], together
    return None if spec is None else (spec, np.isin(records.numbers, members))


def _order(spec: BucketSpec, read: dict[str, TableColumn]) -> list[SortColumn]:
    """Return the columns that files are sorted by, up to the first that is not read."""
    order: list[SortColumn] = []
    for each in spec.sort:
        column = read.get(each.column)
        if column is None:
            break
        order.append(SortColumn(column.name, each.descending))
    return order


class BucketSizes(msgspec.Struct, frozen=True):
    """The rows, bytes and files of each bucket of a scan."""

    rows: list[int]
    bytes: list[int]
    files: list[int]

    def is_hot(self, bucket: int, least: int) -> bool:
        """Return whether a bucket has far more rows than the average, and at least so many."""
        rows = self.rows[bucket]
        return rows >= max(least, 1) and rows * len(self.rows) > HOT_FACTOR * sum(self.rows)

    def hot_buckets(self, least: int) -> list[int]:
        """Return the buckets that are hot, the largest first."""
        hot = [bucket for bucket in range(len(self.rows)) if self.is_hot(bucket, least)]
        return sorted(hot, key=lambda bucket: -self.rows[bucket])


def bucket_sizes(
    of_files: NDArray[np.int64], rows: NDArray[np.int64], sizes: NDArray[np.int64], count: int
) -> BucketSizes | None:
    """Return the sizes of a scan's buckets, or None if rows of a file are unknown or there are many buckets.

    Args:
        of_files: the bucket of each file.
        rows: of each file, or UNKNOWN.
        sizes: the bytes of each file.
        count: the number of buckets.

    >>> bucket_sizes(np.array([0, 2, 0]), np.array([5, 6, 7]), np.array([50, 60, 70]), 3)
    BucketSizes(rows=[12, 0, 6], bytes=[120, 0, 60], files=[2, 0, 1])
    """
    if not 1 < count <= MAX_SPLIT_COUNT or (rows == UNKNOWN).any():
        return None
    summed = [np.bincount(of_files, values, count).astype(np.int64).tolist() for values in (rows, sizes)]
    return BucketSizes(summed[0], summed[1], np.bincount(of_files, minlength=count).tolist())


def can_read_as(count: int, wanted: int) -> bool:
    """Return whether files of a number of buckets can be read as another number of buckets.

    >>> can_read_as(4, 8), can_read_as(4, 2), can_read_as(4, 6)
    (True, True, False)
    """
    return wanted % count == 0 or count % wanted == 0
