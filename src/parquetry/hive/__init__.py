"""Messages of Hive's clients: expressions that select partitions.

The entrance is `read_partition_expression`.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.hive.expressions.conditions import (
        PartitionExpression as PartitionExpression,
        read_partition_expression as read_partition_expression,
    )

lazy_exports(__name__)
