"""The commands that maintain a warehouse, as `CALL lake.system.…` does in Spark.

Imports are in the commands, so that each loads only what it needs. the operations' own modules do the work,
through `parquetry.catalog`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import (
    FilterArgument,
    JsonOption,
    StorageOption,
    StoreOption,
    TableArgument,
    WarehouseOption,
    WhereOption,
    app,
    one_filter,
    open_catalog,
)

if TYPE_CHECKING:
    from parquetry.adoption import Difference
    from parquetry.catalog import Table
    from parquetry.metastore import Finding, Removed
    from parquetry.verification import Misplacement

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Report what would be done, and change nothing.")
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="A,B", help="The index's columns, instead of its name.", show_default=False
    ),
]
IndexArgument = Annotated[str | None, typer.Argument(metavar="INDEX", help="Its name.", show_default=False)]
_RIGHT_ALIGNED_COLUMNS = ("files", "rows", "size", "count")


@app.command(epilog="Example: parquetry rollback sales.orders 17")
def rollback(
    table: TableArgument,
    version: Annotated[int, typer.Argument(metavar="VERSION", help="One of those that `history` lists.")],
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a table what it was in an earlier version.

    This is a new version, so it can be undone by another rollback.
    """
    with open_catalog(warehouse, store, storage_option) as catalog:
        before = catalog.table(table)
        after = catalog.rollback(table, version)
    if as_json:
        output.print_json([{"version_before": before.version, "version": after.version}])
    elif after.version == before.version:
        print(f"{after.name} is what it was in version {version}: nothing to do.")
    else:
        print(f"{after.name} is again what it was in version {version}, as version {after.version}.")


