"""Which files of a table are written anew for its rows to lie in other buckets: those of partitions arranged otherwise.

Pure planning, as in `compact`. A change of a table's buckets holds for partitions made from then on, and each remembers its
own; here the others follow.
"""

from __future__ import annotations

import msgspec

from parquetry.data_files import FileRecord
from parquetry.errors import ArrangementError
from parquetry.layout import BucketSpec
from parquetry.maintenance.compaction.compact import Rewrite, in_bucket, selected_partitions
from parquetry.metastore.versions import TableSnapshot
from parquetry.progress import Progress, silent


def rebucketing(
    snapshot: TableSnapshot,
    count: int | None = None,
    where: str | None = None,
    progress: Progress = silent,
    zone: str = "UTC",
) -> list[Rewrite]:
    """Return what is to be written anew for partitions to have the table's buckets.

    Partitions that have them already are left alone, save files whose bucket is not known, or that are not sorted.

    Args:
        snapshot: of the table.
        count: of the buckets; None: as many as the table's partitions get from now on.
        where: a condition on partition columns: only these partitions; None: all.
        progress: called with how many partitions have been looked at.
        zone: the time zone of the condition's timestamps.

    Raises:
        ArrangementError: there cannot be so many buckets, or the table has none, so nothing says by which columns.
        FilterError: the condition cannot be used.
    """
    spec = _spec(snapshot, count)
    found = []
    for done, partition in enumerate(selected_partitions(snapshot, where, zone), 1):
        arrangement = msgspec.structs.replace(partition.arrangement, buckets=spec)
        is_so = arrangement == partition.arrangement
        anew: list[FileRecord] = []
        kept: list[FileRecord] = []
        for file in partition.files:
            (kept if is_so and in_bucket(file, spec) else anew).append(file)
        if anew or not is_so:
            found.append(Rewrite(partition, tuple(anew), tuple(kept), arrangement))
        progress("Looking for other buckets", done, snapshot.totals.partitions if where is None else None)
    return found


def _spec(snapshot: TableSnapshot, count: int | None) -> BucketSpec:
    spec = snapshot.metadata.arrangement.buckets
    if spec is None:
        raise ArrangementError(
            f"Table {snapshot.label} has no buckets: say by which columns with ALTER TABLE … CLUSTERED BY (…) INTO … BUCKETS."
        )
    return msgspec.structs.replace(spec, count=spec.count if count is None else count, unsettled=False)
