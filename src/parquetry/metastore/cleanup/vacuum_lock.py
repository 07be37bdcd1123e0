"""The lock of a vacuum that deletes files of other writers, so that no commit adopts them at the same time.

The table's own files have unique names, which no later commit lists. A file of another writer may be adopted
again. So a commit that adopts files (`Requirements.adopt`) is refused while a cleaner is at work, and a
cleaner begins when no commit is under way.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import msgspec

from parquetry.errors import CommitConflictError, ParquetryError, TableNotFoundError
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, edit_head, swept_until
from parquetry.metastore.storage.owner import Owner, active_owner
from parquetry.store import Store

_PAUSE_S = 0.05


class Cleaner:
    """A process that deletes files; see `vacuum_lock`.

    Args:
        store: store of the metastore.
        table: id of the table.
        owner: this process; its nonce distinguishes this cleaner from others.
    """

    def __init__(self, store: Store, table: bytes, owner: Owner) -> None:
        self._store = store
        self._table = table
        self._owner = owner

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
        now = store_now_ms(self._store)
        mine = msgspec.structs.replace(self._owner, started_at=now)

        def change(head: Head) -> Head:
            if head.is_deleted:
                raise TableNotFoundError(f"The table was {head.state} meanwhile.")
            other = None if self._is_mine(head) else head.cleaner
            if is_written(head, now) or (other is not None and not other.is_dead(now)):
                return head
            return msgspec.structs.replace(head, cleaner=mine)

        head = edit_head(self._store, self._table, change, lambda head: head.cleaner == mine)
        return head if head.cleaner == mine and not is_written(head, now) else None

    def release(self) -> None:
        """Release the lock, so that commits can adopt files again."""

        def change(head: Head) -> Head:
            ended = swept_until(head.next_ticket)
            return msgspec.structs.replace(head, cleaner=ended) if self._is_mine(head) else head

        edit_head(self._store, self._table, change, lambda head: not self._is_mine(head))

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
