"""Serve a warehouse as an Iceberg REST catalog by HTTP: uvicorn runs the application in its processes.

The server is for reading. It hands out no credentials of the storage: engines bring their own. One token may
be required of all requests. By default it listens on 127.0.0.1 alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from parquetry.iceberg.application import Application
from parquetry.iceberg.catalog import IcebergCatalog
from parquetry.serving import ServedSource, require_secret, run_application, settle_memory


@dataclass(frozen=True)
class ServedWarehouse(ServedSource):
    """A warehouse, as each process of a server opens it.

    Attributes:
        planning: who plans scans, as for `IcebergCatalog`.
        token: that requests must have, or None.
        catalog: the warehouse's name in Spark, for views, or None.
        history: the settings of the history of queries, by name.
    """

    planning: Literal["server", "client"] = "server"
    token: str | None = None
    catalog: str | None = None
    history: Mapping[str, str] = field(default_factory=dict)

    def open(self) -> Application:
        """Open the warehouse, and return the application that answers the requests of this process."""
        reopen = self.start()
        catalog = IcebergCatalog(
            reopen(), self.planning, name=self.catalog, reopen=reopen, history=self.history
        )
        settle_memory()
        return Application(catalog, self.token)


def serve(
    served: ServedWarehouse, host: str, port: int, workers: int = 1, begin: Callable[[], None] = lambda: None
) -> None:
    """Answer requests until the process is interrupted.

    Args:
        served: the warehouse.
        host: the address to listen on.
        port: the port.
        workers: number of processes that answer. A process that ends is replaced by another.
        begin: called before the first request, once uvicorn is found.

    Raises:
        ConfigurationError: uvicorn is not installed, or others could ask without a token.
    """
    require_secret(host, served.token, "give --token, or leave --host out")
    factory = functools.partial(ServedWarehouse.open, served)
    run_application(factory, (host, port), "iceberg", workers, begin)
