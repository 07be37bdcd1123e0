"""Reading one version of a table: its partitions, their files, and what has changed since another version.

`snapshot` is the entrance. Nothing here writes.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.versions.changes_between import VersionChanges
    from parquetry.metastore.versions.file_blocks import Chooses, FileBlock
    from parquetry.metastore.versions.indexes import (
        entry_key,
        entry_rows,
        find_index,
        index_columns,
        new_index,
        partition_key,
        renewed,
        stored_ids,
    )
    from parquetry.metastore.versions.newest_rows import (
        NewestRow,
        complete_ticket,
        decode_newest,
        encode_newest,
        is_listed,
    )
    from parquetry.metastore.versions.partition import PartitionSnapshot
    from parquetry.metastore.versions.placement import TablePlacement, keyed_by
    from parquetry.metastore.versions.reading import entries, united
    from parquetry.metastore.versions.snapshot import (
        TableSnapshot,
        commit_as_of,
        forget_metadata,
        load,
        load_again,
        load_commit,
        load_metadata,
    )
    from parquetry.metastore.versions.touched import TouchedPartitions
    from parquetry.metastore.versions.visible_rows import Examined, PartitionRow, VisibleRows, entry_of

lazy_exports(__name__)
