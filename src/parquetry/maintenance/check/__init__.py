"""Check whether a metastore and its files agree, and repair differences; check the storage of a warehouse.

`fsck` is the entrance to the former. It runs the checks; each check has a module. `storage_check` is the
latter.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.maintenance.check.chunk_check import ColumnTypesByTicket
    from parquetry.maintenance.check.storage_check import check_files, check_storage

lazy_exports(__name__)
