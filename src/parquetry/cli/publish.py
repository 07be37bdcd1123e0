"""The command that publishes a table for other engines.

`publish` records a table in a Hive metastore, or as a Delta log. For Hive it starts Spark, which has the
client, unless the metastore is to follow the table. `servers` has the commands that serve a whole warehouse.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import app
from parquetry.cli.options import JsonOption, SparkOptions, TableArgument, option


class Format(Enum):
    """The receiver of a published table."""

    HIVE = "hive"
    DELTA = "delta"


@dataclass(frozen=True, slots=True)
class HiveOptions(SparkOptions):
    """How a table is published in a Hive metastore, and the settings of Spark, which does it."""

    hive_table: Annotated[
        str | None, option("--as", "TABLE", "Its name in Hive, as database.table; else the same.")
    ] = None
    read_only: Annotated[
        bool,
        typer.Option(
            "--read-only",
            help="Give Hive folders of hard links, in which nobody can write (Hive alone; always so with --follow).",
        ),
    ] = False
    server: Annotated[
        str | None,
        option("--metastore", "URI", "The Hive metastore that is to follow, such as thrift://hive:9083."),
    ] = None


@app.command(epilog="Example: parquetry publish sales.orders --as lake.orders")
def publish(
    table: TableArgument,
    *,
    format: Annotated[
        Format, typer.Option("--format", help="A Hive metastore, or a Delta log in the table's folder.")
    ] = Format.HIVE,
    follow: Annotated[
        bool, typer.Option("--follow", help="Publish each later version with its commit, too.")
    ] = False,
    hive: HiveOptions,
    as_json: JsonOption = False,
) -> None:
    """Publish a table to a Hive metastore.

    Its partitions are published, too, with heavy values and buckets, so that Hive reads its files in place.
    It starts Spark with Hive support; Spark's settings or a
    hive-site.xml name the metastore. It publishes the table as it is now: publish again after writing.

    With --follow and --metastore, Hive's metastore gets each later version, too, without Spark.

    With --format delta, all versions become a Delta log in the table's folder, without Spark.
    """
    if format is Format.DELTA:
        _publish_delta(table, follow, hive, as_json)
        return
    if follow or hive.server is not None:
        if hive.server is None or not follow:
            raise typer.BadParameter(
                "--follow and --metastore belong together: name the server that is to follow."
            )
        with hive.open() as catalog:
            changes = catalog.publish_hive(table, hive.server, hive.hive_table)
        _print_records([dataclasses.asdict(each) for each in changes], as_json)
        return
    settings, name = hive.settings(), hive.full_name(table)
    from parquetry.spark import publish_table

    _print_records(
        publish_table(hive.find(), name, hive.hive_table, settings, read_only=hive.read_only), as_json
    )


def _print_records(records: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    if as_json:
        output.print_json(records)
    else:
        output.print_table(
            ("action", "count", "detail"),
            ((record["action"], texts.count(record["count"]), record["detail"]) for record in records),
            numbers=("count",),
        )


def _publish_delta(table: str, follow: bool, given: HiveOptions, as_json: bool) -> None:
    if given.hive_table is not None:
        raise typer.BadParameter("--as is for Hive: a Delta log is in the table's folder and has no name.")
    if given.read_only:
        raise typer.BadParameter("--read-only is for Hive: a Delta log is for reading anyway.")
    if given.server is not None:
        raise typer.BadParameter("--metastore is for Hive: a Delta log is in the table's folder.")
    with given.open() as catalog:
        added = catalog.publish_delta(table, follow=follow)
        folder = f"{catalog.table(table).location}/_delta_log"
    if as_json:
        output.print_json([{"action": "versions added", "count": added, "detail": folder}])
    else:
        print(f"{texts.quantity(added, 'version')} added to {folder}")
