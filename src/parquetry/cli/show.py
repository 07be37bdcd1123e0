"""The commands that look into a warehouse.

Imports are made in the commands, so that each starts with what it needs only. Printing is `output`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from parquetry.cli import output
from parquetry.cli.app import JsonOption, StoreOption, TableArgument, WarehouseOption, app, open_catalog

if TYPE_CHECKING:
    from parquetry.catalog import Arrangement


@app.command(epilog="Example: parquetry tables --json")
def tables(warehouse: WarehouseOption = None, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the tables and how large they are."""
    from parquetry.errors import TableNotFoundError

    found = []
    with open_catalog(warehouse, store) as catalog:
        for name in catalog.tables():
            try:
                found.append(catalog.table(name))
            except TableNotFoundError:  # dropped since it was listed
                continue
    if as_json:
        output.print_json(
            {"table": t.name, "partitions": t.partitions, "files": t.files, "rows": t.rows, "bytes": t.bytes}
            for t in found
        )
        return
    output.print_table(
        ("table", "partitions", "files", "rows", "size"),
        (
            (
                t.name,
                output.count(t.partitions),
                output.count(t.files),
                output.count(t.rows),
                output.size(t.bytes),
            )
            for t in found
        ),
        numbers=("partitions", "files", "rows", "size"),
        empty="The warehouse has no tables.",
    )


