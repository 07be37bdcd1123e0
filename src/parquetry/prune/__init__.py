"""Which partitions and files can hold an answer, what the metastore answers alone, and the report of it.

`select` runs the rules in the order of `steps.STEPS`. `rules` has one of them each, `runtime` decides about values of joins, and
`report` says what was left out, and why.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.prune.condition import Condition as Condition
    from parquetry.prune.condition import Origin as Origin
    from parquetry.prune.metadata_aggregates import AggregateCall as AggregateCall
    from parquetry.prune.metadata_aggregates import answer_aggregate as answer_aggregate
    from parquetry.prune.partition_plans import candidates as candidates
    from parquetry.prune.partition_plans import on_partitions as on_partitions
    from parquetry.prune.partition_plans import partition_plan as partition_plan
    from parquetry.prune.query_cache import PartitionCache as PartitionCache
    from parquetry.prune.query_cache import rejects_null as rejects_null
    from parquetry.prune.reader_filters import Usable as Usable
    from parquetry.prune.reader_filters import usable as usable
    from parquetry.prune.select import Selection as Selection
    from parquetry.prune.select import decided_conditions as decided_conditions
    from parquetry.prune.select import each_file as each_file
    from parquetry.prune.select import exact_conditions as exact_conditions
    from parquetry.prune.select import select_files as select_files
    from parquetry.prune.whole_table_aggregates import answer_whole_table as answer_whole_table

lazy_exports(
    __name__,
    {
        ".condition": ["Condition", "Origin"],
        ".metadata_aggregates": ["AggregateCall", "answer_aggregate"],
        ".partition_plans": ["candidates", "on_partitions", "partition_plan"],
        ".query_cache": ["PartitionCache", "rejects_null"],
        ".reader_filters": ["Usable", "usable"],
        ".select": ["Selection", "decided_conditions", "each_file", "exact_conditions", "select_files"],
        ".whole_table_aggregates": ["answer_whole_table"],
    },
)
