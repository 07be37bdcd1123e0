"""A table as a REPLACE TABLE defines it. Commits on it wait for the replacement's own commit.

The code that fills it need not know: it makes transactions as on any table, and `committer` hands them to
`gather`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from parquetry.metastore.commits.transaction import Transaction
from parquetry.metastore.storage.model import CommitRecord, TableMetadata, Totals
from parquetry.metastore.versions.snapshot import TableSnapshot


class Successor(TableSnapshot):
    """A table without partitions.

    Args:
        base: the table that is replaced.
        metadata: its new metadata.
        gather: receives each committed transaction with its summary.
    """

    def __init__(
        self,
        base: TableSnapshot,
        metadata: TableMetadata,
        gather: Callable[[Transaction, Mapping[str, str]], None],
    ) -> None:
        nothing = CommitRecord(
            version=-1,  # not a version yet: caches of real versions must never answer for it
            ticket=0,
            id="",
            committed_at=base.committed_at,
            operation="replace",
            summary={},
            metadata=base.commit.metadata,
            totals=Totals(),
            next_ticket=1,
        )
        super().__init__(base.store, base.id, base.database, base.name, nothing, metadata)
        self.gather = gather

    def check_kept(self) -> None:
        """Do nothing: a successor reads no row of any version."""
