"""Drop tables with their files. `metastore.deletion.owned_files` decides which files may be deleted."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable

import msgspec

from parquetry.errors import TableNotFoundError, WarehouseError
from parquetry.metastore.commits.replacement import Replacement
from parquetry.metastore.deletion.claims import claims
from parquetry.metastore.deletion.dropped_files import DroppedTableFiles
from parquetry.metastore.deletion.file_access import FileAccess, RealPaths
from parquetry.metastore.metastore import Metastore
from parquetry.metastore.namespace.staging import StagedTable
from parquetry.metastore.storage import owner
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Kind
from parquetry.metastore.transactions.gathering import keeps_rows_of
from parquetry.metastore.versions.snapshot import TableSnapshot


def staged_deletion(staged: StagedTable) -> Callable[[], None]:
    """Return the function that deletes a staged table's files once the table is discarded."""
    doomed = DroppedTableFiles(staged.snapshot, given_up=True)
    return functools.partial(_delete, [doomed])


def delete_replacement(replacement: Replacement) -> None:
    """Delete the files that were written for a replacement that will not be committed."""
    files = FileAccess()
    for failure in files.delete_all(map(files.storage_path, replacement.files)):
        raise WarehouseError(failure)


class Dropping:
    """Tables that are dropped with their files.

    The list of files is read before the drop, and the files are deleted after it, for that very table.
    Meanwhile another table may have taken its name, or it may have been renamed. The rows are deleted last:
    if this process dies before, or cannot delete a file, a vacuum of any table deletes files and rows. In a
    transaction of several tables, its commit deletes both.

    Args:
        metastore: the metastore.
    """

    def __init__(self, metastore: Metastore) -> None:
        self._metastore = metastore
        self._gone: list[DroppedTableFiles] = []
        self._author = owner.enter()
        self._leave = weakref.finalize(self, owner.leave, self._author)

    def drop(self, database: str, name: str, kind: Kind | None = "table") -> None:
        """Drop a table, or a view.

        Args:
            database: case-insensitive.
            name: case-insensitive.
            kind: the expected kind, or None for either.

        Raises:
            NamespaceNotFoundError: there is no such database.
            TableNotFoundError: there is no such table.
        """
        doomed: list[DroppedTableFiles] = []

        def read(table: TableSnapshot) -> bool:
            doomed.clear()
            if table.metadata.view is not None or keeps_rows_of(table.store, table.id):
                return False
            try:
                doomed.append(DroppedTableFiles(table))
            except TableNotFoundError:  # some of its rows were deleted, unless others have changed it since
                return True
            return table.metadata.external  # the files in the last version of an external table stay

        now = store_now_ms(self._metastore.store)
        author = msgspec.structs.replace(self._author, started_at=now)
        last = self._metastore.drop_table(database, name, kind=kind, before=read, author=author)
        if not doomed and last.metadata.view is None:
            self._metastore.finish_drop(last.id, last.label)
        self._gone += doomed

    def delete_files(self) -> None:
        """Delete the files of the tables that were dropped, and then their rows.

        Raises:
            WarehouseError: some files cannot be deleted. All others are deleted, and the tables are dropped.
        """
        try:
            _delete(self._gone, self._metastore.finish_drop)
        finally:
            self._leave()  # what is left is a vacuum's


def _delete(
    tables: list[DroppedTableFiles], finish: Callable[[bytes, str], None] = lambda _id, _label: None
) -> None:
    """Delete the files of tables that were dropped, as `Dropping.delete_files` does."""
    if not tables:
        return
    claimed = functools.cache(lambda: list(claims(tables[0].store, RealPaths())))
    failures: list[tuple[str, str]] = []
    for table in tables:
        left = table.delete(claimed)
        failures += ((table.label, failure) for failure in left)
        if not left:
            finish(table.id, table.label)
    if failures:
        label, first = failures[0]
        raise WarehouseError(
            f"Table {label} is gone, but {len(failures)} of its files are left: {first.rstrip('.')}. Once that is "
            "possible, a vacuum of any table deletes them."
        )
