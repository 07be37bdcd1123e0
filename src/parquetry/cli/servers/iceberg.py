"""The command `serve-iceberg`: an Iceberg REST catalog."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated

import typer

from parquetry.cli.app import app
from parquetry.cli.options import HostOption, PortOption, StorageOptions
from parquetry.cli.servers.options import CatalogOption, WorkersOption


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
    catalog: CatalogOption = None,
    workers: WorkersOption = 1,
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
    served = ServedWarehouse(
        source.location, source.store, options, planning.value, token, catalog, source.history
    )
    announcement = f"Iceberg REST catalog of {served.location()} at http://{host}:{port}"
    serve(served, host, port, workers, lambda: print(announcement, file=sys.stderr))
