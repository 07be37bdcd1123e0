"""`CALL system.drop_partition_index`."""

from __future__ import annotations

from parquetry.metastore import drop_index
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.index import INDEX_COLUMNS, IndexChoice, index_rows
from parquetry.planner.procedures.procedure import Procedure, Row


def _run(lake: Lake, arguments: IndexChoice) -> list[Row]:
    table = lake.find(arguments.table)
    return index_rows(lake, drop_index(table, arguments.index()))


DROP_PARTITION_INDEX = Procedure(
    "drop_partition_index",
    "Drops an index over partition columns.",
    IndexChoice,
    INDEX_COLUMNS,
    _run,
    changes=True,
)
