"""The command that draws a saved report of a query."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parquetry.cli.app import app


@app.command(epilog="Example: parquetry report q1.json --html > q1.html")
def report(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A report as JSON: json.dumps(parquetry.report(df).to_dict()).",
            exists=True,
            dir_okay=False,
        ),
    ],
    *,
    html: Annotated[
        bool, typer.Option("--html", help="Print a page of HTML, a file by itself, with the graph of joins.")
    ] = False,
) -> None:
    """Show a saved report of a query.

    It says what the scans read and left out, and why. The page also has the graph of joins: which table gave
    values to another.
    """
    from parquetry.ui import read_report

    saved = read_report(file)
    print(saved.to_page(file.stem) if html else saved)
