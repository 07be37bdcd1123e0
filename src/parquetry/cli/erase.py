"""The command `erase`: delete rows for good. It starts Spark, and calls the procedure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import (
    ConfOption,
    JsonOption,
    StoreOption,
    TableArgument,
    WarehouseOption,
    app,
    open_catalog,
)
from parquetry.cli.publish import read_setting


@app.command(epilog="Example: parquetry erase sales.orders 'customer = 7' --dry-run")
def erase(
    table: TableArgument,
    condition: Annotated[str, typer.Argument(metavar="CONDITION", help="The rows, as in DELETE … WHERE.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Report what would be done, and change nothing.")
    ] = False,
    grace_hours: Annotated[
        int | None,
        typer.Option(
            "--grace-hours",
            metavar="N",
            help="The age at which a file that no version lists is deleted, as for vacuum; an hour at least.",
            show_default=False,
        ),
    ] = None,
    conf: ConfOption = None,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Erase rows for good.

    Deletes the rows, ends all versions that have them, and removes what statistics, logs for other readers,
    links and the history keep of them. Says what it cannot reach. It starts Spark.
    """
    import parquetry
    from parquetry.warehouse import find_warehouse

    settings = dict(map(read_setting, conf or ()))
    with open_catalog(warehouse, store) as catalog:
        name = catalog.table(table).name  # fails before Spark is started
    _ = parquetry.configure  # raises with a remedy if Spark is missing
    from parquetry.spark import call_procedure

    arguments = {"table": name, "condition": condition, "dry_run": dry_run}
    arguments |= {} if grace_hours is None else {"grace_hours": grace_hours}
    records = call_procedure(find_warehouse(warehouse, store), "erase", arguments, settings)
    if as_json:
        output.print_json(records)
        return
    output.print_table(
        ("step", "outcome", "count", "size", "detail"), map(_cells, records), numbers=("count", "size")
    )


def _cells(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a step."""
    count, size = record["count"], record["bytes"]
    return (
        record["step"],
        record["outcome"],
        "" if count is None else texts.count(count),
        "" if size is None else texts.size_text(size),
        record["detail"] or "",
    )
