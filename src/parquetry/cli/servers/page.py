"""The command `ui`: the page of a warehouse."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from parquetry.cli.app import app
from parquetry.cli.options import HostOption, PortOption, StorageOptions, option

ReportsOption = Annotated[
    Path | None,
    option(
        "--reports",
        "FOLDER",
        "A folder of reports, saved as JSON (json.dumps(parquetry.report(df).to_dict())): the page draws them.",
        exists=True,
        file_okay=False,
    ),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="PARQUETRY_UI_TOKEN",
        help="A token that the page asks for. Other users of the machine see the arguments of commands: the environment "
        "is safer.",
        show_default=False,
    ),
]


@app.command(epilog="Example: parquetry ui -w /data/lake --port 8484")
def ui(
    *,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8484,
    token: TokenOption = None,
    reports: ReportsOption = None,
    warehouse: StorageOptions,
) -> None:
    """Serve a page that shows a warehouse in the browser.

    The page shows tables with their needs, partitions, files and versions. It plans a condition while you
    type it. It reads the metastore alone, opens no data file, and fetches nothing from elsewhere.
    """
    from parquetry.ui import ServedPage, serve

    source = warehouse.find()
    page = ServedPage(source.location, source.store, warehouse.storage(), token, reports)
    announcement = f"Page of {page.location()} at http://{host}:{port}/"
    serve(page, host, port, lambda: print(announcement, file=sys.stderr))
