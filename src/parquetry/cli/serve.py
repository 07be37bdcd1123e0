"""The command that serves a warehouse as an Iceberg REST catalog, until it is interrupted."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated

import typer

from parquetry.cli.app import StorageOption, StoreOption, WarehouseOption, app


class Planning(Enum):
    """Who plans scans."""

    SERVER = "server"
    CLIENT = "client"


@app.command(epilog="Example: parquetry serve-iceberg -w /data/lake --port 8181")
def serve_iceberg(
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", help="The port.", min=1, max=65535)] = 8181,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="PARQUETRY_ICEBERG_TOKEN",
            help="A token that every request must have (`Authorization: Bearer …`). Other users of the machine see the "
            "arguments of commands: the environment is safer.",
            show_default=False,
        ),
    ] = None,
    planning: Annotated[
        Planning,
        typer.Option(
            "--planning",
            help="Who chooses the files of a scan: this server, for clients that can ask it; or all clients by themselves, from manifests.",
        ),
    ] = Planning.SERVER,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    storage_option: StorageOption = None,
) -> None:
    """Serve a warehouse to Iceberg's readers.

    It is a read-only Iceberg REST catalog. Engines that read Iceberg's tables (PyIceberg, Polars, DuckDB,
    Spark with Iceberg's jar) read the warehouse's tables. This server chooses the files of a scan, and
    engines read them with credentials of their own. For engines that choose files by themselves, it writes
    manifests into the folder `_iceberg` of the table.
    """
    from parquetry.cli.app import storage_options
    from parquetry.iceberg import IcebergCatalog, serve
    from parquetry.locations import ArrowFileSystems, use_file_systems
    from parquetry.metastore import open_metastore
    from parquetry.warehouse import find_warehouse

    source = find_warehouse(warehouse, store)
    systems = ArrowFileSystems(storage_options(storage_option))
    with use_file_systems(systems), open_metastore(source.location, source.store) as metastore:
        catalog = IcebergCatalog(metastore, planning.value)
        print(f"Iceberg REST catalog of {metastore.warehouse} at http://{host}:{port}", file=sys.stderr)
        serve(catalog, host, port, token)
