"""`compact`, `rebucket` and `compact_metadata`: rewrite files, or only the lists of them.

ALTER TABLE … CONCATENATE runs `compact`, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

from parquetry import compaction, definition, layout, locations, metastore as ms, texts
from parquetry.exchange import DELTA, ICEBERG, FileCheck
from parquetry.operations.operation import Context, Presentation, TableName, Where, operation
from parquetry.progress import Progress, progress_bar, silent


class RewrittenPartition(NamedTuple):
    """A partition whose files were rewritten. `partition` is None for a table without partition columns."""

    partition: str | None
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int


@operation(
    "Rewrites small files of each partition, bucket and directory of heavy values as fewer files. If heavy "
    "values are measured, the directories follow the values that are heavy by now.",
    changes=True,
    by_engine=True,
)
def compact(
    context: Context,
    table: TableName,
    where: Where = None,
    concatenate: Annotated[
        bool, "Whether the rules of list bucketing apply, as they do for ALTER TABLE … CONCATENATE."
    ] = False,
    for_other_readers: Annotated[
        bool, "Whether files are rewritten, too, that readers of Iceberg and Delta would read otherwise."
    ] = False,
    rewrite_all: Annotated[
        bool, "Whether all files are rewritten, such as after a change of sort-by."
    ] = False,
) -> list[RewrittenPartition]:
    """Rewrite small files; see `compaction.rewrites`."""
    snapshot, zone = context.find(table), "UTC" if where is None else context.time_zone
    with progress_bar() as progress:
        chosen = compaction_rewrites(
            context,
            snapshot,
            where,
            progress,
            zone,
            for_other_readers=for_other_readers,
            rewrite_all=rewrite_all,
        )
        if concatenate:
            partitions = (rewrite.partition for rewrite in chosen)
            definition.require_concatenable(context.full_name(snapshot), snapshot, partitions)
            if where is not None and not chosen:
                compaction.require_selected(snapshot, where, zone)
        return rewrite_partitions(context, snapshot, chosen, "compact", progress)


def compaction_rewrites(
    context: Context,
    snapshot: ms.TableSnapshot,
    where: str | None = None,
    progress: Progress = silent,
    zone: str = "UTC",
    *,
    for_other_readers: bool = False,
    rewrite_all: bool = False,
) -> list[compaction.Rewrite]:
    """Return the partitions with files that are worth rewriting; see `compaction.rewrites`."""
    size = context.engine.target_file_size(snapshot.metadata)
    count = partial(_count, context, snapshot)
    formats = (ICEBERG, DELTA) if for_other_readers else ()
    checks = [FileCheck(snapshot.metadata, each) for each in formats]

    def has_to_change(file: ms.FileRecord) -> bool:
        return rewrite_all or any(check.refusal(file) is not None for check in checks)

    return compaction.rewrites(snapshot, size, where, progress, zone, count, has_to_change)


def _count(
    context: Context,
    snapshot: ms.TableSnapshot,
    files: Sequence[tuple[ms.PartitionSnapshot, Sequence[ms.FileRecord]]],
) -> dict[bytes, layout.Counted]:
    """Return how often values of the skewed columns occur in some files, by the keys of their partitions."""
    measuring = layout.Measuring.from_table(snapshot.metadata.arrangement, snapshot.metadata.columns)
    assert measuring is not None  # else compaction counts nothing
    paths = [locations.join_location(part.location, file.path) for part, some in files for file in some]
    columns = measuring.columns
    # values that have directories keep them while they have at least this part of the share
    share = measuring.auto.share / compaction.WEIGHT_OF_KEPT_VALUES
    counts = context.engine.heavy_values(context.full_name(snapshot), snapshot, None, columns, share, paths)
    return {snapshot.key_of(counted.partition): counted for counted in counts}


@operation(
    "Rewrites partitions whose rows are in other buckets than the table's, or in none.",
    changes=True,
    by_engine=True,
)
def rebucket(
    context: Context,
    table: TableName,
    where: Where = None,
    buckets: Annotated[int | None, "How many buckets; the default is the number for new partitions."] = None,
) -> list[RewrittenPartition]:
    """Give partitions the table's buckets; see `compaction.rebucketing`."""
    snapshot, zone = context.find(table), "UTC" if where is None else context.time_zone
    with progress_bar() as progress:
        chosen = compaction.rebucketing(snapshot, buckets, where, progress, zone)
        if where is not None and not chosen:
            compaction.require_selected(snapshot, where, zone)
        return rewrite_partitions(context, snapshot, chosen, "rebucket", progress)


def rewrite_partitions(
    context: Context,
    snapshot: ms.TableSnapshot,
    chosen: Sequence[compaction.Rewrite],
    operation: str,
    progress: Progress,
    summary: Mapping[str, str] | None = None,
) -> list[RewrittenPartition]:
    """Have the engine rewrite files, if any are chosen; see `OperationEngine.compact`."""
    if not chosen:
        return []
    table = context.full_name(snapshot)
    after = context.cache(context.engine.compact(table, snapshot, chosen, operation, progress, summary))
    rows = []
    for rewrite in chosen:
        before, now = rewrite.partition, after.partition(rewrite.partition.values)
        assert now is not None  # this commit replaced it
        name = snapshot.describe(before.key) if before.values else None
        rows.append(RewrittenPartition(name, before.file_count, now.file_count, before.bytes, now.bytes))
    return rows


def _sentence(_context: Context, records: list[ms.Compacted], _arguments: Mapping[str, Any]) -> str:
    (done,) = records
    if not done.partitions:
        return "All lists of files are as they should be: nothing to do."
    partitions, chunks = (
        texts.quantity(done.partitions, "partition"),
        texts.quantity(done.chunks_before, "part"),
    )
    return f"The lists of {partitions}, which had {chunks}, have {texts.count(done.chunks_after)} now."


@operation(
    "Rewrites long lists of files, sorted and in full parts. No data file is touched.",
    changes=True,
    command=Presentation("Maintain a table", "compact-metadata sales.orders", sentence=_sentence),
)
def compact_metadata(context: Context, table: TableName) -> list[ms.Compacted]:
    """Rewrite a table's long lists of files.

    They become sorted and in full parts, so that plans read less of them. No data file is read or written,
    and no answer changes.
    """
    with progress_bar() as progress:
        return [ms.compact_metadata(context.find(table), progress)]
