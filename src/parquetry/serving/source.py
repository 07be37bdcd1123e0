"""The warehouse of a server, as each of its processes opens it."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from dataclasses import dataclass

from parquetry.locations import ArrowFileSystems, set_file_systems, use_file_systems
from parquetry.metastore import Metastore, open_metastore

_OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""New objects after which Python looks for garbage. An answer of a few thousand files has as many."""


@dataclass(frozen=True)
class ServedSource:
    """A warehouse that is served.

    Attributes:
        warehouse: folder or URI.
        store: URL of its metastore, or None.
        storage_options: of its object store.
    """

    warehouse: str
    store: str | None = None
    storage_options: dict[str, str] | None = None

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

    def start(self) -> Callable[[], Metastore]:
        """Give this process the warehouse's file systems, and return what opens its metastore."""
        set_file_systems(ArrowFileSystems(self.storage_options))
        return functools.partial(open_metastore, self.warehouse, self.store)


def settle_memory() -> None:
    """Tell Python that what is imported stays, and how often to look for garbage from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
