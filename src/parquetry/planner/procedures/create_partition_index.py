"""`CALL system.create_partition_index`."""

from __future__ import annotations

from typing import Annotated

from parquetry.metastore import create_index
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.index import INDEX_COLUMNS, index_rows, named_columns
from parquetry.planner.procedures.procedure import Arguments, Procedure, Row
from parquetry.progress import progress_bar


class CreatePartitionIndex(Arguments, frozen=True, kw_only=True):
    """See `create_index`."""

    columns: Annotated[list[str | None], "Partition columns; the index is sorted by the first one first."]
    name: Annotated[str | None, "Its name; the default is made of its columns."] = None


def _run(lake: Lake, arguments: CreatePartitionIndex) -> list[Row]:
    table = lake.find(arguments.table)
    with progress_bar() as progress:
        return index_rows(
            lake, create_index(table, named_columns(arguments.columns), arguments.name, progress)
        )


CREATE_PARTITION_INDEX = Procedure(
    "create_partition_index",
    "Makes an index over partition columns, for filters that skip the first.",
    CreatePartitionIndex,
    INDEX_COLUMNS,
    _run,
    changes=True,
)
