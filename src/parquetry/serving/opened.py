"""The metastore of a served warehouse, opened again if its file was replaced, as by a restore.

A server runs for weeks. Meanwhile somebody may move the folder `_parquetry` away, and restore a dump. The
open file would answer for ever with the tables of before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from parquetry.metastore import Metastore, forget_metadata, locations_epoch, metastore_file


class OpenedMetastore:
    """A metastore for several threads.

    Args:
        metastore: the metastore.
        reopen: opens it again, or None if it is never opened again.
    """

    def __init__(self, metastore: Metastore, reopen: Callable[[], Metastore] | None = None) -> None:
        self._metastore, self._reopen = metastore, reopen
        self._file = metastore_file(metastore)
        self._epoch = locations_epoch(metastore.store)
        self._lock = threading.Lock()

    @property
    def metastore(self) -> Metastore:
        """Return the metastore.

        Raises:
            WarehouseError: there is none any more.
        """
        if self._reopen is not None and metastore_file(self._metastore) != self._file:
            with self._lock:
                if metastore_file(self._metastore) != self._file:
                    # The one of before is not closed: other threads may be reading it.
                    self._metastore = self._reopen()
                    self._file = metastore_file(self._metastore)
        return self._metastore

    def current(self) -> tuple[Metastore, bytes]:
        """Return the metastore, and its epoch; see `metastore.storage.format`.

        Raises:
            WarehouseError: there is none any more.
        """
        metastore = self.metastore
        epoch = locations_epoch(metastore.store)
        if epoch != self._epoch:  # rows that this process may have cached were rewritten
            forget_metadata(metastore.store)
            self._epoch = epoch
        return metastore, epoch
