"""The commands that hand a warehouse's metrics to Prometheus."""

from __future__ import annotations

import sys
import threading
from functools import partial
from typing import Annotated

import typer

from parquetry.cli.app import StorageOption, StoreOption, WarehouseOption, app, storage_options


@app.command("write-metrics", epilog="Example: parquetry write-metrics /var/lib/node_exporter/parquetry.prom")
def write_metrics(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file; node_exporter reads those that end with .prom.")
    ],
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
    storage_option: StorageOption = None,
) -> None:
    """Write the metrics of a warehouse to a file.

    A timer runs it for the textfile collector of node_exporter. The file has versions, files and bytes of
    each table, bytes of old versions, and the time of the last vacuum.
    """
    from parquetry.locations import ArrowFileSystems, use_file_systems
    from parquetry.metastore import open_metastore
    from parquetry.metrics import WarehouseCollector, write_metrics as write
    from parquetry.warehouse import find_warehouse

    source = find_warehouse(warehouse, store)
    with use_file_systems(ArrowFileSystems(storage_options(storage_option))):
        write(file, WarehouseCollector(partial(open_metastore, source.location, source.store)))


@app.command("serve-metrics", epilog="Example: parquetry serve-metrics --port 9470")
def serve_metrics(
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", help="The port.", min=1, max=65535)] = 9470,
    warehouse: WarehouseOption = None,
    store: StoreOption = None,
) -> None:
    """Serve a warehouse's metrics to Prometheus.

    Each request reads the metastore. The names and sizes of tables are readable by all who reach the port.
    """
    from parquetry.metastore import open_metastore
    from parquetry.metrics import WarehouseCollector, serve_metrics as serve
    from parquetry.warehouse import find_warehouse

    source = find_warehouse(warehouse, store)
    with open_metastore(source.location, source.store) as metastore:
        location = metastore.warehouse  # an error here is of the warehouse, before any request
    serve(host, port, WarehouseCollector(partial(open_metastore, source.location, source.store)))
    print(f"Metrics of {location} at http://{host}:{port}/metrics", file=sys.stderr)
    threading.Event().wait()
