"""How a table changes: a transaction gathers changes, and the committer makes them visible at once.

`committer` tells the protocol, whose steps are in `attempt`. `validate` and `arrangement_rules` refuse, `conflicts` compares with others' commits, and `apply` makes
the new rows.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.metastore.commits.committer import commit
    from parquetry.metastore.commits.removed_files import (
        RemovedFile,
        decode_removed,
        encode_removed,
        files_removed,
        live_files,
    )
    from parquetry.metastore.commits.replacement import Replacement
    from parquetry.metastore.commits.successor import Successor
    from parquetry.metastore.commits.transaction import Transaction

lazy_exports(__name__)
