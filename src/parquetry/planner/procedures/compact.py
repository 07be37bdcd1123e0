"""`CALL system.compact`, and ALTER TABLE … CONCATENATE, which gives the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from parquetry.compaction import WEIGHT_OF_KEPT_VALUES, Rewrite, require_selected, rewrites
from parquetry.data_files import FileRecord
from parquetry.definition import require_concatenable
from parquetry.layout import Counted, skewed_columns
from parquetry.locations import join_location
from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Arguments, Procedure, Row
from parquetry.progress import Progress, progress_bar


class Compact(Arguments, frozen=True, kw_only=True):
    """See `rewrites`."""

    where: Annotated[str | None, "A condition on partition columns: only these partitions."] = None
    concatenate: Annotated[
        bool, "Whether the rules of list bucketing apply, as they do for ALTER TABLE … CONCATENATE."
    ] = False


def _run(lake: Lake, arguments: Compact) -> list[Row]:
    snapshot = lake.find(arguments.table)
    zone = "UTC" if arguments.where is None else lake.engine.time_zone
    with progress_bar() as progress:
        size = lake.engine.target_file_size(snapshot.metadata)
        chosen = rewrites(snapshot, size, arguments.where, progress, zone, partial(_counted, lake, snapshot))
        if arguments.concatenate:
            require_concatenable(lake.full_name(snapshot), snapshot, (each.partition for each in chosen))
            if arguments.where is not None and not chosen:
                require_selected(snapshot, arguments.where, zone)
        if not chosen:
            return []
        return rewritten(lake, snapshot, chosen, "compact", progress)


def _counted(
    lake: Lake, snapshot: TableSnapshot, files: Sequence[tuple[PartitionSnapshot, Sequence[FileRecord]]]
) -> dict[bytes, Counted]:
    """Return how often values of the skewed columns occur in some files, by the keys of their partitions."""
    skew = snapshot.metadata.arrangement.skew
    assert skew is not None
    assert skew.auto is not None
    paths = [join_location(part.location, file.path) for part, some in files for file in some]
    columns = skewed_columns(snapshot.metadata.columns, skew)
    # values that have directories keep them while they have at least this part of the share
    share = skew.auto.share / WEIGHT_OF_KEPT_VALUES
    counted = lake.engine.heavy_values(lake.full_name(snapshot), snapshot, None, columns, share, paths)
    return {snapshot.key_of(each.partition): each for each in counted}


def rewritten(
    lake: Lake, snapshot: TableSnapshot, chosen: Sequence[Rewrite], operation: str, progress: Progress
) -> list[Row]:
    """Have the engine rewrite files, and return a row with `COLUMNS` for each partition."""
    after = lake.cache(lake.engine.compact(lake.full_name(snapshot), snapshot, chosen, operation, progress))
    rows: list[Row] = []
    for each in chosen:
        before, now = each.partition, after.partition(each.partition.values)
        assert now is not None  # this commit replaced it
        name = snapshot.describe(before.key) if before.values else None
        rows.append((name, before.file_count, now.file_count, before.bytes, now.bytes))
    return rows


COLUMNS = (
    ("partition", "string"),
    ("files_before", "long"),
    ("files_after", "long"),
    ("bytes_before", "long"),
    ("bytes_after", "long"),
)
COMPACT = Procedure(
    "compact",
    "Rewrites small files of each partition, bucket and directory of heavy values as fewer files. If heavy "
    "values are measured, the directories follow the values that are heavy by now.",
    Compact,
    COLUMNS,
    _run,
    by_engine=True,
    changes=True,
)
