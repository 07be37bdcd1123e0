"""One version of a table, read: its partitions, their files, and what has changed since another version.

`snapshot` is the entrance. Nothing here is written.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.versions.changes_between import VersionChanges as VersionChanges
    from parquetry.metastore.versions.file_blocks import Chooses as Chooses
    from parquetry.metastore.versions.file_blocks import FileBlock as FileBlock
    from parquetry.metastore.versions.indexes import entry_key as entry_key
    from parquetry.metastore.versions.indexes import entry_rows as entry_rows
    from parquetry.metastore.versions.indexes import find_index as find_index
    from parquetry.metastore.versions.indexes import index_columns as index_columns
    from parquetry.metastore.versions.indexes import new_index as new_index
    from parquetry.metastore.versions.indexes import partition_key as partition_key
    from parquetry.metastore.versions.indexes import renewed as renewed
    from parquetry.metastore.versions.indexes import stored_ids as stored_ids
    from parquetry.metastore.versions.newest_rows import NewestRow as NewestRow
    from parquetry.metastore.versions.newest_rows import complete_ticket as complete_ticket
    from parquetry.metastore.versions.newest_rows import decode_newest as decode_newest
    from parquetry.metastore.versions.newest_rows import encode_newest as encode_newest
    from parquetry.metastore.versions.newest_rows import is_listed as is_listed
    from parquetry.metastore.versions.partition import PartitionSnapshot as PartitionSnapshot
    from parquetry.metastore.versions.placement import TablePlacement as TablePlacement
    from parquetry.metastore.versions.placement import keyed_by as keyed_by
    from parquetry.metastore.versions.reading import entries as entries
    from parquetry.metastore.versions.reading import united as united
    from parquetry.metastore.versions.snapshot import TableSnapshot as TableSnapshot
    from parquetry.metastore.versions.snapshot import commit_as_of as commit_as_of
    from parquetry.metastore.versions.snapshot import forget_metadata as forget_metadata
    from parquetry.metastore.versions.snapshot import load as load
    from parquetry.metastore.versions.snapshot import load_again as load_again
    from parquetry.metastore.versions.snapshot import load_commit as load_commit
    from parquetry.metastore.versions.snapshot import load_metadata as load_metadata
    from parquetry.metastore.versions.touched import TouchedPartitions as TouchedPartitions
    from parquetry.metastore.versions.visible_rows import Examined as Examined
    from parquetry.metastore.versions.visible_rows import PartitionRow as PartitionRow
    from parquetry.metastore.versions.visible_rows import VisibleRows as VisibleRows
    from parquetry.metastore.versions.visible_rows import entry_of as entry_of

lazy_exports(
    __name__,
    {
        ".changes_between": ["VersionChanges"],
        ".file_blocks": ["Chooses", "FileBlock"],
        ".indexes": [
            "entry_key",
            "entry_rows",
            "find_index",
            "index_columns",
            "new_index",
            "partition_key",
            "renewed",
            "stored_ids",
        ],
        ".newest_rows": ["NewestRow", "complete_ticket", "decode_newest", "encode_newest", "is_listed"],
        ".partition": ["PartitionSnapshot"],
        ".placement": ["TablePlacement", "keyed_by"],
        ".reading": ["entries", "united"],
        ".snapshot": [
            "TableSnapshot",
            "commit_as_of",
            "forget_metadata",
            "load",
            "load_again",
            "load_commit",
            "load_metadata",
        ],
        ".touched": ["TouchedPartitions"],
        ".visible_rows": ["Examined", "PartitionRow", "VisibleRows", "entry_of"],
    },
)
