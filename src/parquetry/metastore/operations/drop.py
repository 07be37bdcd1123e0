"""Drop tables with their files. `metastore.deletion.owned_files` decides which files may be deleted."""

from __future__ import annotations

import functools
from collections.abc import Callable

from parquetry.errors import TableNotFoundError, WarehouseError
from parquetry.metastore.commits.replacement import Replacement
from parquetry.metastore.deletion.claims import claims
from parquetry.metastore.deletion.file_access import FileAccess, RealPaths
from parquetry.metastore.deletion.owned_files import DroppedTableFiles
from parquetry.metastore.metastore import Metastore
from parquetry.metastore.namespace.staging import StagedTable
from parquetry.metastore.storage.head import Kind
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
    Meanwhile another table may have taken its name, or it may have been renamed.

    Args:
        metastore: the metastore.
    """

    def __init__(self, metastore: Metastore) -> None:
        self._metastore = metastore
        self._gone: list[DroppedTableFiles] = []

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
            if table.metadata.view is not None:
                return False
            try:
                doomed.append(DroppedTableFiles(table))
            except TableNotFoundError:  # some of its rows were deleted, unless others have changed it since
                return True
            return table.metadata.external  # the files in the last version of an external table stay

        self._metastore.drop_table(database, name, kind=kind, before=read)
        self._gone += doomed

    def delete_files(self) -> None:
        """Delete the files of the tables that were dropped.

        Raises:
            WarehouseError: some files cannot be deleted. All others are deleted, and the tables are dropped.
        """
        _delete(self._gone)


def _delete(tables: list[DroppedTableFiles]) -> None:
    """Delete the files of tables that were dropped, as `Dropping.delete_files` does."""
    if not tables:
        return
    claimed = functools.cache(lambda: list(claims(tables[0].store, RealPaths())))
    failures = [(table.label, failure) for table in tables for failure in table.delete(claimed)]
    if failures:
        label, first = failures[0]
        raise WarehouseError(
            f"Table {label} is gone, but {len(failures)} of its files are left: {first.rstrip('.')}. Delete by hand what of "
            "them is not needed."
        )
