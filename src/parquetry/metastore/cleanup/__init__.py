"""What commits leave behind: rows of those that failed, versions that nobody needs, entries of indexes.

Data files are deleted elsewhere, in `parquetry.maintenance.deletion`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.cleanup.index_upkeep import entries_of_dropped as entries_of_dropped
    from parquetry.metastore.cleanup.index_upkeep import entries_of_rows as entries_of_rows
    from parquetry.metastore.cleanup.index_upkeep import leftover_entries as leftover_entries
    from parquetry.metastore.cleanup.index_upkeep import missing_entries as missing_entries
    from parquetry.metastore.cleanup.index_upkeep import unneeded_entries as unneeded_entries
    from parquetry.metastore.cleanup.recovery import delete_table as delete_table
    from parquetry.metastore.cleanup.retention import Need as Need
    from parquetry.metastore.cleanup.retention import StoredRow as StoredRow
    from parquetry.metastore.cleanup.retention import commit_rows as commit_rows
    from parquetry.metastore.cleanup.retention import delete_stored_rows as delete_stored_rows
    from parquetry.metastore.cleanup.retention import kept_since as kept_since
    from parquetry.metastore.cleanup.retention import oldest_commit as oldest_commit
    from parquetry.metastore.cleanup.retention import retire as retire
    from parquetry.metastore.cleanup.retention import stored_rows as stored_rows
    from parquetry.metastore.cleanup.retention import unneeded_chunks as unneeded_chunks
    from parquetry.metastore.cleanup.retention import unneeded_commits as unneeded_commits
    from parquetry.metastore.cleanup.retention import unneeded_metadata as unneeded_metadata
    from parquetry.metastore.cleanup.vacuum_lock import cleaner as cleaner

lazy_exports(
    __name__,
    {
        ".index_upkeep": [
            "entries_of_dropped",
            "entries_of_rows",
            "leftover_entries",
            "missing_entries",
            "unneeded_entries",
        ],
        ".recovery": ["delete_table"],
        ".retention": [
            "Need",
            "StoredRow",
            "commit_rows",
            "delete_stored_rows",
            "kept_since",
            "oldest_commit",
            "retire",
            "stored_rows",
            "unneeded_chunks",
            "unneeded_commits",
            "unneeded_metadata",
        ],
        ".vacuum_lock": ["cleaner"],
    },
)
