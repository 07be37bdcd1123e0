"""The commands: what each takes, and what of the Python API it calls.

Imports are made in the commands, so that each starts with what it needs only. Looking at the installation is
`doctor`'s, printing is `output`'s.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from parquetry._version import __version__
from parquetry.cli import output
from parquetry.errors import ParquetryError

if TYPE_CHECKING:
    from parquetry.catalog import Catalog
    from parquetry.maintenance.dump_format import Manifest

app = typer.Typer(
    name="parquetry",
    help="Look into a Parquetry warehouse: its tables, partitions and files.",
    epilog="Example: parquetry tables --warehouse /data/lake",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_WAREHOUSE_HELP = (
    "Folder or URI of the warehouse; else PARQUETRY_WAREHOUSE, or `warehouse` in parquetry.toml here or "
    "above, or in ~/.config/parquetry/config.toml."
)
WarehouseOption = Annotated[
    str | None, typer.Option("--warehouse", "-w", metavar="PATH", help=_WAREHOUSE_HELP, show_default=False)
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="URL", help="Where the metastore is, if not in the warehouse.", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TableArgument = Annotated[
    str, typer.Argument(metavar="TABLE", help="database.table, or a table of the default database.")
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; errors are told in a sentence on standard error.

    Args:
        arguments: instead of the process's own.

    Raises:
        SystemExit: always. 0: done; 1: an error, or `doctor` found one; 2: wrong usage.
    """
    try:
        try:
            app(args=None if arguments is None else list(arguments), prog_name="parquetry")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has had enough. Python flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except (ParquetryError, OSError) as error:
        print(f"parquetry: {error}", file=sys.stderr)
        raise SystemExit(1) from None


def _version(asked: bool) -> None:
    if asked:
        print(f"parquetry {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command(epilog="Example: parquetry tables --json")
def tables(warehouse: WarehouseOption = None, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the tables and how large they are."""
    from parquetry.errors import TableNotFoundError

    found = []
    with _open(warehouse, store) as catalog:
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

    with _open(warehouse, store) as catalog:
        found = catalog.table(table)
    if as_json:
        fields = dataclasses.asdict(found)
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
    with _open(warehouse, store) as catalog:
        found = catalog.partitions(table, where, limit)
        if as_json:
            output.print_json(
                {
                    "values": p.values,
                    "location": p.location,
                    "files": p.files,
                    "rows": p.rows,
                    "bytes": p.bytes,
                }
                for p in found
            )
            return
        described = catalog.table(table)
        base = f"{described.location}/"
        output.print_table(
            (*described.partition_by, "files", "rows", "size", "location"),
            (
                (
                    *p.values.values(),
                    output.count(p.files),
                    output.count(p.rows),
                    output.size(p.bytes),
                    p.location.removeprefix(base),
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
    with _open(warehouse, store) as catalog:
        found = catalog.files(table, where)
        if as_json:
            output.print_json(
                {"path": f.path, "partition": f.partition, "rows": f.rows, "bytes": f.bytes} for f in found
            )
            return
        base = f"{catalog.table(table).location}/"
        output.print_table(
            ("file", "rows", "size"),
            ((f.path.removeprefix(base), output.count(f.rows), output.size(f.bytes)) for f in found),
            numbers=("rows", "size"),
            empty="No files.",
        )


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

    with _open(warehouse, store) as catalog:
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


@app.command(epilog="Example: parquetry dump /backup/lake-metastore")
def dump(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A directory that is not there yet.")],
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the metastore into a directory, as text.

    Databases, tables and all versions that can be read; data files stay where they are. The directory appears
    when all is written. `restore` reads it, into a metastore of any kind.
    """
    from parquetry.maintenance.dump import dump
    from parquetry.metastore import open_metastore
    from parquetry.warehouse import find_warehouse

    found = find_warehouse(warehouse, store)
    with open_metastore(found.location, found.store) as metastore, output.progress() as told:
        manifest = dump(metastore, folder, told)
    _print_manifest(manifest, f"written to {folder}", as_json)


@app.command(epilog="Example: parquetry restore /backup/lake-metastore -w /data/lake")
def restore(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A directory that `dump` made.")],
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fill an empty metastore with what `dump` has written.

    The metastore is made if it is not there; one that holds tables is refused. Tables keep their locations.
    """
    from parquetry.maintenance.restore import restore
    from parquetry.metastore import open_metastore
    from parquetry.warehouse import find_warehouse

    found = find_warehouse(warehouse, store)
    with open_metastore(found.location, found.store, create=True) as metastore, output.progress() as told:
        manifest = restore(metastore, folder, told)
    _print_manifest(manifest, f"restored from {folder}", as_json)


def _print_manifest(manifest: Manifest, done: str, as_json: bool) -> None:
    from parquetry.views import full_name

    if as_json:
        output.print_json({"table": full_name(t.database, t.name), "id": t.id} for t in manifest.tables)
    else:
        print(f"{len(manifest.tables)} tables of {len(manifest.databases)} databases {done}")


@app.command(epilog="Example: pyspark $(parquetry conf --flags --warehouse /data/lake)")
def conf(
    catalog: Annotated[
        str, typer.Option("--catalog", metavar="NAME", help="Name of the catalog in SQL.")
    ] = "lake",
    flags: Annotated[
        bool, typer.Option("--flags", help="Print --conf flags for pyspark and spark-submit.")
    ] = False,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the settings Spark needs.

    They make the warehouse a catalog, and come as lines for spark-defaults.conf. Call parquetry.attach(spark)
    in a session that was started with them.
    """
    import shlex

    import parquetry
    from parquetry.warehouse import find_warehouse

    found = find_warehouse(warehouse, store)
    options = {} if found.store is None else {"store": found.store}
    settings = parquetry.settings(catalog, found.location, **options)
    if as_json:
        print(output.json_text(settings))
    elif flags:
        print(" ".join(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in settings.items()))
    else:
        for name, value in settings.items():
            # Spark reads the file as Java's properties, where a backslash escapes.
            print(f"{name} {value.replace(chr(92), 2 * chr(92))}")


@app.command(epilog="Example: parquetry doctor --warehouse /data/lake")
def doctor(warehouse: WarehouseOption = None, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Check the installation and the warehouse.

    Looked at are Python, PySpark, Java, libraries, the bridge and the warehouse.

    The exit code is 1 if something does not fit; what to do about it is said beside it.
    """
    from parquetry.cli.doctor import examine

    checks = list(examine(warehouse, store))
    if as_json:
        output.print_json({"check": c.name, "ok": c.ok, "found": c.found, "remedy": c.remedy} for c in checks)
    else:
        marks = {True: "ok", False: "PROBLEM", None: "note"}
        for c in checks:
            print(f"{marks[c.ok]:8} {c.name}: {c.found}")
            if c.remedy is not None:
                print(f"{'':8} → {c.remedy}")
    if any(c.ok is False for c in checks):
        raise typer.Exit(1)


def _open(warehouse: str | None, store: str | None) -> Catalog:
    from parquetry.catalog import Catalog

    return Catalog.open(warehouse, store)


if __name__ == "__main__":
    main()
