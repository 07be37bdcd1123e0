"""Select the partitions and files that can hold an answer, answer from the metastore alone, and report both.

`select` runs the rules in the order of `steps.STEPS`. `rules` has a module for each rule. `runtime` decides
about runtime filters of joins. `report` says what was left out, and why.
"""

from parquetry.lazy_exports import FOR_TYPE_CHECKERS, lazy_exports

if FOR_TYPE_CHECKERS:
    from parquetry.prune.condition import Condition, Origin
    from parquetry.prune.metadata_aggregates import AggregateCall, answer_aggregate
    from parquetry.prune.partition_plans import candidates, on_partitions, partition_plan
    from parquetry.prune.query_cache import PartitionCache, rejects_null
    from parquetry.prune.reader_filters import Usable, usable
    from parquetry.prune.select import (
        Selection,
        decided_conditions,
        each_file,
        exact_conditions,
        select_files,
    )
    from parquetry.prune.whole_table_aggregates import answer_whole_table

lazy_exports(__name__)
