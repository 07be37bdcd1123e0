"""`CALL system.rebuild_partition_index`."""

from __future__ import annotations

from parquetry.metastore import rebuild_index
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.index import INDEX_COLUMNS, IndexChoice, index_rows
from parquetry.planner.procedures.procedure import Procedure, Row
from parquetry.progress import progress_bar


def _run(lake: Lake, arguments: IndexChoice) -> list[Row]:
    table = lake.find(arguments.table)
    with progress_bar() as progress:
        return index_rows(lake, rebuild_index(table, arguments.index(), progress))


REBUILD_PARTITION_INDEX = Procedure(
    "rebuild_partition_index",
    "Builds an index over partition columns again, while queries use the old one.",
    IndexChoice,
    INDEX_COLUMNS,
    _run,
    changes=True,
)
