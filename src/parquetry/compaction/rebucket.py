"""Choose the files to rewrite so that older partitions get the table's buckets.

This is pure planning, as in `compact`. If a table's buckets are changed, only new partitions get the new
buckets, and each partition records its own. Rebucketing makes the older ones follow.
"""

from __future__ import annotations

import msgspec

from parquetry.compaction.compact import Rewrite, select_partitions
from parquetry.data_files import FileRecord
from parquetry.errors import ArrangementError
from parquetry.layout import BucketSpec
from parquetry.metastore import TableSnapshot
from parquetry.progress import Progress, silent


def rebucketing(
    snapshot: TableSnapshot,
    count: int | None = None,
    where: str | None = None,
    progress: Progress = silent,
    zone: str = "UTC",
) -> list[Rewrite]:
    """Return the rewrites that give partitions the table's buckets.

    In a partition that has them already, only files are rewritten whose bucket is not known, or that are not
    sorted.

    Args:
        snapshot: the table's version.
        count: the number of buckets, or None for the number that the table's new partitions get.
        where: a condition on partition columns that selects partitions, or None for all.
        progress: called with the number of partitions done.
        zone: the time zone of the condition's timestamps.

    Raises:
        ArrangementError: the number of buckets is not allowed, or the table has no buckets, and so no bucket
            columns.
        FilterError: the condition cannot be used.
    """
    spec = _spec(snapshot, count)
    rewrites = []
    for done, partition in enumerate(select_partitions(snapshot, where, zone), 1):
        arrangement = msgspec.structs.replace(partition.arrangement, buckets=spec)
        is_so = arrangement == partition.arrangement
        anew: list[FileRecord] = []
        kept: list[FileRecord] = []
        for file in partition.files:
            (kept if is_so and spec.is_in_slot(file, {}, partition.location) else anew).append(file)
        if anew or not is_so:
            rewrites.append(Rewrite(partition, tuple(anew), tuple(kept), arrangement))
        progress("Looking for other buckets", done, snapshot.totals.partitions if where is None else None)
    return rewrites


def _spec(snapshot: TableSnapshot, count: int | None) -> BucketSpec:
    spec = snapshot.metadata.arrangement.buckets
    if spec is None:
        raise ArrangementError(
            f"Table {snapshot.label} has no buckets: say by which columns with ALTER TABLE … CLUSTERED BY (…) INTO … BUCKETS."
        )
    return msgspec.structs.replace(spec, count=spec.count if count is None else count, unsettled=False)
