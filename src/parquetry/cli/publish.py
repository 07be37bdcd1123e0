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
from parquetry.cli.app import app
from parquetry.cli.options import (
    HostOption,
    JsonOption,
    PortOption,
    SparkOptions,
    StorageOptions,
    TableArgument,
    WarehouseOptions,
    option,
)


class Format(Enum):
    """The receiver of a published table."""

    HIVE = "hive"
    DELTA = "delta"


@app.command(epilog="Example: parquetry publish sales.orders --as lake.orders")
def publish(
    table: TableArgument,
    *,
    hive_table: Annotated[
        str | None, option("--as", "TABLE", "Its name in Hive, as database.table; else the same.")
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
    spark: SparkOptions,
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
        _publish_delta(table, hive_table, format, follow, spark, as_json)
        return
    settings, name = spark.settings(), spark.full_name(table)
    from parquetry.spark import publish_table

    _print_records(publish_table(spark.find(), name, hive_table, settings, read_only=read_only), as_json)


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
    warehouse: WarehouseOptions,
    as_json: bool,
) -> None:
    if format is Format.HIVE:
        raise typer.BadParameter("--follow is for --format delta: publish to Hive again after writing.")
    if hive_table is not None:
        raise typer.BadParameter("--as is for Hive: a Delta log is in the table's folder and has no name.")
    with warehouse.open() as catalog:
        added = catalog.publish_delta(table, follow=follow)
        folder = f"{catalog.table(table).location}/_delta_log"
    if as_json:
        output.print_json([{"action": "versions added", "count": added, "detail": folder}])
    else:
        print(f"{texts.quantity(added, 'version')} added to {folder}")


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
    *,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8181,
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
        option(
            "--catalog",
            "NAME",
            "The name of the warehouse's catalog in Spark, such as lake: views are served, too, which name their tables by it.",
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", metavar="N", help="Number of processes that answer, one for each core.", min=1
        ),
    ] = 1,
    warehouse: StorageOptions,
) -> None:
    """Serve a warehouse to Iceberg's readers.

    It is a read-only Iceberg REST catalog. Engines that read Iceberg's tables (PyIceberg, Polars, DuckDB,
    Spark with Iceberg's jar) read the warehouse's tables. This server chooses the files of a scan, and
    engines read them with credentials of their own. For engines that choose files by themselves, it writes
    manifests into the folder `_iceberg` of the table.
    """
    from parquetry.iceberg import ServedWarehouse, serve

    source, options = warehouse.find(), warehouse.storage()
    served = ServedWarehouse(source.location, source.store, options, planning.value, token, catalog)
    announcement = f"Iceberg REST catalog of {served.location()} at http://{host}:{port}"
    serve(served, host, port, workers, lambda: print(announcement, file=sys.stderr))