@app.command(epilog="Example: parquetry vacuum sales.orders --dry-run")
def vacuum(
    table: TableArgument,
    older_than: Annotated[
        datetime | None,
        typer.Option(
            "--older-than",
            metavar="TIME",
            formats=["%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d"],
            help="Delete versions that were replaced before this time, such as 2026-03-01T00:00:00+00:00, "
            "or 2026-03-01 in this machine's time zone. The default is seven days ago.",
            show_default=False,
        ),
    ] = None,
    dry_run: DryRunOption = False,
    grace_hours: Annotated[
        int | None,
        typer.Option(
            "--grace-hours",
            help="The age at which a file that no version lists is deleted; the default is the table property "
            "vacuum-grace-hours. No running write may have older files.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Go on if the clocks of this machine and of the metastore's server differ by minutes.",
        ),
    ] = False,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete what only old versions of a table need.

    These are files and records, and files that no version lists.
    """
    before = older_than.astimezone() if older_than is not None and older_than.tzinfo is None else older_than
    with open_catalog(warehouse, store, storage_option) as catalog:
        removed: Sequence[Removed] = catalog.vacuum(
            table, before, dry_run=dry_run, grace_hours=grace_hours, force=force
        )
    if as_json:
        output.print_json(map(dataclasses.asdict, removed))
        return
    output.print_table(
        ("kind", "count", "size", "path"),
        ((r.kind, texts.count(r.count), _size(r.bytes), r.path or "") for r in removed),
        numbers=_RIGHT_ALIGNED_COLUMNS,
        empty="Nothing to delete.",
    )


@app.command(epilog="Example: parquetry compact-metadata sales.orders")
def compact_metadata(
    table: TableArgument,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rewrite a table's long lists of files.

    They become sorted and in full parts, so that plans read less of them. No data file is read or written,
    and no answer changes.
    """
    from parquetry.progress import progress_bar

    with open_catalog(warehouse, store, storage_option) as catalog, progress_bar() as progress:
        done = catalog.compact_metadata(table, progress=progress)
    if as_json:
        output.print_json([dataclasses.asdict(done)])
    elif not done.partitions:
        print("All lists of files are as they should be: nothing to do.")
    else:
        print(
            f"The lists of {texts.counted(done.partitions, 'partition')}, which had {texts.counted(done.chunks_before, 'part')}, "
            f"have {texts.count(done.chunks_after)} now."
        )


@app.command(epilog="Example: parquetry fsck sales.orders --repair")
def fsck(
    table: TableArgument,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what can be repaired.")] = False,
    no_footers: Annotated[
        bool, typer.Option("--no-footers", help="Do not read the footers of files that others wrote.")
    ] = False,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a table's metadata with its files.

    The metadata is compared with itself, too.

    The exit code is 1 if a problem was found that was not repaired.
    """
    with open_catalog(warehouse, store, storage_option) as catalog:
        found: Sequence[Finding] = catalog.fsck(table, repair=repair, footers=not no_footers)
    if as_json:
        output.print_json(map(dataclasses.asdict, found))
    else:
        output.print_table(
            ("kind", "partition", "path", "repaired", "detail"),
            ((f.kind, f.partition or "", f.path or "", f.repaired, f.detail) for f in found),
            empty="All is as it should be.",
        )
    if not all(finding.repaired for finding in found):
        raise typer.Exit(1)


@app.command(epilog="Example: parquetry verify sales.orders \"day >= '2026-03-01'\"")
def verify(
    table: TableArgument,
    condition: FilterArgument = None,
    where: WhereOption = None,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check that rows are in their buckets, in order.

    The rows are read, and the command lists files with rows in a wrong bucket or out of order. The exit code
    is 1 if there is such a file, or if a file cannot be read.
    """
    from parquetry.progress import progress_bar

    with open_catalog(warehouse, store, storage_option) as catalog, progress_bar() as progress:
        found: Sequence[Misplacement] = catalog.verify(table, one_filter(condition, where), progress=progress)
    if as_json:
        output.print_json(map(dataclasses.asdict, found))
    else:
        output.print_table(
            ("problem", "partition", "path", "bucket", "rows", "detail"),
            (
                (
                    each.problem,
                    each.partition or "",
                    each.path or "",
                    "" if each.bucket is None else each.bucket,
                    "" if each.rows is None else texts.count(each.rows),
                    each.detail,
                )
                for each in found
            ),
            numbers=("bucket", "rows"),
            empty="All rows are where they should be.",
        )
    if any(each.is_wrong for each in found):
        raise typer.Exit(1)


@app.command(epilog="Example: parquetry sync sales.orders \"day >= '2026-03-01'\" --dry-run")
def sync(
    table: TableArgument,
    condition: FilterArgument = None,
    where: WhereOption = None,
    dry_run: DryRunOption = False,
    readopt: Annotated[
        bool, typer.Option("--readopt", help="Adopt files again that commits removed on purpose.")
    ] = False,
    buckets: Annotated[
        bool, typer.Option("--buckets", help="Check files again whose buckets were refused before.")
    ] = False,
    time_zone: Annotated[
        str | None,
        typer.Option(
            "--time-zone",
            metavar="ZONE",
            help="The time zone of directories that are named for timestamps, such as Europe/Berlin.",
            show_default=False,
        ),
    ] = None,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a table agree with the files below it.

    This is for tables of Parquet. Files that others wrote or changed are adopted, and files that others
    deleted are dropped, in one commit. Only Spark reads ORC files: CALL system.sync.
    """
    from parquetry.progress import progress_bar

    with open_catalog(warehouse, store, storage_option) as catalog, progress_bar() as progress:
        found: Sequence[Difference] = catalog.sync(
            table,
            one_filter(condition, where),
            dry_run=dry_run,
            readopt=readopt,
            buckets=buckets,
            time_zone=time_zone,
            progress=progress,
        )
    if as_json:
        output.print_json(map(dataclasses.asdict, found))
        return
    output.print_table(
        ("action", "partition", "files", "rows", "size", "detail"),
        (
            (d.action, d.partition or "", _count(d.files), _count(d.rows), _size(d.bytes), d.detail or "")
            for d in found
        ),
        numbers=_RIGHT_ALIGNED_COLUMNS,
        empty="The table and the files agree.",
    )


@app.command(epilog="Example: parquetry create-partition-index sales.orders region hour")
def create_partition_index(
    table: TableArgument,
    columns: Annotated[
        list[str],
        typer.Argument(
            metavar="COLUMN…", help="Partition columns; the index is sorted by the first one first."
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="The default is made of its columns.", show_default=False
        ),
    ] = None,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make an index over partition columns.

    It is for filters that skip the first column.
    """
    from parquetry.progress import progress_bar

    with open_catalog(warehouse, store, storage_option) as catalog, progress_bar() as progress:
        found = catalog.create_partition_index(table, columns, name, progress=progress)
    _print_indexes(found, as_json)


@app.command(epilog="Example: parquetry drop-partition-index sales.orders region_hour")
def drop_partition_index(
    table: TableArgument,
    index: IndexArgument = None,
    columns: ColumnsOption = None,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drop an index over partition columns."""
    which = _which(index, columns)
    with open_catalog(warehouse, store, storage_option) as catalog:
        found = catalog.drop_partition_index(table, which)
    _print_indexes(found, as_json)


@app.command(epilog="Example: parquetry rebuild-partition-index sales.orders shop")
def rebuild_partition_index(
    table: TableArgument,
    index: IndexArgument = None,
    columns: ColumnsOption = None,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    storage_option: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Build an index over partition columns again.

    Meanwhile, queries use the old one.
    """
    from parquetry.progress import progress_bar

    which = _which(index, columns)
    with open_catalog(warehouse, store, storage_option) as catalog, progress_bar() as progress:
        found = catalog.rebuild_partition_index(table, which, progress=progress)
    _print_indexes(found, as_json)


def _which(index: str | None, columns: str | None) -> str | list[str]:
    """Return the name of an index, or its columns."""
    if (index is None) == (columns is None):
        raise typer.BadParameter("Say which index: either its name, or its --columns.")
    return str(index) if columns is None else [column.strip() for column in columns.split(",")]


def _print_indexes(table: Table, as_json: bool) -> None:
    """Print the indexes of a table after the command."""
    indexes = [{"name": name, "columns": columns} for name, columns in table.indexes.items()]
    if as_json:
        output.print_json(indexes)
        return
    output.print_table(
        ("index", "columns"),
        ((name, ", ".join(columns)) for name, columns in table.indexes.items()),
        empty=f"{table.name} has no indexes.",
    )


def _count(number: int | None) -> str:
    return "" if number is None else texts.count(number)


def _size(number: int | None) -> str:
    return "" if number is None else texts.size_text(number)
