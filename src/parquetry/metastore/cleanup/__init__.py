"""Removing what commits leave behind: rows of failed commits, unneeded versions, entries of indexes.

`parquetry.maintenance.deletion` deletes data files.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.cleanup.in_flight import is_alive, keep_in_flight, writes_in_flight
    from parquetry.metastore.cleanup.index_upkeep import (
        entries_of_dropped,
        entries_of_rows,
        leftover_entries,
        missing_entries,
        unneeded_entries,
    )
    from parquetry.metastore.cleanup.recovery import delete_table
    from parquetry.metastore.cleanup.retention import (
        Need,
        StoredRow,
        commit_rows,
        delete_stored_rows,
        kept_since,
        oldest_commit,
        retire,
        stored_rows,
        unneeded_chunks,
        unneeded_commits,
        unneeded_metadata,
    )
    from parquetry.metastore.cleanup.vacuum_lock import cleaner

lazy_exports(__name__)
