"""`fsck`, `verify` and `doctor`: what is wrong with a table, with its rows, or with the storage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from parquetry import metastore as ms, verification
from parquetry.operations.operation import Context, Option, Presentation, TableName, Where, operation
from parquetry.progress import progress_bar


@operation(
    "Compares the metadata of a table with itself and with the files.",
    changes=True,
    command=Presentation(
        "Check",
        "fsck sales.orders --repair",
        {name: name for name in ("kind", "partition", "path", "repaired", "detail")},
        empty="All is as it should be.",
        is_problem=lambda finding: not finding.repaired,
    ),
)
def fsck(
    context: Context,
    table: TableName,
    repair: Annotated[bool, "Whether to repair what can be repaired."] = False,
    footers: Annotated[
        bool,
        "Whether to read the footers of Parquet files that others wrote.",
        Option("Do not read the footers of files that others wrote."),
    ] = True,
    full: Annotated[
        bool,
        "Whether to look at everything: of a large table, partitions that an fsck found to be as they should be, "
        "and that have not changed since, are otherwise not looked at again.",
    ] = False,
) -> list[ms.Finding]:
    """Compare a table's metadata with its files.

    The metadata is compared with itself, too.

    The exit code is 1 if a problem was found that was not repaired.
    """
    return ms.fsck(context.find(table), repair=repair, footers=footers, full=full)


@operation(
    "Reads the rows of a table's buckets, and reports files with rows in a wrong bucket or out of order.",
    command=Presentation(
        "Check",
        "verify sales.orders \"day >= '2026-03-01'\"",
        empty="All rows are where they should be.",
        sentence=lambda context, records, arguments: _no_buckets(context, records, arguments),
        is_problem=lambda misplacement: misplacement.is_wrong,
    ),
)
def verify(context: Context, table: TableName, where: Where = None) -> Iterator[verification.Misplacement]:
    """Check that rows are in their buckets, in order.

    The rows are read, and the command lists files with rows in a wrong bucket or out of order. The exit code
    is 1 if there is such a file, or if a file cannot be read.
    """
    from parquetry.verification.verify import verify

    zone = "UTC" if where is None else context.time_zone
    with progress_bar() as progress:
        yield from verify(context.find(table), where, zone=zone, progress=progress)


def _no_buckets(context: Context, records: list[Any], arguments: Mapping[str, Any]) -> str | None:
    """Return that nothing was checked, if the table has no buckets."""
    from parquetry.verification.verify import has_buckets

    snapshot = context.find(arguments["table"])
    if records or has_buckets(snapshot):
        return None
    return f"{context.full_name(snapshot)} has no buckets, so there is nothing to verify."


@operation(
    "Checks the reach of the warehouse and the metastore, rights, clocks, and settings of the file system.",
    renamed={"name": "check"},
)
def doctor(
    context: Context,
    write: Annotated[bool, "Whether to write a small file, read it back and delete it."] = False,
) -> Iterator[ms.Check]:
    """Check the storage of the warehouse. The command of this name also checks the installation."""
    yield from context.engine.storage_checks(context.metastore.warehouse)
    yield from ms.check_storage(context.metastore, write=write)
