"""Changes of a table: a transaction gathers changes, and the committer makes them visible in one step.

- `committer` is the protocol; `attempt` has its steps.
- `validate` and `arrangement_rules` refuse impossible changes.
- `conflicts` compares a transaction with others' commits.
- `apply` makes the new rows.
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
    from parquetry.metastore.commits.validate import require_own_folder

lazy_exports(__name__)
