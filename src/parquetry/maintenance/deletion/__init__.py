"""Which files belong to a table, who else claims them, and which of them may be deleted.

`vacuum` is the entrance, `owned_files` the rule.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.maintenance.deletion.claims import Claim as Claim
    from parquetry.maintenance.deletion.claims import overlap as overlap
    from parquetry.maintenance.deletion.claims import require_free as require_free
    from parquetry.maintenance.deletion.claims import require_outside as require_outside
    from parquetry.maintenance.deletion.file_access import FileAccess as FileAccess
    from parquetry.maintenance.deletion.file_access import RealPaths as RealPaths
    from parquetry.maintenance.deletion.file_access import require_files as require_files
    from parquetry.maintenance.deletion.owned_files import DroppedTableFiles as DroppedTableFiles
    from parquetry.maintenance.deletion.owned_files import OwnedFiles as OwnedFiles
    from parquetry.maintenance.deletion.owned_files import purge as purge
    from parquetry.maintenance.deletion.owned_files import purge_replaced as purge_replaced

lazy_exports(
    __name__,
    {
        ".claims": ["Claim", "overlap", "require_free", "require_outside"],
        ".file_access": ["FileAccess", "RealPaths", "require_files"],
        ".owned_files": ["DroppedTableFiles", "OwnedFiles", "purge", "purge_replaced"],
    },
)
