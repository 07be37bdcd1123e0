"""The versions of a table that can be read, as the commits that made them tell."""

from __future__ import annotations

from collections.abc import Iterator

from parquetry.metastore.storage import CommitRecord, read_head
from parquetry.metastore.versions import TableSnapshot


def history(snapshot: TableSnapshot, first: int = 0, last: int | None = None) -> Iterator[CommitRecord]:
    """Yield the commits up to a version, newest first, as far as their versions can be read.

    Args:
        snapshot: the version.
        first: the oldest version that is wanted.
        last: the newest; None is the snapshot's.
    """
    head = read_head(snapshot.store, snapshot.id)
    oldest = 0 if head is None else head.oldest
    for commit in snapshot.history(first, last):
        # A vacuum that was cut short may have left commits whose partitions are gone.
        if commit.version < oldest:
            break
        yield commit
