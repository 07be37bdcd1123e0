"""The commands that hand a warehouse's metrics to Prometheus."""

from __future__ import annotations

import sys
import threading
from typing import Annotated

import typer

from parquetry.cli.app import app
from parquetry.cli.options import HostOption, PortOption, StorageOptions, WarehouseOptions


@app.command("write-metrics", epilog="Example: parquetry write-metrics /var/lib/node_exporter/parquetry.prom")
def write_metrics(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file; node_exporter reads those that end with .prom.")
    ],
    warehouse: StorageOptions,
) -> None:
    """Write the metrics of a warehouse to a file.

    A timer runs it for the textfile collector of node_exporter. The file has versions, files and bytes of
    each table, bytes of old versions, and the time of the last vacuum.
    """
    from parquetry.metrics import WarehouseCollector, write_metrics as write

    with warehouse.file_systems():
        write(file, WarehouseCollector(warehouse.metastore))


@app.command("serve-metrics", epilog="Example: parquetry serve-metrics --port 9470")
def serve_metrics(
    *,
    host: HostOption = "127.0.0.1",
    port: PortOption = 9470,
    warehouse: WarehouseOptions,
) -> None:
    """Serve a warehouse's metrics to Prometheus.

    Each request reads the metastore. The names and sizes of tables are readable by all who reach the port.
    """
    from parquetry.metrics import WarehouseCollector, serve_metrics as serve

    with warehouse.metastore() as metastore:
        location = metastore.warehouse  # an error here is of the warehouse, before any request
    serve(host, port, WarehouseCollector(warehouse.metastore))
    print(f"Metrics of {location} at http://{host}:{port}/metrics", file=sys.stderr)
    threading.Event().wait()
