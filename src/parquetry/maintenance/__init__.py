"""What keeps a table's past in order: going back to it, clearing it away, checking it, carrying it elsewhere.

Works on the metastore and on files, without Spark. `CALL lake.system.…` and the command line are mirrors. Long work has rooms of its
own: `compaction`, `check`, `deletion`, `dump`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.maintenance.hive_record import HivePartition as HivePartition
    from parquetry.maintenance.hive_record import HiveTable as HiveTable
    from parquetry.maintenance.indexes import create_index as create_index
    from parquetry.maintenance.indexes import drop_index as drop_index
    from parquetry.maintenance.indexes import rebuild_index as rebuild_index
    from parquetry.maintenance.publish import OWNED_BY as OWNED_BY
    from parquetry.maintenance.publish import HiveMetastore as HiveMetastore
    from parquetry.maintenance.results import Compacted as Compacted
    from parquetry.maintenance.results import Difference as Difference
    from parquetry.maintenance.results import Finding as Finding
    from parquetry.maintenance.results import Misplacement as Misplacement
    from parquetry.maintenance.results import Relocated as Relocated
    from parquetry.maintenance.results import Removed as Removed

lazy_exports(
    __name__,
    {
        ".hive_record": ["HivePartition", "HiveTable"],
        ".indexes": ["create_index", "drop_index", "rebuild_index"],
        ".publish": ["HiveMetastore", "OWNED_BY"],
        ".results": ["Compacted", "Difference", "Finding", "Misplacement", "Relocated", "Removed"],
    },
)
