"""How a table changes: a transaction gathers changes, and the committer makes them visible at once.

`committer` tells the protocol, whose steps are in `attempt`. `validate` and `arrangement_rules` refuse, `conflicts` compares with others' commits, and `apply` makes
the new rows.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.commits.committer import commit as commit
    from parquetry.metastore.commits.removed_files import RemovedFile as RemovedFile
    from parquetry.metastore.commits.removed_files import decode_removed as decode_removed
    from parquetry.metastore.commits.removed_files import encode_removed as encode_removed
    from parquetry.metastore.commits.removed_files import files_removed as files_removed
    from parquetry.metastore.commits.removed_files import live_files as live_files
    from parquetry.metastore.commits.replacement import Replacement as Replacement
    from parquetry.metastore.commits.successor import Successor as Successor
    from parquetry.metastore.commits.transaction import Transaction as Transaction

lazy_exports(
    __name__,
    {
        ".committer": ["commit"],
        ".removed_files": ["RemovedFile", "decode_removed", "encode_removed", "files_removed", "live_files"],
        ".replacement": ["Replacement"],
        ".successor": ["Successor"],
        ".transaction": ["Transaction"],
    },
)
