"""Delete a table's files: find the files that it owns, other tables' claims to them, and files to delete.

`vacuum` is the entrance; `owned_files` has the rule.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.maintenance.deletion.claims import (
        Claim,
        overlap,
        require_free,
        require_outside,
        require_outside_metastore,
    )
    from parquetry.maintenance.deletion.clocks import (
        HOUR_MS,
        check_of_new_files,
        check_of_old_files,
        grace_of,
    )
    from parquetry.maintenance.deletion.file_access import FileAccess, RealPaths, require_files
    from parquetry.maintenance.deletion.owned_files import (
        DroppedTableFiles,
        OwnedFiles,
        purge,
        purge_replaced,
    )
    from parquetry.maintenance.deletion.vacuum import KEPT_MS

lazy_exports(__name__)
