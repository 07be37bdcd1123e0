"""Check whether a metastore and its files agree, and repair differences.

`fsck` is the entrance. It runs the checks; each check has a module.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.maintenance.check.chunk_check import ColumnTypesByTicket

lazy_exports(__name__)
