"""What Spark is told of the buckets of a scan: those that all rows of all files it reads lie in.

A join, an aggregate or a window on the bucket columns then needs no shuffle. Nothing is told where it is not true of all
files: one in no known bucket, a partition without buckets or by other columns. How joins use it is Spark's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquetry.config import BUCKET_JOIN, settle
from parquetry.data_files import FileColumns, TableColumn
from parquetry.layout import BucketSpec, common
from parquetry.metastore.versions import PartitionSnapshot, TableSnapshot
from parquetry.planner.protocol import answers, questions
from parquetry.prune.report import BucketReport
from parquetry.prune.rules import bucket_specs
from parquetry.texts import size_text
from parquetry.types import type_text


class ScanBuckets(NamedTuple):
    """Buckets of a scan: what Spark is told of all, and of each file the number of its own."""

    reported: answers.ReportedBuckets
    of_files: NDArray[np.int64]

    def again(self, size: int) -> int:
        """Return how many bytes are read again, of as many as are read once, for Spark to have more buckets than there are."""
        return (self.reported.count // self.reported.held - 1) * size

    def report(self, size: int) -> BucketReport:
        """Return what a report tells of them; the size is how many bytes are read once."""
        return BucketReport(
            tuple(self.reported.columns),
            tuple(map(type_text, self.reported.types)),
            self.reported.version,
            self.reported.count,
            again=self.again(size),
        )

    def text(self, size: int) -> str:
        """Return what EXPLAIN shows; the size is how many bytes are read once."""
        text = f"{self.reported.held} buckets by {', '.join(self.reported.columns)}"
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
    """Return the buckets that all rows of a scan lie in; None: there are none, or their columns are not all read.

    Args:
        snapshot: of the table.
        q: the question, whose `buckets` may want a multiple of their number, or a divisor.
        partitions: that the files are of.
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
    if not partitions:  # of no rows everything is true: a join with an empty table shuffles nothing
        buckets = snapshot.metadata.arrangement.buckets
        return None if buckets is None else common([buckets])
    specs = bucket_specs(snapshot, partitions)
    if specs is None or (specs.numbers < 0).any():
        return None
    return common([specs.distinct[number] for number in np.unique(specs.numbers).tolist()])


def _order(spec: BucketSpec, read: dict[str, TableColumn]) -> list[answers.SortOrder]:
    """Return by which columns files are sorted, up to the first that is not read."""
    order: list[answers.SortOrder] = []
    for each in spec.sort:
        column: Any = read.get(each.column)
        if column is None:
            break
        order.append(answers.SortOrder(column.name, each.descending))
    return order
