"""The bucketed partitioning that Spark sees of a scan: the buckets that contain all rows of all its files.

A join, an aggregate or a window on the bucket columns then needs no shuffle. Spark sees no buckets if one of
the files is in no known bucket, or if a partition has no buckets or other bucket columns. How joins use the
buckets is Spark's decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquetry.config import BUCKET_JOIN, settle
from parquetry.data_files import FileColumns, TableColumn
from parquetry.layout import BucketSpec, common
from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.planner.protocol import answers, questions
from parquetry.prune import BucketReport, bucket_specs
from parquetry.texts import quantity, size_text
from parquetry.types import type_text


class ScanBuckets(NamedTuple):
    """Buckets of a scan: the description for Spark, and the bucket number of each file."""

    reported: answers.ReportedBuckets
    of_files: NDArray[np.int64]

    def again(self, size: int) -> int:
        """Return how many bytes Spark reads again because it sees more buckets than the files have.

        With 8 buckets for Spark and 4 in the files, Spark reads each file twice, so it reads `size` bytes
        again.
        """
        return (self.reported.count // self.reported.held - 1) * size

    def report(self, size: int) -> BucketReport:
        """Return the buckets for a report; `size` is the number of bytes if Spark reads each file once."""
        return BucketReport(
            tuple(self.reported.columns),
            tuple(map(type_text, self.reported.types)),
            self.reported.version,
            self.reported.count,
            again=self.again(size),
        )

    def text(self, size: int) -> str:
        """Return the text for EXPLAIN; `size` is the number of bytes if Spark reads each file once."""
        text = f"{quantity(self.reported.held, 'bucket')} by {', '.join(self.reported.columns)}"
        if self.reported.order:
            order = ", ".join(each.column + " DESC" * each.descending for each in self.reported.order)
            text = f"{text}, sorted by {order}"
        if self.reported.count > self.reported.held:
            text = f"{text}, read as {self.reported.count} ({size_text(self.again(size))} again)"
        return text


def scan_buckets(
    snapshot: TableSnapshot,
    q: questions.PlanScan,
    partitions: Sequence[PartitionSnapshot],
    files: FileColumns,
) -> ScanBuckets | None:
    """Return the buckets that contain all rows of a scan, or None if it has none, or not all their columns.

    Args:
        snapshot: of the table.
        q: the question. Its `buckets` may be a multiple of the number of buckets, or a divisor.
        partitions: of the files.
        files: that the scan reads.

    Raises:
        ConfigurationError: a setting of the session cannot be used.
        PropertyError: a table property or an option of the read cannot be used.
    """
    spec = _common_spec(snapshot, partitions)
    if spec is None:
        return None
    wanted = q.buckets or spec.count
    count = wanted if wanted % spec.count == 0 or spec.count % wanted == 0 else spec.count
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
    read = {metadata.column(name).name for name in q.columns}
    physical = {column.physical: column for column in metadata.data_columns if column.name in read}
    if any(name not in physical for name in spec.columns):
        return None
    columns = [physical[name] for name in spec.columns]
    settings = settle(q.read_options, q.settings, metadata.properties, names_checked=False)
    reported = answers.ReportedBuckets(
        version=str(spec.version),
        count=count,
        held=in_files,
        columns=[column.name for column in columns],
        types=[column.type for column in columns],
        order=_order(spec, physical) if in_order else [],
        larger=settings[BUCKET_JOIN] == "larger",
    )
    return ScanBuckets(reported, of_files)


def _common_spec(snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot]) -> BucketSpec | None:
    if not partitions:  # then a join with an empty table shuffles nothing
        buckets = snapshot.metadata.arrangement.buckets
        return None if buckets is None else common([buckets])
    specs = bucket_specs(snapshot, partitions)
    if specs is None or (specs.numbers < 0).any():
        return None
    return common([specs.distinct[number] for number in np.unique(specs.numbers).tolist()])


def _order(spec: BucketSpec, read: dict[str, TableColumn]) -> list[answers.SortOrder]:
    """Return the columns that files are sorted by, up to the first that is not read."""
    order: list[answers.SortOrder] = []
    for each in spec.sort:
        column: Any = read.get(each.column)
        if column is None:
            break
        order.append(answers.SortOrder(column.name, each.descending))
    return order
