"""Which partitions the commits between two versions wrote to, kept for the next question about these versions.

A batch of a stream is asked for twice: how far it goes, and which files it reads. To find the partitions that were written to, all
keys of the table are looked at; they are looked at for the first question, and the second is answered from what was found.

    how far, from version 7 on    versions 8 to 12    all keys    p=1 (ticket 9), p=4 (ticket 11), p=5 (ticket 12)
    the files of 8 to 10          versions 8 to 10    none        p=1, p=4, p=5: of these the rows are read anyway
    the files of 11 to 12         versions 11 to 12   none        p=4, p=5: the newest row of p=1 is older
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from parquetry.metastore.storage import CommitRecord
from parquetry.metastore.versions.snapshot import TableSnapshot

_CACHED_VERSION_RANGES = 16
"""Ranges of versions, as many as streams may read at a time."""
_MAX_CACHED_KEYS = 100_000
"""Of a range: some ten megabytes. Of more partitions than that all rows are read, beside which the keys cost little."""


class TouchedPartitions:
    """Partitions by the versions that wrote to them; may be used by several threads."""

    def __init__(self) -> None:
        self._cached: OrderedDict[tuple[bytes, frozenset[str]], dict[bytes, int]] = OrderedDict()
        """By table and ids of commits: keys of partitions, each with the ticket of its newest row in the last of the versions."""
        self._lock = threading.Lock()

    def written_by(self, last: TableSnapshot, commits: Sequence[CommitRecord]) -> list[bytes]:
        """Return the keys of partitions among which are all that some commits wrote rows of.

        Args:
            last: the table in the newest of their versions.
            commits: of versions that follow each other.
        """
        if not last.partition_types:
            return [b""]
        ids = frozenset(commit.id for commit in commits)
        oldest = min(commit.ticket for commit in commits)
        with self._lock:
            for versions, cached in self._cached.items():
                if versions[0] == last.id and ids <= versions[1]:
                    self._cached.move_to_end(versions)
                    # Each later row of a partition has a later ticket.
                    return [key for key, ticket in cached.items() if ticket >= oldest]
        tickets = dict(last.visible.newest_with_tickets({commit.ticket for commit in commits}))
        if len(tickets) <= _MAX_CACHED_KEYS:
            with self._lock:
                self._cached[last.id, ids] = tickets
                while len(self._cached) > _CACHED_VERSION_RANGES:
                    self._cached.popitem(last=False)
        return list(tickets)
