"""The commands for other engines: publish a table, or serve a warehouse.

`publish` records a table in a Hive metastore, or as a Delta log. For Hive it starts Spark, which has the
client. `serve-iceberg` is an Iceberg REST catalog, until it is interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import (
    ConfOption,
    JsonOption,
    StorageOption,
    StoreOption,
    TableArgument,
    WarehouseOption,
    app,
    open_catalog,
    storage_options,
)
from parquetry.errors import ConfigurationError


class Format(Enum):
    """The receiver of a published table."""

    HIVE = "hive"
    DELTA = "delta"


@app.command(epilog="Example: parquetry publish sales.orders --as lake.orders")
def publish(
    table: TableArgument,
    hive_table: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="TABLE",
            help="Its name in Hive, as database.table; else the same.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        Format, typer.Option("--format", help="A Hive metastore, or a Delta log in the table's folder.")
    ] = Format.HIVE,
    follow: Annotated[
        bool, typer.Option("--follow", help="Publish each later version with its commit, too (Delta alone).")
    ] = False,
    read_only: Annotated[
        bool,
        typer.Option(
            "--read-only", help="Give Hive folders of hard links, in which nobody can write (Hive alone)."
        ),
    ] = False,
    conf: ConfOption = None,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish a table to a Hive metastore.

    Its partitions are published, too, with heavy values and buckets, so that Hive reads its files in place.
    It starts Spark with Hive support; Spark's settings or a
    hive-site.xml name the metastore. It publishes the table as it is now: publish again after writing.

    With --format delta, all versions become a Delta log in the table's folder, without Spark.
    """
    if format is Format.DELTA or follow:
        if read_only:
            raise typer.BadParameter("--read-only is for Hive: a Delta log is for reading anyway.")
        _publish_delta(table, hive_table, format, follow, (warehouse, store), as_json)
        return
    import parquetry
    from parquetry.warehouse import find_warehouse

    settings = dict(map(read_setting, conf or ()))
    with open_catalog(warehouse, store) as catalog:
        name = catalog.table(table).name  # fails before Spark is started
    _ = parquetry.configure  # raises with a remedy if Spark is missing
    from parquetry.spark import publish_table

    source = find_warehouse(warehouse, store)
    _print_records(publish_table(source, name, hive_table, settings, read_only=read_only), as_json)


def _print_records(records: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    if as_json:
        output.print_json(records)
    else:
        output.print_table(
            ("action", "count", "detail"),
            ((record["action"], texts.count(record["count"]), record["detail"]) for record in records),
            numbers=("count",),
        )


def _publish_delta(
    table: str,
    hive_table: str | None,
    format: Format,
    follow: bool,
    source: tuple[str | None, str | None],
    as_json: bool,
) -> None:
    if format is Format.HIVE:
        raise typer.BadParameter("--follow is for --format delta: publish to Hive again after writing.")
    if hive_table is not None:
        raise typer.BadParameter("--as is for Hive: a Delta log is in the table's folder and has no name.")
    with open_catalog(*source) as catalog:
        added = catalog.publish_delta(table, follow=follow)
        folder = f"{catalog.table(table).location}/_delta_log"
    if as_json:
        output.print_json([{"action": "versions added", "count": added, "detail": folder}])
    else:
        print(f"{texts.quantity(added, 'version')} added to {folder}")


def read_setting(text: str) -> tuple[str, str]:
    """Return the name and the value of a setting."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(f"Option --conf {text!r} is no setting: write KEY=VALUE.")
    return key, value


class Planning(Enum):
    """Who plans scans."""

    SERVER = "server"
    CLIENT = "client"


TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="PARQUETRY_ICEBERG_TOKEN",
        help="A token that every request must have (`Authorization: Bearer …`). Other users of the machine see the "
        "arguments of commands: the environment is safer.",
        show_default=False,
    ),
]


@app.command(epilog="Example: parquetry serve-iceberg -w /data/lake --port 8181")
def serve_iceberg(
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", help="The port.", min=1, max=65535)] = 8181,
    token: TokenOption = None,
    planning: Annotated[
        Planning,
        typer.Option(
            "--planning",
            help="Who chooses the files of a scan: this server, for clients that can ask it; or all clients by themselves, from manifests.",
        ),
    ] = Planning.SERVER,
    catalog: Annotated[
        str | None,
        typer.Option(
            "--catalog",
            metavar="NAME",
            help="The name of the warehouse's catalog in Spark, such as lake: views are served, too, which name their tables by it.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", metavar="N", help="Number of processes that answer, one for each core.", min=1
        ),
    ] = 1,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    storage_option: StorageOption = None,
) -> None:
    """Serve a warehouse to Iceberg's readers.

    It is a read-only Iceberg REST catalog. Engines that read Iceberg's tables (PyIceberg, Polars, DuckDB,
    Spark with Iceberg's jar) read the warehouse's tables. This server chooses the files of a scan, and
    engines read them with credentials of their own. For engines that choose files by themselves, it writes
    manifests into the folder `_iceberg` of the table.
    """
    from parquetry.iceberg import ServedWarehouse, serve
    from parquetry.warehouse import find_warehouse

    source, options = find_warehouse(warehouse, store), storage_options(storage_option)
    served = ServedWarehouse(source.location, source.store, options, planning.value, token, catalog)
    announcement = f"Iceberg REST catalog of {served.location()} at http://{host}:{port}"
    serve(served, host, port, workers, lambda: print(announcement, file=sys.stderr))
