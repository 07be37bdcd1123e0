"""Write the lists of files of a table's partitions anew, in their newest form: full chunks, in the table's order.

Appends leave small chunks, and chunks whose files lie anywhere in the sort order; a metastore of an older format has
lists of records. Neither is wrong, but a plan reads more of them. No data file is read or written, and nothing that a
query sees changes; chunks that are as they should be are shared by the old version and the new one.
"""

from __future__ import annotations

from parquetry.maintenance.results import Compacted
from parquetry.metastore.commits import Transaction, commit
from parquetry.metastore.manifest import EntryWriter
from parquetry.metastore.versions import TableSnapshot, entry_of
from parquetry.progress import Progress, silent


def compact_metadata(table: TableSnapshot, progress: Progress = silent) -> Compacted:
    """Write anew what is not in the newest form, in one commit; none if there is nothing to do.

    Others may append meanwhile. Whoever replaces or drops a partition of these conflicts, as with any other change.

    Args:
        table: as it is now.
        progress: called with how many partitions have been looked at, of how many.

    Returns:
        what was done.

    Raises:
        MetastoreDamagedError: a list of files cannot be read.
        TableNotFoundError: the table was dropped, or a list of files is missing.
        CommitConflictError: others took a partition out meanwhile.
    """
    transaction = Transaction(table, "compact metadata")
    writer = EntryWriter(table.store, table.id, 0, table.metadata)  # which is asked, and writes nothing
    before = 0
    for done, partition in enumerate(table.partitions(), 1):
        if writer.needs_recut(partition.entry):
            transaction.recut(partition.values)
            before += len(partition.entry.chunks)
        progress("partitions", done, table.totals.partitions)
    count = len(transaction.changes)
    if not count:
        return Compacted(0, 0, 0)
    written = commit(transaction, {"partitions": str(count)}).visible.newest(transaction.changes)
    entries = [entry for found in written.values() if (entry := entry_of(found)) is not None]
    return Compacted(count, before, sum(len(entry.chunks) for entry in entries))
