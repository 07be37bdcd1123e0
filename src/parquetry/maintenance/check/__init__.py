"""Whether a metastore and the files agree with each other, and how differences are repaired.

`fsck` is the entrance: it runs the checks, each of which has a module.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.maintenance.check.chunk_check import ColumnTypesByTicket

lazy_exports(__name__)
