"""`CALL system.rebucket`: partitions get the table's buckets."""

from __future__ import annotations

from typing import Annotated

from parquetry.compaction import rebucketing, require_selected
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.compact import COLUMNS, rewritten
from parquetry.planner.procedures.procedure import Arguments, Procedure, Row
from parquetry.progress import progress_bar


class Rebucket(Arguments, frozen=True, kw_only=True):
    """See `rebucketing`."""

    where: Annotated[str | None, "A condition on partition columns: only these partitions."] = None
    buckets: Annotated[int | None, "How many buckets; the default is the number for new partitions."] = None


def _run(lake: Lake, arguments: Rebucket) -> list[Row]:
    snapshot = lake.find(arguments.table)
    zone = "UTC" if arguments.where is None else lake.engine.time_zone
    with progress_bar() as progress:
        found = rebucketing(snapshot, arguments.buckets, arguments.where, progress, zone)
        if not found:
            if arguments.where is not None:
                require_selected(snapshot, arguments.where, zone)
            return []
        return rewritten(lake, snapshot, found, "rebucket", progress)


REBUCKET = Procedure(
    "rebucket",
    "Rewrites partitions whose rows are in other buckets than the table's, or in none.",
    Rebucket,
    COLUMNS,
    _run,
    by_engine=True,
    changes=True,
)
