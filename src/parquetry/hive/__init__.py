"""Reply the calls of Hive's metastore from a warehouse, for reading; `server` is the entrance.

`wire` codes Thrift's binary protocol. `processor` hands each call to its answer in `calls`. `filters` reads
the filters of clients. `records` makes Hive's records. `mirror` gives readers folders of hard
links. They can change no file of a table there. `expressions` reads serialized conditions. `following` keeps
tables in other Hive metastores, with the same records and folders.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.hive.expressions.conditions import (
        PartitionExpression as PartitionExpression,
        read_partition_expression as read_partition_expression,
    )
    from parquetry.hive.followers import register_followers as register_followers
    from parquetry.hive.server import ServedMetastore as ServedMetastore, serve as serve
    from parquetry.hive.warehouse import Choices as Choices

lazy_exports(__name__)