@app.command(epilog="Example: parquetry describe sales.orders")
def describe(
    table: TableArgument,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a table's columns, place and totals."""
    import dataclasses

    with open_catalog(warehouse, store) as catalog:
        found = catalog.table(table)
    if as_json:
        fields = dataclasses.asdict(found)
        if found.arrangement is None:
            del fields["arrangement"]
        output.print_json([{"table": fields.pop("name"), **fields}])
        return
    places = {name: str(place) for place, name in enumerate(found.partition_by, 1)}
    output.print_table(
        ("column", "type", "partition", "comment"),
        (
            (c.name, c.type if c.nullable else f"{c.type} not null", places.get(c.name, ""), c.comment or "")
            for c in found.columns
        ),
        numbers=("partition",),
    )
    print()
    facts = {
        "table": found.name,
        "version": f"{found.version} ({found.operation}, {found.committed_at:%Y-%m-%d %H:%M:%S} UTC)",
        "format": found.format,
        "location": f"{found.location}{' (external)' if found.external else ''}",
        "comment": found.comment,
        "owner": found.owner,
        "partitions": output.count(found.partitions),
        "files": output.count(found.files),
        "rows": output.count(found.rows),
        "size": output.size(found.bytes),
        **{f"index {name}": ", ".join(columns) for name, columns in found.indexes.items()},
        **_arranged(found.arrangement),
        **{f"property {name}": value for name, value in sorted(found.properties.items())},
    }
    width = max(map(len, facts))
    for name, value in facts.items():
        if value is not None:
            print(f"{name:{width}}  {output.cell(value)}")


@app.command(epilog="Example: parquetry partitions sales.orders --where \"day >= '2024-01-01'\"")
def partitions(
    table: TableArgument,
    where: Annotated[
        str | None,
        typer.Option(
            "--where", metavar="FILTER", help="A filter on partition columns, in SQL.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=0, help="At most so many.", show_default=False)
    ] = None,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the partitions of a table or of a filter.

    They come in the order of their values.
    """
    import dataclasses

    from parquetry.layout.places import path_within

    with open_catalog(warehouse, store) as catalog:
        found = catalog.partitions(table, where, limit)
        if as_json:
            output.print_json(
                {
                    "values": p.values,
                    "location": p.location,
                    "files": p.files,
                    "rows": p.rows,
                    "bytes": p.bytes,
                    **({} if p.arrangement is None else {"arrangement": dataclasses.asdict(p.arrangement)}),
                }
                for p in found
            )
            return
        described = catalog.table(table)
        output.print_table(
            (*described.partition_by, "files", "rows", "size", "location"),
            (
                (
                    *p.values.values(),
                    output.count(p.files),
                    output.count(p.rows),
                    output.size(p.bytes),
                    path_within(described.location, p.location),
                )
                for p in found
            ),
            numbers=("files", "rows", "size"),
            empty="No partitions.",
        )


@app.command(epilog='Example: parquetry files sales.orders --where "customer = 17" --json')
def files(
    table: TableArgument,
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="FILTER",
            help="Only files that can hold rows of this filter, in SQL, on any columns.",
            show_default=False,
        ),
    ] = None,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the data files of a table or of a filter.

    With a filter, these are the files that a query would read: values of partitions and statistics of files
    decide.
    """
    from parquetry.layout.places import path_within

    with open_catalog(warehouse, store) as catalog:
        found = catalog.files(table, where)
        if as_json:
            output.print_json(
                {
                    "path": f.path,
                    "partition": f.partition,
                    "rows": f.rows,
                    "bytes": f.bytes,
                    **({} if f.cell is None else {"cell": f.cell}),
                    **({} if f.bucket is None else {"bucket": f.bucket}),
                    **({"sorted": True} if f.sorted else {}),
                }
                for f in found
            )
            return
        location = catalog.table(table).location
        output.print_table(
            ("file", "rows", "size"),
            ((path_within(location, f.path), output.count(f.rows), output.size(f.bytes)) for f in found),
            numbers=("rows", "size"),
            empty="No files.",
        )


@app.command(epilog='Example: parquetry plan sales.orders "hour > 7" --run')
def plan(
    table: TableArgument,
    where: Annotated[str, typer.Argument(metavar="FILTER", help="A filter on partition columns, in SQL.")],
    run: Annotated[
        bool, typer.Option("--run", help="Read the partitions, too, and count them and the keys examined.")
    ] = False,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how the partitions of a filter are found.

    A plan is ranges of keys in the metastore, shown by the values in them, and what is tested on the
    keys in them. With --json a bound is the bytes of a key, hexadecimal.
    """
    with open_catalog(warehouse, store) as catalog:
        found = catalog.plan(table, where, run=run)
    print(output.json_text(found.to_dict()) if as_json else found)


@app.command(epilog="Example: parquetry history sales.orders")
def history(
    table: TableArgument,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the versions of a table, newest first.

    These are the ones that can be read with VERSION AS OF; counts are those after the commit.
    """
    import dataclasses

    with open_catalog(warehouse, store) as catalog:
        found = catalog.history(table)
        if as_json:
            output.print_json(map(dataclasses.asdict, found))
            return
        output.print_table(
            ("version", "committed at (UTC)", "operation", "partitions", "files", "rows", "size"),
            (
                (
                    c.version,
                    f"{c.committed_at:%Y-%m-%d %H:%M:%S}",
                    c.operation,
                    output.count(c.partitions),
                    output.count(c.files),
                    output.count(c.rows),
                    output.size(c.bytes),
                )
                for c in found
            ),
            numbers=("version", "partitions", "files", "rows", "size"),
        )


def _arranged(arrangement: Arrangement | None) -> dict[str, str]:
    """Return how rows are arranged as lines for people."""
    if arrangement is None:
        return {}
    lines = {}
    if (skew := arrangement.skew) is not None:
        count = f"{len(skew.values):,} heavy value{'' if len(skew.values) == 1 else 's'}"
        if skew.auto is not None:
            count = "heavy values found in each partition"
        lines["skewed by"] = (
            f"{', '.join(skew.columns)} ({count}{', in directories' if skew.directories else ''})"
        )
    if (buckets := arrangement.buckets) is not None:
        order = f", sorted by {', '.join(buckets.sorted_by)}" if buckets.sorted_by else ""
        lines["buckets"] = (
            f"{buckets.count:,} by {', '.join(buckets.columns)} (version {buckets.version}{order})"
        )
    if arrangement.sorted_by:
        lines["sorted by"] = ", ".join(arrangement.sorted_by)
    return lines
