"""A cache of the partitions that the commits between two versions wrote to.

Spark asks twice about a batch of a stream: how far it goes, and which files it reads. To find the written
partitions, the first request reads all keys of the table. The second is answered from the cache.

| request                     | versions | keys read | result                                            |
|-----------------------------|----------|-----------|---------------------------------------------------|
| how far from version 7 on   | 8 to 12  | all       | p=1 (ticket 9), p=4 (ticket 11), p=5 (ticket 12)  |
| the files of 8 to 10        | 8 to 10  | none      | p=1, p=4, p=5: too many, as their rows then show  |
| the files of 11 to 12       | 11 to 12 | none      | p=4, p=5: the newest row of p=1 is older          |
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.versions.snapshot import TableSnapshot

_CACHED_VERSION_RANGES = 16
"""Cached ranges of versions: as many as streams usually read at the same time."""
_MAX_CACHED_KEYS = 100_000
"""Keys of one cached range, some ten megabytes. If more partitions were written, all their rows are read
anyway, and finding the keys again costs little beside that."""


class TouchedPartitions:
    """Partitions by the versions that wrote to them. Several threads may use it."""

    def __init__(self) -> None:
        self._cached: OrderedDict[tuple[bytes, frozenset[str]], dict[bytes, int]] = OrderedDict()
        """By table and ids of commits: partitions' keys with the ticket of each one's newest row in the last
        version."""
        self._lock = threading.Lock()

    def written_by(self, last: TableSnapshot, commits: Sequence[CommitRecord]) -> list[bytes]:
        """Return the keys of all partitions that some commits wrote to, and perhaps of others.

        Args:
            last: the table in the newest of their versions.
            commits: commits of consecutive versions.
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
