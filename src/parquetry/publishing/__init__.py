"""Publish tables to other catalogs as plain tables of the same files; `hive` is the entrance.

`hive_record` makes the records of Hive's metastore out of a version of a table, and needs no server.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.publishing.hive import (
        OWNED_BY as OWNED_BY,
        HiveMetastore as HiveMetastore,
        Published as Published,
        publish as publish,
    )
    from parquetry.publishing.hive_record import HivePartition as HivePartition, HiveTable as HiveTable
    from parquetry.publishing.other_readers import (
        file_refusal as file_refusal,
        widened_refusal as widened_refusal,
    )

lazy_exports(__name__)
