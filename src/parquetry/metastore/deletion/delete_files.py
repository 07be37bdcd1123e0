"""Delete the files that vacuum found, and the directories that become empty.

A commit may list some of them again: files of another writer, and own files of a long write. These are
deleted some at a time, while `metastore.cleanup.vacuum_lock` keeps such commits out.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from parquetry.errors import WarehouseError
from parquetry.locations import StoragePath, parent_folder
from parquetry.metastore.cleanup.vacuum_lock import cleaner
from parquetry.metastore.deletion.file_access import FileAccess, checksum_file
from parquetry.metastore.deletion.find_unneeded_files import Candidates, NeededFiles
from parquetry.metastore.deletion.owned_files import OwnedFiles
from parquetry.metastore.storage.head import Head
from parquetry.metastore.versions.snapshot import load
from parquetry.store import Store

PATIENCE_S = 30.0
"""Seconds to wait for running commits."""
_FILES_PER_CLAIM = 1000
"""Other writers' files that are deleted while commits that adopt files wait.

S3 deletes at most as many with one request."""


class FileDeletion:
    """The deletion of a table's unneeded files.

    Args:
        store: the metastore's store.
        table: the table's id.
        owned: the files that may be deleted.
        files: the file systems.
        needed: the files that must stay, if others have committed meanwhile.
    """

    def __init__(
        self, store: Store, table: bytes, owned: OwnedFiles, files: FileAccess, needed: NeededFiles
    ) -> None:
        self._store = store
        self._table = table
        self._owned = owned
        self._files = files
        self._needed = needed

    def delete(self, head: Head, unneeded: Candidates) -> None:
        """Delete the files. A file that a commit adopts meanwhile is removed from `unneeded` instead.

        Args:
            head: the head by which the files are unneeded.
            unneeded: the files by their paths.

        Raises:
            WarehouseError: a file cannot be deleted.
            CommitConflictError: others keep committing.
        """
        # only a rollback could list these names again, and it now fails
        self._delete({path: each for path, each in unneeded.items() if not each.may_be_listed})
        if any(each.may_be_listed for each in unneeded.values()):
            head = self._delete_claimed(head, unneeded)
        self._delete_folders(head, unneeded)

    def _delete(self, files: Candidates) -> None:
        """Delete files and their checksums. A checksum goes first: without its file, its owner would not be
        known.
        """
        checksums = (checksum_file(path) for path, each in files.items() if each.checksum is not None)
        for paths in (checksums, files):
            for failure in self._files.delete_all(paths):
                raise WarehouseError(failure)

    def _delete_claimed(self, head: Head, unneeded: Candidates) -> Head:
        """Delete files that a commit may list, some at a time, while no such commit can come in between."""
        remaining = {path: each for path, each in unneeded.items() if each.may_be_listed}
        with cleaner(self._store, self._table) as one:
            while remaining:
                now = one.claim(PATIENCE_S)
                if now.commit.version == head.commit.version:
                    some = {path: remaining[path] for path in islice(remaining, _FILES_PER_CLAIM)}
                    self._delete(some)
                    for path in some:
                        del remaining[path]
                    continue
                before, head = set(remaining), now
                self._needed.keep(head, remaining)
                for path in before - remaining.keys():  # adopted meanwhile
                    del unneeded[path]
        return head

    def _delete_folders(self, head: Head, files: Iterable[StoragePath]) -> None:
        """Remove directories that are empty now, since an empty directory could be taken for a partition."""
        folders = {parent_folder(path) for path in files}
        if folders:
            partitions = load(self._store, self._table, head).partitions()
            self._owned.prune(folders, {self._owned.real_folder(each.location) for each in partitions})
