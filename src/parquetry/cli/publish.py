"""The command that publishes a table for other engines.

`publish` records a table in a Hive metastore, or as a Delta log. For Hive it starts Spark, which has the
client, unless the metastore is to follow the table. `servers` has the commands that serve a whole warehouse.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import app
from parquetry.cli.options import JsonOption, SparkOptions, TableArgument, WarehouseOptions, option


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
        bool, typer.Option("--follow", help="Publish each later version with its commit, too.")
    ] = False,
    read_only: Annotated[
        bool,
        typer.Option(
            "--read-only",
            help="Give Hive folders of hard links, in which nobody can write (Hive alone; always so with --follow).",
        ),
    ] = False,
    metastore: Annotated[
        str | None,
        option("--metastore", "URI", "The Hive metastore that is to follow, such as thrift://hive:9083."),
    ] = None,
    spark: SparkOptions,
    as_json: JsonOption = False,
) -> None:
    """Publish a table to a Hive metastore.

    Its partitions are published, too, with heavy values and buckets, so that Hive reads its files in place.
    It starts Spark with Hive support; Spark's settings or a
    hive-site.xml name the metastore. It publishes the table as it is now: publish again after writing.

    With --follow and --metastore, Hive's metastore gets each later version, too, without Spark.

    With --format delta, all versions become a Delta log in the table's folder, without Spark.
    """
    if format is Format.HIVE and (follow or metastore is not None):
        if metastore is None or not follow:
            raise typer.BadParameter("--follow and --metastore belong together: name the server that is to follow.")
        with spark.open() as catalog:
            changes = catalog.publish_hive(table, metastore, hive_table)
        _print_records([dataclasses.asdict(each) for each in changes], as_json)
        return
    if metastore is not None:
        raise typer.BadParameter("--metastore is for Hive: a Delta log is in the table's folder.")
    if format is Format.DELTA:
        if read_only:
            raise typer.BadParameter("--read-only is for Hive: a Delta log is for reading anyway.")
        _publish_delta(table, hive_table, follow, spark, as_json)
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
    follow: bool,
    warehouse: WarehouseOptions,
    as_json: bool,
) -> None:
    if hive_table is not None:
        raise typer.BadParameter("--as is for Hive: a Delta log is in the table's folder and has no name.")
    with warehouse.open() as catalog:
        added = catalog.publish_delta(table, follow=follow)
        folder = f"{catalog.table(table).location}/_delta_log"
    if as_json:
        output.print_json([{"action": "versions added", "count": added, "detail": folder}])
    else:
        print(f"{texts.quantity(added, 'version')} added to {folder}")
