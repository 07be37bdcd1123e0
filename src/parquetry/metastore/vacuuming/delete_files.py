"""Delete the files that vacuum found, and the directories that become empty.

The table's own files have unique names, which no later commit lists. A file of another writer may be adopted
again, and an own file may be of a long write, also into a branch. So a commit that adopts files
(`Requirements.adopt`) is refused while a `Cleaner` is at work, and a cleaner begins when no commit is under
way. It deletes some files at a time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from parquetry.errors import CommitConflictError, ParquetryError, TableNotFoundError, WarehouseError
from parquetry.locations import StoragePath, parent_folder
from parquetry.metastore.deletion.file_access import FileAccess, checksum_file
from parquetry.metastore.deletion.owned_files import OwnedFiles
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, edit_head, ended_cleaner
from parquetry.metastore.storage.owner import Owner, active_owner
from parquetry.metastore.vacuuming.find_unneeded_files import Candidates, NeededFiles
from parquetry.metastore.versions.snapshot import load
from parquetry.store import Store

PATIENCE_S = 30.0
"""Seconds to wait for running commits."""
_FILES_PER_CLAIM = 1000
"""Other writers' files that are deleted while commits that adopt files wait.

S3 deletes at most as many with one request."""
_PAUSE_S = 0.05


class Cleaner:
    """A process that deletes files; see above.

    Args:
        store: store of the metastore.
        table: id of the table.
        owner: this process; its nonce distinguishes this cleaner from others.

    Attributes:
        seen: the newest commits of the table and its branches at the last claim, by their ids.
    """

    def __init__(self, store: Store, table: bytes, owner: Owner) -> None:
        self._store = store
        self._table = table
        self._owner = owner
        self.seen: dict[bytes, str] = {}
        self._locked: set[bytes] = set()

    def claim(self, patience: float) -> Head:
        """Take the lock, or renew its lease, once no commit is under way.

        Args:
            patience: seconds to wait.

        Returns:
            the head. It shows every commit so far, and no commit adopts files from then on.

        Raises:
            CommitConflictError: a commit was under way all the time, or another process deletes files.
            TableNotFoundError: the table was dropped.
        """
        deadline = time.monotonic() + patience
        while True:
            head = self._try()
            if head is not None:
                return head
            if time.monotonic() > deadline:
                raise CommitConflictError(
                    f"The table has been committed to, or vacuumed by others, without a pause for "
                    f"{patience:.0f} s; run vacuum again: it goes on where it was."
                )
            time.sleep(_PAUSE_S)

    def _try(self) -> Head | None:
        head = self._lock(self._table)
        if head is None:
            return None
        seen = {self._table: head.commit.id}
        for branch in head.branches.values():
            try:
                locked = self._lock(branch.id)
            except TableNotFoundError:  # dropped, or published: then the table has another version
                continue
            if locked is None:
                return None
            seen[branch.id] = locked.commit.id
        self.seen = seen
        return head

    def _lock(self, table: bytes) -> Head | None:
        """Take the lock of the table, or of a branch; return None if commits are under way."""
        now = store_now_ms(self._store)
        mine = msgspec.structs.replace(self._owner, started_at=now)

        def change(head: Head) -> Head:
            if head.is_deleted:
                raise TableNotFoundError(f"The table was {head.state} meanwhile.")
            other = None if self._is_mine(head) else head.cleaner
            if is_written(head, now) or (other is not None and not other.is_dead(now)):
                return head
            return msgspec.structs.replace(head, cleaner=mine)

        self._locked.add(table)
        head = edit_head(self._store, table, change, lambda head: head.cleaner == mine)
        return head if head.cleaner == mine and not is_written(head, now) else None

    def release(self) -> None:
        """Release the lock, so that commits can adopt files again."""

        def change(head: Head) -> Head:
            ended = ended_cleaner(head.next_ticket)
            return msgspec.structs.replace(head, cleaner=ended) if self._is_mine(head) else head

        for table in self._locked:
            with contextlib.suppress(TableNotFoundError):  # dropped, or a branch that has ended
                edit_head(self._store, table, change, lambda head: not self._is_mine(head))

    def _is_mine(self, head: Head) -> bool:
        return head.cleaner is not None and head.cleaner.nonce == self._owner.nonce


@contextlib.contextmanager
def cleaner(store: Store, table: bytes) -> Iterator[Cleaner]:
    """Yield a cleaner, which may delete a table's files after a claim. Its lock ends with the block."""
    with active_owner() as owner:
        one = Cleaner(store, table, owner)
        try:
            yield one
        finally:
            with contextlib.suppress(ParquetryError):  # the lock also ends with the process, or its lease
                one.release()


def is_written(head: Head, now: int) -> bool:
    """Return whether a commit is under way and its author may be alive at a time in milliseconds."""
    return any(not owner.is_dead(now) for owner in head.pending.values())


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
            head: the head that was used to find the files.
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
        seen = {self._table: head.commit.id}  # of branches, no commit was seen before the files were found
        with cleaner(self._store, self._table) as one:
            while remaining:
                now = one.claim(PATIENCE_S)
                if one.seen == seen:
                    some = {path: remaining[path] for path in islice(remaining, _FILES_PER_CLAIM)}
                    self._delete(some)
                    for path in some:
                        del remaining[path]
                    continue
                before, head, seen = set(remaining), now, one.seen
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
