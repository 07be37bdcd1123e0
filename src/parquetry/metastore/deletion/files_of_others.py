"""Files in a table's folder that Parquetry wrote for another table, by the id in their names.

A DROP that died leaves such files until a vacuum deletes them. A sync that took them in would bring back rows
of a dropped table, and would list files that are about to be deleted.
"""

from __future__ import annotations

from parquetry.locations import is_own, table_in_name
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.keyspace import TABLE_ID_BYTES
from parquetry.metastore.versions.snapshot import TableSnapshot


class FilesOfOthers:
    """Tells which files a sync leaves alone, as they bear the id of another table.

    In the folder of a managed table, no other table's files are taken in. An external table may take in the
    files of another one, such as of the table that it was before a DROP, unless they are still to be deleted.

    Args:
        table: the table to sync.
    """

    def __init__(self, table: TableSnapshot) -> None:
        self._table = table
        self._dropped: dict[str, bool] = {}

    def reason(self, path: str) -> str | None:
        """Return why a file is left alone, or None if it may be taken in.

        Args:
            path: of a file that the table does not list.
        """
        id = table_in_name(path)
        if id is None or is_own(path, self._table.id):
            return None
        if self._is_dropped(id):
            return "it is of a dropped table. A vacuum of any table deletes it"
        if self._table.metadata.external:
            return None
        return (
            f"its name bears the id of another table, {id}. To take it in, copy it under a name that does not begin with 'pq-', or "
            "INSERT its rows"
        )

    def _is_dropped(self, id: str) -> bool:
        """Return whether a table of this metastore was dropped, and its files are not all deleted."""
        if id not in self._dropped:
            is_id = len(id) == 2 * TABLE_ID_BYTES
            head = read_head(self._table.store, bytes.fromhex(id)) if is_id else None
            self._dropped[id] = head is not None and head.is_deleted
        return self._dropped[id]
