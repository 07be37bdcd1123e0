"""The command `advise`: which layout a table, or a folder of Parquet files, should have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parquetry import texts
from parquetry.cli.app import app
from parquetry.cli.options import JsonOption, StorageOptions, option
from parquetry.progress import progress_bar

if TYPE_CHECKING:
    from parquetry.adviser import SamplePlan


@app.command(epilog="Example: parquetry advise sales.orders --queries conditions.txt")
def advise(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="database.table, or a folder of Parquet files.")
    ],
    *,
    queries: Annotated[
        Path | None,
        option(
            "--queries",
            "FILE",
            "A file with a condition on each line, a file of SQL, or Spark's event logs; the default is the "
            "history of queries.",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        option("--where", "CONDITION", "The condition of a query; may be given several times."),
    ] = None,
    sample_rows: Annotated[
        int | None, option("--sample-rows", "N", "Rows to draw; 200,000 if not given.")
    ] = None,
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """Say which layout suits a table's queries.

    Draws a sample of rows, cuts it into files under some layouts, and counts what the queries would read. It
    writes nothing. The answer has the statement to type.
    """
    from parquetry.adviser import queries_from
    from parquetry.catalog import SampleOptions, advise_on_folder, advise_on_table, is_folder

    if sample_rows is not None and sample_rows < 1:
        raise typer.BadParameter(f"--sample-rows is {sample_rows}: give a number of 1 or more.")
    if queries is not None and where:
        raise typer.BadParameter("Queries are given by --queries and by --where: give one of them.")
    records = queries_from(where or (), table) if queries is None else queries
    with progress_bar() as progress, warehouse.file_systems():
        options = SampleOptions(sample_rows, progress, lambda plan: None if as_json else _announce(plan))
        if is_folder(table):
            advice = advise_on_folder(table, records, options)
        else:
            with warehouse.metastore() as metastore:
                advice = advise_on_table(metastore, table, records, options)
    print(json.dumps(advice.to_dict(), ensure_ascii=False, indent=1) if as_json else advice)


def _announce(plan: SamplePlan) -> None:
    """Say on standard error what the sample reads, before it is read."""
    rows = texts.count(plan.rows)
    typer.echo(
        f"Reading {texts.size_text(plan.bytes)} of {texts.quantity(len(plan.files), 'file')} for a sample of {rows} rows.",
        err=True,
    )
