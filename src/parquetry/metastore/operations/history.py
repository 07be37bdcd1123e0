"""List the readable versions of a table by their commits."""

from __future__ import annotations

from collections.abc import Iterator

from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.versions.snapshot import TableSnapshot


def history(snapshot: TableSnapshot, first: int = 0, last: int | None = None) -> Iterator[CommitRecord]:
    """Yield the commits of readable versions up to a version, newest first.

    Args:
        snapshot: the version.
        first: the oldest version to yield.
        last: the newest version to yield, or None for the snapshot's.
    """
    head = read_head(snapshot.store, snapshot.id)
    oldest = 0 if head is None else head.oldest
    for commit in snapshot.history(first, last):
        # An interrupted vacuum may have left commits whose partitions are deleted.
        if commit.version < oldest:
            break
        yield commit
