"""Which files belong to a table, who else claims them, and which of them may be deleted.

`vacuum` is the entrance, `owned_files` the rule.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.maintenance.deletion.claims import Claim, overlap, require_free, require_outside
    from parquetry.maintenance.deletion.file_access import FileAccess, RealPaths, require_files
    from parquetry.maintenance.deletion.owned_files import (
        DroppedTableFiles,
        OwnedFiles,
        purge,
        purge_replaced,
    )

lazy_exports(__name__)
