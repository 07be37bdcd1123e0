"""Serve a warehouse as an Iceberg REST catalog by HTTP: uvicorn runs the application in its processes.

The server is for reading. It hands out no credentials of the storage: engines bring their own. One token may
be required of all requests. By default it listens on 127.0.0.1 alone.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from parquetry.errors import ConfigurationError
from parquetry.iceberg.application import Application
from parquetry.iceberg.catalog import IcebergCatalog
from parquetry.locations import ArrowFileSystems, set_file_systems, use_file_systems
from parquetry.metastore import open_metastore
from parquetry.serving import require_secret

_OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""New objects after which Python looks for garbage: an answer of 5,000 files has some 20,000."""


@dataclass(frozen=True)
class ServedWarehouse:
    """A warehouse, as each process of a server opens it.

    Attributes:
        warehouse: folder or URI.
        store: URL of its metastore, or None.
        storage_options: of its object store.
        planning: who plans scans, as for `IcebergCatalog`.
        token: that requests must have, or None.
        catalog: the warehouse's name in Spark, for views, or None.
        history: the settings of the history of queries, by name.
    """

    warehouse: str
    store: str | None = None
    storage_options: dict[str, str] | None = None
    planning: Literal["server", "client"] = "server"
    token: str | None = None
    catalog: str | None = None
    history: Mapping[str, str] = field(default_factory=dict)

    def location(self) -> str:
        """Return the warehouse's location, once its metastore could be opened.

        Raises:
            WarehouseError: there is no such warehouse. The processes of a server would fail one by one.
        """
        with (
            use_file_systems(ArrowFileSystems(self.storage_options)),
            open_metastore(self.warehouse, self.store) as metastore,
        ):
            return metastore.warehouse

    def open(self) -> Application:
        """Open the warehouse, and return the application that answers the requests of this process."""
        set_file_systems(ArrowFileSystems(self.storage_options))
        reopen = functools.partial(open_metastore, self.warehouse, self.store)
        catalog = IcebergCatalog(
            reopen(), self.planning, name=self.catalog, reopen=reopen, history=self.history
        )
        gc.collect()
        gc.freeze()  # what is imported stays
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
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
    try:
        import uvicorn
        from uvicorn.supervisors import Multiprocess
    except ImportError:
        raise ConfigurationError(
            "This needs uvicorn, which is not installed: pip install 'parquetry[iceberg]'."
        ) from None
    begin()
    factory: Any = functools.partial(ServedWarehouse.open, served)
    config = uvicorn.Config(
        factory, host, port, factory=True, workers=workers, log_level="warning", access_log=False, ws="none"
    )
    if workers == 1:
        uvicorn.Server(config).run()
    else:
        Multiprocess(config, sockets=[config.bind_socket()]).run()
