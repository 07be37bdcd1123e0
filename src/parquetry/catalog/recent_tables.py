"""Tables that were read recently, so that the next look-up need not read them again.

A look-up of one row asks the metastore for the table's name, its head and its metadata, and decodes them. If
no process has written since, all of it is the same. A SQLite store shows that by a few bytes
(`store.change_mark`). Other stores are asked each time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from parquetry.catalog.lookup import find_table
from parquetry.metastore import Metastore, TableSnapshot, change_mark
from parquetry.prune import PartitionCache
from parquetry.store import ChangeMark

_MAX_TABLES = 64
"""Tables that are kept. Each has a few kilobytes of metadata."""


class RecentTables:
    """The newest versions of tables; several threads may use it.

    Args:
        metastore: of the tables.

    Attributes:
        partitions: the partitions of recent scans, by version.
    """

    def __init__(self, metastore: Metastore) -> None:
        self._metastore = metastore
        self._tables: OrderedDict[str, TableSnapshot] = OrderedDict()
        self._mark: ChangeMark | None = None
        """The state of the metastore before they were read."""
        self._lock = threading.Lock()
        self.partitions = PartitionCache()

    def find(self, name: str) -> TableSnapshot:
        """Return the newest version of a table.

        Raises:
            NamespaceNotFoundError, TableNotFoundError: see `find_table`.
        """
        mark = change_mark(self._metastore)  # before the table is read, so that a later write changes it
        with self._lock:
            if mark is None or mark != self._mark:
                self._tables.clear()
                self._mark = mark
            table = self._tables.get(name)
        if table is not None:
            return table
        table = find_table(self._metastore, name)
        with self._lock:
            if mark is not None and mark == self._mark:
                self._tables[name] = table
                if len(self._tables) > _MAX_TABLES:
                    self._tables.popitem(last=False)
        return table
