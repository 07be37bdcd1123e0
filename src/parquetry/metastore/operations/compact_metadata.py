"""Rewrite the manifests of a table's partitions in their newest form: full chunks, in the table's sort order.

Appends leave small chunks, and chunks with files from anywhere in the sort order. A metastore of an older
format has lists of records. None of them is wrong, but a plan reads more of them. No data file is read or
written, and queries see no change. Chunks that are good already are shared by the old version and the new
one.
"""

from __future__ import annotations

from parquetry.metastore.commits.committer import commit
from parquetry.metastore.manifest.entries import EntryWriter
from parquetry.metastore.partition_rows.visible_rows import entry_of
from parquetry.metastore.range_manifests.upkeep import refresh_ranges
from parquetry.metastore.results import Compacted
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.progress import Progress, silent


def count_outdated_lists(table: TableSnapshot) -> int:
    """Return the number of partitions whose manifests `compact_metadata` would rewrite."""
    writer = EntryWriter(table.store, table.id, 0, table.metadata)
    return sum(writer.needs_recut(partition.entry) for partition in table.partitions())


def compact_metadata(table: TableSnapshot, progress: Progress = silent) -> Compacted:
    """Rewrite manifests that are not in the newest form, in one commit, or commit nothing if all are.

    Others may append meanwhile. A writer that replaces or drops one of these partitions conflicts, as with
    any change.

    Args:
        table: the newest version.
        progress: called with the number of partitions done, and of all.

    The table's range manifests are brought up to date, too.

    Returns:
        What was rewritten.

    Raises:
        MetastoreDamagedError: a manifest cannot be read.
        TableNotFoundError: the table was dropped, or a manifest is missing.
        CommitConflictError: others dropped or replaced one of the partitions meanwhile.
    """
    transaction = Transaction(table, "compact metadata")
    writer = EntryWriter(table.store, table.id, 0, table.metadata)  # only asked; it writes nothing
    before = 0
    for done, partition in enumerate(table.partitions(), 1):
        if writer.needs_recut(partition.entry):
            transaction.recut(partition.values)
            before += len(partition.entry.chunks)
        progress("partitions", done, table.totals.partitions)
    count = len(transaction.changes)
    if not count:
        refresh_ranges(table)
        return Compacted(0, 0, 0)
    written = commit(transaction, {"partitions": str(count)}).visible.newest(transaction.changes)
    refresh_ranges(table)
    entries = [entry for row in written.values() if (entry := entry_of(row)) is not None]
    return Compacted(count, before, sum(len(entry.chunks) for entry in entries))
