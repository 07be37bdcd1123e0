"""Publish tables to other catalogs as plain tables of the same files; `hive` is the entrance.

`hive_record` makes the records of Hive's metastore out of a version of a table, and needs no server. `delta`
writes a Delta log beside the files. `other_readers` finds what readers of other formats would read wrong.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.publishing.delta import publish_delta as publish_delta
    from parquetry.publishing.delta_record import require_publishable as require_publishable
    from parquetry.publishing.followed import require_followable as require_followable
    from parquetry.publishing.hive import (
        OWNED_BY as OWNED_BY,
        HiveMetastore as HiveMetastore,
        Published as Published,
        publish as publish,
    )
    from parquetry.publishing.hive_record import HivePartition as HivePartition, HiveTable as HiveTable
    from parquetry.publishing.other_readers import (
        FileCheck as FileCheck,
        file_refusal as file_refusal,
        widened_refusal as widened_refusal,
    )

lazy_exports(__name__)
