"""`CALL system.compact_metadata`."""

from __future__ import annotations

from parquetry.metastore import compact_metadata
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Arguments, Procedure, Row
from parquetry.progress import progress_bar


class CompactMetadata(Arguments, frozen=True, kw_only=True):
    """See `compact_metadata`."""


def _run(lake: Lake, arguments: CompactMetadata) -> list[Row]:
    with progress_bar() as progress:
        done = compact_metadata(lake.find(arguments.table), progress)
    return [(done.partitions, done.chunks_before, done.chunks_after)]


COMPACT_METADATA = Procedure(
    "compact_metadata",
    "Rewrites long lists of files, sorted and in full parts. No data file is touched.",
    CompactMetadata,
    (("partitions", "long"), ("chunks_before", "long"), ("chunks_after", "long")),
    _run,
    changes=True,
)
