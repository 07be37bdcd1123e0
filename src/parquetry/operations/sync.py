"""`sync`, and MSCK REPAIR TABLE, which gives the same rows."""

from __future__ import annotations

from typing import Annotated

from parquetry import adoption, data_files
from parquetry.operations.operation import Context, DryRun, Option, Presentation, TableName, Where, operation
from parquetry.progress import progress_bar


@operation(
    "Makes a table agree with the files below its location.",
    changes=True,
    command=Presentation(
        "Maintain a table",
        "sync sales.orders \"day >= '2026-03-01'\" --dry-run",
        empty="The table and the files agree.",
    ),
)
def sync(
    context: Context,
    table: TableName,
    where: Where = None,
    dry_run: DryRun = False,
    readopt: Annotated[bool, "Whether to adopt files again that commits removed on purpose."] = False,
    buckets: Annotated[bool, "Whether to check files again whose buckets were refused before."] = False,
    time_zone: Annotated[
        str | None,
        "The time zone of directories that are named for timestamps, such as Europe/Berlin.",
        Option(metavar="ZONE", of_call=False),
    ] = None,
) -> list[adoption.Difference]:
    """Make a table agree with the files below it.

    This is for tables of Parquet. Files that others wrote or changed are adopted, and files that others
    deleted are dropped, in one commit. Only Spark reads ORC files: CALL system.sync.
    """
    reader = context.engine if time_zone is None else data_files.ArrowFooters(time_zone)
    options = adoption.SyncOptions(where, dry_run, readopt=readopt, buckets=buckets)
    with progress_bar() as progress:
        return adoption.synchronise(context.find(table), reader, options, progress)
