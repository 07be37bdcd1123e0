"""The command `erase`: delete rows for good. It starts Spark, and calls the procedure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import app
from parquetry.cli.options import DryRunOption, JsonOption, SparkOptions, TableArgument, option


@app.command(epilog="Example: parquetry erase sales.orders 'customer = 7' --dry-run")
def erase(
    table: TableArgument,
    condition: Annotated[str, typer.Argument(metavar="CONDITION", help="The rows, as in DELETE … WHERE.")],
    *,
    dry_run: DryRunOption = False,
    grace_hours: Annotated[
        int | None,
        option(
            "--grace-hours",
            "N",
            "The age at which a file that no version lists is deleted, as for vacuum; an hour at least.",
        ),
    ] = None,
    spark: SparkOptions,
    as_json: JsonOption = False,
) -> None:
    """Erase rows for good.

    Deletes the rows, ends all versions that have them, and removes what statistics, logs for other readers,
    links and the history keep of them. Says what it cannot reach. It starts Spark.
    """
    settings, name = spark.settings(), spark.full_name(table)
    from parquetry.spark import call_procedure

    arguments = {"table": name, "condition": condition, "dry_run": dry_run}
    arguments |= {} if grace_hours is None else {"grace_hours": grace_hours}
    records = call_procedure(spark.find(), "erase", arguments, settings)
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
