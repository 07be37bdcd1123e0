"""A table as a REPLACE TABLE defines it: what is committed on it waits for the replacement's own commit.

Whoever fills it does not need to know: its transactions are those of any table, and `committer` hands them over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from parquetry.metastore.commits.transaction import Transaction
from parquetry.metastore.storage import CommitRecord, TableMetadata, Totals
from parquetry.metastore.versions import TableSnapshot


class Successor(TableSnapshot):
    """A table that has no partitions.

    Args:
        base: the table that is replaced.
        metadata: what it is to be.
        gather: takes in a transaction that is committed, and its summary.
    """

    def __init__(
        self,
        base: TableSnapshot,
        metadata: TableMetadata,
        gather: Callable[[Transaction, Mapping[str, str]], None],
    ) -> None:
        nothing = CommitRecord(
            version=-1,  # it is none yet: what is remembered of versions must never be taken for what is to come
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
        """Do nothing: no row of any version is read."""
