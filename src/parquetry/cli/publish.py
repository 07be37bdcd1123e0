"""The command that publishes a table to a Hive metastore. It starts Spark, which has the client."""

from __future__ import annotations

from typing import Annotated

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import JsonOption, StoreOption, TableArgument, WarehouseOption, app, open_catalog
from parquetry.errors import ConfigurationError


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
    conf: Annotated[
        list[str] | None,
        typer.Option(
            "--conf",
            metavar="KEY=VALUE",
            help="A setting of the Spark session, such as spark.hadoop.hive.metastore.uris=thrift://hive:9083; may be given several times.",
            show_default=False,
        ),
    ] = None,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish a table to a Hive metastore.

    Its partitions are published, too, so that Hive reads its files in place.

    This includes heavy values and buckets. It starts Spark with Hive support; Spark's settings or a
    hive-site.xml name the metastore. It publishes the table as it is now: publish again after writing.
    """
    import parquetry
    from parquetry.warehouse import find_warehouse

    settings = dict(map(_setting, conf or ()))
    with open_catalog(warehouse, store) as catalog:
        name = catalog.table(table).name  # fails before Spark is started
    _ = parquetry.configure  # raises with a remedy if Spark is missing
    from parquetry.spark import publish_table

    records = publish_table(find_warehouse(warehouse, store), name, hive_table, settings)
    if as_json:
        output.print_json(records)
    else:
        output.print_table(
            ("action", "count", "detail"),
            ((record["action"], texts.count(record["count"]), record["detail"]) for record in records),
            numbers=("count",),
        )


def _setting(text: str) -> tuple[str, str]:
    """Return the name and the value of a setting."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(f"Option --conf {text!r} is no setting: write KEY=VALUE.")
    return key, value
