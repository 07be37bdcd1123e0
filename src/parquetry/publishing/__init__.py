"""Publish tables to other catalogs as plain tables of the same files; `hive` is the entrance.

`hive_record` makes the records of Hive's metastore out of a version of a table, and needs no server. `delta`
writes a Delta log beside the files. `exchange` says which tables and files its readers would read wrong.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.publishing.delta import publish_delta as publish_delta
    from parquetry.publishing.followed import (
        hive_refusal as hive_refusal,
        require_followable as require_followable,
    )
    from parquetry.publishing.hive import (
        OWNED_BY as OWNED_BY,
        HiveMetastore as HiveMetastore,
        Published as Published,
        publish as publish,
        require_folder as require_folder,
    )
    from parquetry.publishing.hive_record import (
        HiveColumn as HiveColumn,
        HivePartition as HivePartition,
        HiveStorage as HiveStorage,
        HiveTable as HiveTable,
        bucket_parameters as bucket_parameters,
        hive_columns as hive_columns,
        hive_storage as hive_storage,
        hive_values as hive_values,
        statistics as statistics,
    )
    from parquetry.publishing.linked_folders import flat_files as flat_files, make_read_only as make_read_only

lazy_exports(__name__)
