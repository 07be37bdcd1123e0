"""Maintenance of tables: roll back, vacuum, check, compact, relocate, dump, publish to Hive.

It works on the metastore and on files, without Spark. `CALL lake.system.…` and the command line call it. The
larger tasks have packages of their own: `compaction`, `check`, `deletion`, `dump`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.maintenance.hive_record import HivePartition, HiveTable
    from parquetry.maintenance.indexes import create_index, drop_index, rebuild_index
    from parquetry.maintenance.publish import OWNED_BY, HiveMetastore
    from parquetry.maintenance.results import (
        Check,
        Compacted,
        Difference,
        Finding,
        Misplacement,
        Relocated,
        Removed,
    )

lazy_exports(__name__)
